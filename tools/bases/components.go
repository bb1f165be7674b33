package bases

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
)

// Component is an optional part of an overlay. Its objects are generated: those that the chart renders only with the
// values file kustomize/values/components/<name>.yaml. Its kustomization, with the patches of other objects, is not.
type Component struct {
	// Name of the component's folder and of the values file.
	Name string
	// Profiles it is for, each with the components that it needs there.
	Profiles map[string][]string
}

// Components returns all of them.
func Components() []Component {
	return []Component{
		// Before allocate-node-cidrs, which adds a permission to one of its roles.
		{"controller-accounts", map[string][]string{"self-managed": nil, "managed-tenant": nil}},
		{"controller-accounts-ironcore", map[string][]string{"ironcore": nil, "managed-tenant": nil}},
		{"controller-accounts-managed", map[string][]string{"managed": nil, "ironcore-managed": nil}},
		{"admission-policy", map[string][]string{"self-managed": nil, "managed-tenant": nil}},
		{"admission-policy-ironcore", map[string][]string{"ironcore": nil, "managed-tenant": nil}},
		{"admission-policy-csi", map[string][]string{CSI: nil}},
		{"allocate-node-cidrs", map[string][]string{"self-managed": nil, "managed": nil}},
		{"dashboards", map[string][]string{"self-managed": nil, "managed": nil, "ironcore": nil,
			"ironcore-managed": nil}},
		{"deployment", map[string][]string{"self-managed": nil, "ironcore": nil}},
		{"high-availability", map[string][]string{"self-managed": {"deployment"}, "managed": nil,
			"ironcore": {"deployment"}, "ironcore-managed": nil}},
		{"metrics-certificate", map[string][]string{"self-managed": {"monitoring"}, "managed": {"monitoring-managed"},
			"ironcore": {"monitoring-ironcore"}, "ironcore-managed": {"monitoring-ironcore-managed"}}},
		{"monitoring", map[string][]string{"self-managed": nil}},
		{"monitoring-csi", map[string][]string{CSI: nil}},
		{"monitoring-ironcore", map[string][]string{"ironcore": nil}},
		{"monitoring-ironcore-managed", map[string][]string{"ironcore-managed": nil}},
		{"monitoring-managed", map[string][]string{"managed": nil}},
		{"monitoring-managed-tenant", map[string][]string{"managed-tenant": nil}},
		{"network-policy", map[string][]string{"managed": nil}},
		{"network-policy-csi", map[string][]string{CSI: nil}},
		{"network-policy-ironcore", map[string][]string{"ironcore-managed": nil}},
		{"private-ca", map[string][]string{"self-managed": nil, "managed": nil}},
		{"private-ca-csi", map[string][]string{CSI: nil}},
		{"snapshot-controller-csi", map[string][]string{CSI: {"snapshots-csi"}}},
		{"snapshots-csi", map[string][]string{CSI: nil}},
		{"spec-rbac", map[string][]string{"self-managed": nil, "managed-tenant": nil, "ironcore": nil}},
		{"tracing", map[string][]string{"self-managed": nil, "ironcore": nil}},
		{"tracing-managed", map[string][]string{"managed": {"network-policy"},
			"ironcore-managed": {"network-policy-ironcore"}}},
		{"workload-identity", map[string][]string{"self-managed": nil, "managed": nil}},
		{"workload-identity-csi", map[string][]string{CSI: nil}},
	}
}

// componentFiles generates the objects of a component, which are the same for every profile that the component is for.
func (m *maker) componentFiles(ctx context.Context, c Component) (map[string][]byte, error) {
	var made map[string][]byte
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		files, err := m.componentFilesFor(ctx, c, Profile{name})
		if err != nil {
			return nil, fmt.Errorf("with profile %s: %w", name, err)
		}
		if made != nil && !maps.EqualFunc(made, files, bytes.Equal) {
			return nil,
				fmt.Errorf("its objects for profile %s differ from those for another: make two components of it", name)
		}
		made = files
	}
	return made, nil
}

// componentFilesFor generates the objects that the component's values add to a profile.
func (m *maker) componentFilesFor(ctx context.Context, c Component, p Profile) (map[string][]byte, error) {
	needs := c.Profiles[p.Name]
	before, err := m.render(ctx, p, needs...)
	if err != nil {
		return nil, err
	}
	after, err := m.render(ctx, p, append(slices.Clone(needs), c.Name)...)
	if err != nil {
		return nil, err
	}
	added := slices.DeleteFunc(after, func(o object) bool {
		return slices.ContainsFunc(before, func(old object) bool { return old.identity() == o.identity() })
	})
	files := map[string][]byte{}
	_, err = writeObjects(files, c.dir(), fmt.Sprintf(header, p.chartDir()+" and "+c.valuesFile()), added)
	return files, err
}
