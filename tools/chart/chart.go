// Package chart renders, installs, upgrades and removes Helm charts with Helm's own
// library, the way the helm command does, but with every input a parameter: no
// environment variable, kubeconfig or cache of the user is read or written.
//
//	manifest, notes, err := chart.Render(ctx, "charts/thalassa-ccm", chart.Release{
//		Name:      "thalassa-ccm",
//		Namespace: "kube-system",
//		Values:    map[string]any{"credentials": map[string]any{"existingSecret": "thalassa"}},
//	})
package chart

import (
	"bytes"
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// DefaultKubeVersion is the Kubernetes version a chart is rendered for unless
// the Release names another: the one this project's k8s.io modules belong to.
const DefaultKubeVersion = "v1.37.0"

// Release is one installation of a chart.
type Release struct {
	// Name of the release. Required.
	Name string
	// Namespace the release is installed in. Required.
	Namespace string
	// Values are merged over the chart's defaults, as a values file would be.
	Values map[string]any
	// KubeVersion is what Render checks the chart's kubeVersion against, such as
	// "v1.33.0". Empty means DefaultKubeVersion. Install asks the cluster.
	KubeVersion string
	// APIVersions are what Render lets the cluster serve beyond Kubernetes' own
	// APIs, such as "monitoring.coreos.com/v1" or with a kind behind it. Install
	// asks the cluster.
	APIVersions []string
	// Rewrite changes the rendered objects, one YAML stream, before they are
	// checked and installed, like Helm's --post-renderer. Nil leaves them alone.
	Rewrite func(manifest []byte) ([]byte, error)
}

// rewriter is a Rewrite function as Helm requires it.
type rewriter func([]byte) ([]byte, error)

// Run implements Helm's postrender.PostRenderer.
func (r rewriter) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	rewritten, err := r(rendered.Bytes())
	if err != nil {
		return nil, fmt.Errorf("rewriting the rendered chart: %w", err)
	}
	return bytes.NewBuffer(rewritten), nil
}

// Load reads and checks the chart in dir, a directory or an archive, as do all functions here.
func Load(dir string) (*helmchart.Chart, error) {
	loaded, err := loader.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("loading chart %q: %w", dir, err)
	}
	if err := loaded.Validate(); err != nil {
		return nil, fmt.Errorf("loading chart %q: %w", dir, err)
	}
	return loaded, nil
}

// Render returns the objects of the chart in dir as one YAML stream, and its
// notes to the user. It needs no cluster. Values that break the chart's schema
// or miss what it requires give an error that carries the chart's own words.
func Render(ctx context.Context, dir string, release Release) (manifest, notes string, err error) {
	loaded, err := Load(dir)
	if err != nil {
		return "", "", err
	}
	manifest, notes, err = render(ctx, loaded, release, nil)
	if err != nil {
		return "", "", fmt.Errorf("rendering chart %q: %w", dir, err)
	}
	return manifest, notes, nil
}

// render renders a chart. Helm checks the values against the chart's schema, unless check is given and does so.
func render(ctx context.Context, loaded *helmchart.Chart, release Release,
	check func(chartutil.Values) error) (manifest, notes string, err error) {
	if err := ctx.Err(); err != nil {
		return "", "", err
	}
	install, values, err := newInstall(&action.Configuration{Log: func(string, ...any) {}}, release)
	if err != nil {
		return "", "", err
	}
	install.ClientOnly, install.DryRun = true, true
	install.APIVersions = release.APIVersions
	install.KubeVersion, err = kubeVersion(release)
	if err != nil {
		return "", "", err
	}
	if check != nil {
		all, err := chartutil.CoalesceValues(loaded, values)
		if err == nil {
			err = check(all)
		}
		if err != nil {
			return "", "", err
		}
		install.SkipSchemaValidation = true
	}
	rendered, err := install.RunWithContext(ctx, loaded, values)
	if err != nil {
		return "", "", err
	}
	return rendered.Manifest, rendered.Info.Notes, nil
}

func newInstall(configuration *action.Configuration, release Release) (*action.Install, map[string]any, error) {
	values, err := release.prepare()
	if err != nil {
		return nil, nil, err
	}
	install := action.NewInstall(configuration)
	install.ReleaseName = release.Name
	install.Namespace = release.Namespace
	// The API server checks the fields. Helm would read the schemas of each kind, to see whether it does.
	install.DisableOpenAPIValidation = true
	if release.Rewrite != nil {
		install.PostRenderer = rewriter(release.Rewrite)
	}
	return install, values, nil
}

// prepare checks what Helm takes for granted, and returns the values as Helm requires them.
func (r Release) prepare() (map[string]any, error) {
	if r.Name == "" || r.Namespace == "" {
		return nil, fmt.Errorf("release %q in namespace %q: both names are required", r.Name, r.Namespace)
	}
	return fileValues(r.Values)
}

// fileValues returns a copy of values with the Go types they would have if they
// came from a values file: Helm's schema check and merge know no others, and
// Helm writes into what it is given.
func fileValues(values map[string]any) (map[string]any, error) {
	data, err := yaml.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encoding values: %w", err)
	}
	parsed, err := chartutil.ReadValues(data)
	if err != nil {
		return nil, fmt.Errorf("decoding values: %w", err)
	}
	return parsed, nil
}

func kubeVersion(release Release) (*chartutil.KubeVersion, error) {
	text := release.KubeVersion
	if text == "" {
		text = DefaultKubeVersion
	}
	version, err := chartutil.ParseKubeVersion(text)
	if err != nil {
		return nil, fmt.Errorf("parsing Kubernetes version %q: %w", text, err)
	}
	return version, nil
}
