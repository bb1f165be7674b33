package bases

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// maker renders the objects of bases and components. It reads each chart once, and renders nothing twice: most
// components are compared with the same bases.
type maker struct {
	root     string
	charts   map[string]*chart.Opened
	rendered map[string][]object // by the names of the profile and the components
}

func newMaker(root string) *maker {
	return &maker{root: root, charts: map[string]*chart.Opened{}, rendered: map[string][]object{}}
}

// render returns the objects of the base of a profile, or of an overlay with these components. Nobody may change
// them.
func (m *maker) render(ctx context.Context, p Profile, components ...string) ([]object, error) {
	key := strings.Join(append([]string{p.Name}, components...), " ")
	if objects, found := m.rendered[key]; found {
		return slices.Clone(objects), nil
	}
	release, err := p.Release(m.root, components...)
	if err != nil {
		return nil, err
	}
	opened, err := m.open(p.chartDir())
	if err != nil {
		return nil, err
	}
	manifest, _, err := opened.Render(ctx, release)
	if err != nil {
		return nil, err
	}
	objects, err := parse(manifest)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if err := o.adapt(saidBy(release.Values)); err != nil {
			return nil, fmt.Errorf("adapting %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	m.rendered[key] = objects
	return slices.Clone(objects), nil
}

// open reads the chart in a folder below the root.
func (m *maker) open(dir string) (*chart.Opened, error) {
	if opened := m.charts[dir]; opened != nil {
		return opened, nil
	}
	opened, err := chart.Open(filepath.Join(m.root, filepath.FromSlash(dir)))
	if err != nil {
		return nil, err
	}
	m.charts[dir] = opened
	return opened, nil
}
