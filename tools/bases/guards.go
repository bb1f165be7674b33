package bases

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The marks of a profile are kinds: whether its base has an object of one that is called as the release is.
const (
	// whereItRuns is the kind that every profile has under which the program runs.
	whereItRuns = "ServiceAccount"
	// whereItMay is the kind that every profile has which permits the program something.
	whereItMay = "ClusterRole"
)

// marks are those that tell the profiles a component is for from others: what all of them have, and what none of them has.
func (c Component) marks() (wanted, unwanted []string) {
	for _, kind := range []string{whereItRuns, whereItMay} {
		has := map[bool][]bool{} // by whether the component is for the profile
		for _, p := range Profiles() {
			_, meant := c.Profiles[p.Name]
			has[meant] = append(has[meant], slices.Contains(p.kinds, kind))
		}
		switch {
		case !slices.Contains(has[true], false) && slices.Contains(has[false], false):
			wanted = append(wanted, kind)
		case !slices.Contains(has[true], true) && slices.Contains(has[false], true):
			unwanted = append(unwanted, kind)
		}
	}
	return wanted, unwanted
}

// only says which overlays the component is for.
func (c Component) only() string {
	return fmt.Sprintf("component %s is only for overlay %s", c.Name, strings.Join(slices.Sorted(maps.Keys(c.Profiles)), " or "))
}

// refusals are patches that can only fail, on what must not be there. A patch that finds nothing to patch does nothing.
func (c Component) refusals(kinds []string) []patch {
	var patches []patch
	for _, kind := range kinds {
		// No object has this field, and kustomize names it when it says what failed.
		test := fmt.Sprintf("- op: test\n  path: /%s\n  value: true\n", c.only())
		patches = append(patches, patch{target{Kind: kind, Name: ReleaseName}, test})
	}
	return patches
}

// replacement is an entry of a kustomization's replacements.
type replacement struct {
	Source  field         `yaml:"source"`
	Targets []destination `yaml:"targets"`
}

// field is one of an object.
type field struct {
	Kind      string  `yaml:"kind"`
	Name      string  `yaml:"name"`
	FieldPath string  `yaml:"fieldPath"`
	Options   options `yaml:"options"`
}

// options of a field. Kustomize shows the delimiter when it does not find the object; in the field it occurs nowhere and splits nothing.
type options struct {
	Delimiter string `yaml:"delimiter"`
}

// destination is where a replacement writes to.
type destination struct {
	Select     target   `yaml:"select"`
	FieldPaths []string `yaml:"fieldPaths"`
}

// demands are replacements that change nothing: each writes a field to where it was read, which fails with a sentence unless the object
// is there. An overlay that the component is not for lacks the objects of its marks; one that lists the component too early lacks those
// of the component before.
func (c Component) demands(kinds []string) []replacement {
	sentences := map[string]string{}
	for _, kind := range kinds {
		sentences[kind] = c.only()
	}
	for kind, before := range c.After {
		sentences[kind] = fmt.Sprintf("component %s comes after component %s, list that one first", c.Name, before)
	}
	var all []replacement
	for _, kind := range append(slices.Clone(kinds), slices.Sorted(maps.Keys(c.After))...) {
		all = append(all, replacement{
			field{kind, ReleaseName, "kind", options{sentences[kind]}}, []destination{{target{Kind: kind, Name: ReleaseName}, []string{"kind"}}},
		})
	}
	return all
}

// guard is a component inside of this one that changes nothing, and that fails where this one does not belong. Kustomize applies it before
// the patches of this one, which would fail there, too, but without a sentence.
func (c Component) guard() map[string]any {
	kustomization := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
	wanted, unwanted := c.marks()
	if patches := c.refusals(unwanted); len(patches) > 0 {
		kustomization["patches"] = patches
	}
	if replacements := c.demands(wanted); len(replacements) > 0 {
		kustomization["replacements"] = replacements
	}
	return kustomization
}
