package bases

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	// guardDir is the folder of a component's guard, in that of the component.
	guardDir = "guard"
	// guardComment says what it is for.
	guardComment = "# Fails with a sentence where the component does not belong, and changes nothing elsewhere. Kustomize shows the delimiter when\n" +
		"# the object of a replacement is missing.\n"
)

// files makes the folder of a component. It is the same for every profile the component is for.
func (c Component) files(ctx context.Context, root string) (map[string][]byte, error) {
	var made map[string][]byte
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		files, err := c.filesFor(ctx, root, Profile{Name: name})
		if err != nil {
			return nil, fmt.Errorf("with profile %s: %w", name, err)
		}
		if made != nil && !maps.EqualFunc(made, files, bytes.Equal) {
			return nil, fmt.Errorf("with profile %s it differs from what it is with another: make two components of it", name)
		}
		made = files
	}
	return made, nil
}

// filesFor is the difference that the component's values make to a profile.
func (c Component) filesFor(ctx context.Context, root string, p Profile) (map[string][]byte, error) {
	needs := c.Profiles[p.Name]
	before, err := p.render(ctx, root, needs...)
	if err != nil {
		return nil, err
	}
	after, err := p.render(ctx, root, append(slices.Clone(needs), c.Name)...)
	if err != nil {
		return nil, err
	}
	d, err := compare(withoutConfig(before), withoutConfig(after))
	if err != nil {
		return nil, err
	}
	return c.write(d)
}

// withoutConfig leaves the configuration out, which is one text: an overlay's file says all of it, and no component a part.
func withoutConfig(objects []object) []object {
	return slices.DeleteFunc(objects, object.isConfig)
}

// write makes files of a difference.
func (c Component) write(d difference) (map[string][]byte, error) {
	mark := fmt.Sprintf(header, chartDir+" and "+c.valuesFile())
	files := map[string][]byte{}
	kustomization := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
	var resources []string
	for _, o := range d.added {
		text, err := o.String()
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		resources = add(files, c.dir(), strings.ToLower(o.GetKind())+".yaml", mark, text, resources)
	}
	if len(resources) > 0 {
		kustomization["resources"] = resources
	}
	if len(d.patches) > 0 {
		kustomization["patches"] = d.patches
	}
	kustomization["components"] = []string{guardDir}
	for dir, part := range map[string]struct {
		comment string
		content map[string]any
	}{c.dir(): {c.comment(), kustomization}, path.Join(c.dir(), guardDir): {guardComment, c.guard()}} {
		text, err := yaml.Marshal(part.content)
		if err != nil {
			return nil, fmt.Errorf("encoding the kustomization in %s: %w", dir, err)
		}
		files[path.Join(dir, "kustomization.yaml")] = append([]byte(mark+part.comment), text...)
	}
	return files, nil
}

// comment says what a component is for.
func (c Component) comment() string {
	var lines strings.Builder
	_, _ = fmt.Fprintf(&lines, "# %s\n", c.What)
	for _, profile := range slices.Sorted(maps.Keys(c.Profiles)) {
		after := ""
		if needs := c.Profiles[profile]; len(needs) > 0 {
			after = ", after component " + strings.Join(needs, " and ")
		}
		_, _ = fmt.Fprintf(&lines, "# For overlay %s%s.\n", profile, after)
	}
	lines.WriteString("# With another overlay it does not build: see guard/.\n")
	return lines.String()
}
