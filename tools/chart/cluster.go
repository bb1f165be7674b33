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
func Install(ctx context.Context, config *rest.Config, dir string, release Release, progress io.Writer) (notes string, err error) {
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
		return "", fmt.Errorf("installing chart %q as release %q in namespace %q: %w", dir, release.Name, release.Namespace, err)
	}
	return installed.Info.Notes, nil
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
func connect(ctx context.Context, config *rest.Config, namespace string, progress io.Writer) (*action.Configuration, error) {
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
