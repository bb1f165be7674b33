package chart

import (
	"context"
	"fmt"
	"io"
	"log"

	"helm.sh/helm/v3/pkg/action"
	"k8s.io/client-go/rest"
)

// Install installs the chart in dir into the cluster that config reaches, like
// `helm install` without --wait: it returns the chart's notes once all objects
// are created, and the release is stored in the cluster, where the helm command
// finds it. The namespace has to exist.
//
// Helm's own progress messages and the API server's warnings are written to
// progress; nil drops them. When ctx ends, the request in flight is given up;
// Uninstall removes what was created until then.
func Install(ctx context.Context, config *rest.Config, dir string, release Release,
	progress io.Writer) (notes string, err error) {
	loaded, err := Load(dir)
	if err != nil {
		return "", err
	}
	configuration, err := connect(ctx, config, release.Namespace, progress)
	if err != nil {
		return "", err
	}
	install, values, err := newInstall(configuration, release)
	if err != nil {
		return "", fmt.Errorf("installing chart %q: %w", dir, err)
	}
	// Not RunWithContext: it would return early and go on in the background.
	installed, err := install.Run(loaded, values)
	if err != nil {
		return "", fmt.Errorf("installing chart %q as release %q in namespace %q: %w", dir, release.Name,
			release.Namespace, err)
	}
	return installed.Info.Notes, nil
}

// Upgrade changes an installed release into what the chart in dir makes of
// release.Values, like `helm upgrade --reset-values` without --wait: nothing is
// taken from the values it was installed with. An object that only the old chart
// had is deleted. progress is as for Install.
//
// What fails leaves the release failed, and the next Upgrade goes on from there.
// When ctx ends, it stays pending, as after a helm command that was killed, and
// Helm refuses the next until it was rolled back or uninstalled.
func Upgrade(ctx context.Context, config *rest.Config, dir string, release Release,
	progress io.Writer) (notes string, err error) {
	loaded, err := Load(dir)
	if err != nil {
		return "", err
	}
	configuration, err := connect(ctx, config, release.Namespace, progress)
	if err != nil {
		return "", err
	}
	upgrade, values, err := newUpgrade(configuration, release)
	if err != nil {
		return "", fmt.Errorf("upgrading to chart %q: %w", dir, err)
	}
	upgraded, err := upgrade.Run(release.Name, loaded, values)
	if err != nil {
		return "", fmt.Errorf("upgrading release %q in namespace %q to chart %q: %w", release.Name, release.Namespace,
			dir, err)
	}
	return upgraded.Info.Notes, nil
}

func newUpgrade(configuration *action.Configuration, release Release) (*action.Upgrade, map[string]any, error) {
	values, err := release.prepare()
	if err != nil {
		return nil, nil, err
	}
	upgrade := action.NewUpgrade(configuration)
	upgrade.Namespace, upgrade.ResetValues = release.Namespace, true
	upgrade.DisableOpenAPIValidation = true // as in newInstall
	if release.Rewrite != nil {
		upgrade.PostRenderer = rewriter(release.Rewrite)
	}
	return upgrade, values, nil
}

// Uninstall removes the release with that name from the namespace, with all its
// objects and its history, like `helm uninstall`. It does not wait until the
// objects are gone. ctx and progress are as for Install.
func Uninstall(ctx context.Context, config *rest.Config, name, namespace string, progress io.Writer) error {
	configuration, err := connect(ctx, config, namespace, progress)
	if err != nil {
		return err
	}
	if _, err := action.NewUninstall(configuration).Run(name); err != nil {
		return fmt.Errorf("uninstalling release %q from namespace %q: %w", name, namespace, err)
	}
	return nil
}

// connect prepares Helm's actions for one cluster and namespace.
func connect(ctx context.Context, config *rest.Config, namespace string,
	progress io.Writer) (*action.Configuration, error) {
	if progress == nil {
		progress = io.Discard
	}
	client, err := newGetter(bind(ctx, config, progress), namespace)
	if err != nil {
		return nil, err
	}
	// Helm logs from several goroutines: a Logger keeps their lines apart.
	logger := log.New(progress, "", 0)
	configuration := new(action.Configuration)
	if err := configuration.Init(client, namespace, "secret", logger.Printf); err != nil {
		return nil, fmt.Errorf("connecting Helm to %s: %w", config.Host, err)
	}
	return configuration, nil
}
