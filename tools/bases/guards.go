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

// refusals are patches that can only fail, on what must not be there. A patch that finds nothing to patch does nothing.
func (c Component) refusals(kinds []string) []patch {
	overlays := strings.Join(slices.Sorted(maps.Keys(c.Profiles)), " or ")
	var patches []patch
	for _, kind := range kinds {
		// No object has this field, and kustomize names it when it says what failed.
		test := fmt.Sprintf("- op: test\n  path: /component %s is only for overlay %s\n  value: true\n", c.Name, overlays)
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
	Kind      string `yaml:"kind"`
	Name      string `yaml:"name"`
	FieldPath string `yaml:"fieldPath"`
}

// destination is where a replacement writes to.
type destination struct {
	Select     target   `yaml:"select"`
	FieldPaths []string `yaml:"fieldPaths"`
}

// demands are replacements that change nothing: each writes a field to where it was read, which fails unless the object is there.
func demands(kinds []string) []replacement {
	var all []replacement
	for _, kind := range kinds {
		all = append(all, replacement{
			field{kind, ReleaseName, "kind"}, []destination{{target{Kind: kind, Name: ReleaseName}, []string{"kind"}}},
		})
	}
	return all
}
