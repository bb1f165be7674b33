// Package bases generates files below kustomize/ from the Helm chart: one base per profile of the chart, and the
// objects of components. `make verify` finds files that differ from what the chart renders. The kustomizations of
// components, with their patches, are written by hand: ci/kustomizetest proves that overlays with components equal the
// chart.
//
// A base is what the chart renders with the values file of its profile, kustomize/values/<profile>.yaml, without what
// has no place in Kustomize:
//
//   - the labels that say Helm installed it;
//   - the ConfigMap, and its checksum that restarts pods: a configMapGenerator replaces both, by a name that changes
//     with the content. What an installation has to set itself is empty in it, so that the program refuses to start;
//   - the flag --cluster-name, which would be a second place to write the cluster's name and which the program does not
//     use: the name in cloud-config.yaml is the one that counts.
package bases

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

const (
	// ReleaseName is that of the release a base is rendered from, and the name of its objects.
	ReleaseName = "thalassa-ccm"
	// Namespace is where those objects are that need not be somewhere else.
	Namespace = "kube-system"
	// valuesDir is below the root of the repository.
	valuesDir = "kustomize/values"
)

// Files computes the content of every generated file below kustomize/, by its path below root, with slashes.
func Files(ctx context.Context, root string) (map[string][]byte, error) {
	all, m := map[string][]byte{}, newMaker(root)
	for _, p := range Profiles() {
		objects, err := m.render(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("making the base of profile %s: %w", p.Name, err)
		}
		files, err := baseFiles(p, objects)
		if err != nil {
			return nil, fmt.Errorf("making the base of profile %s: %w", p.Name, err)
		}
		maps.Copy(all, files)
	}
	for _, c := range Components() {
		files, err := m.componentFiles(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("making component %s: %w", c.Name, err)
		}
		maps.Copy(all, files)
	}
	return all, nil
}

// Release is what the base of a profile is rendered from, or what an overlay with these components is equal to.
func (p Profile) Release(root string, components ...string) (chart.Release, error) {
	values := map[string]any{}
	for _, name := range components {
		more, err := readValues(root, Component{Name: name}.valuesFile())
		if err != nil {
			return chart.Release{}, err
		}
		values = chartutil.MergeTables(more, values)
	}
	own, err := readValues(root, p.valuesFile())
	if err != nil {
		return chart.Release{}, err
	}
	return chart.Release{Name: p.Chart(), Namespace: p.Namespace(), Values: chartutil.MergeTables(values, own)}, nil
}

func readValues(root, file string) (map[string]any, error) {
	values, err := chartutil.ReadValuesFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return nil, fmt.Errorf("reading values: %w", err)
	}
	return values, nil
}

func (p Profile) valuesFile() string { return path.Join(valuesDir, p.Name+".yaml") }

func (p Profile) baseDir() string { return path.Join("kustomize/base", p.Name) }

func (c Component) valuesFile() string { return path.Join(valuesDir, "components", c.Name+".yaml") }

func (c Component) dir() string { return path.Join("kustomize/components", c.Name) }

// said is what an overlay says instead of the base; empty if it does not.
type said struct {
	subject   string // whom the roles are for
	namespace string // the namespace in IronCore of its permissions
}

func saidBy(values chartutil.Values) said {
	text := func(path string) string {
		value, err := values.PathValue(path)
		if err != nil {
			return ""
		}
		return fmt.Sprint(value)
	}
	return said{cmp.Or(text("tenant.subject.name"), text("ironcore.subject.name")), text("ironcore.namespace")}
}
