package bases

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// TestMarksAreWhatIsRendered: a base has an object of a kind, called as the release is, exactly if its profile says so.
func TestMarksAreWhatIsRendered(t *testing.T) {
	for _, p := range Profiles() {
		objects, err := p.render(t.Context(), repotest.Root(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{whereItRuns, whereItMay} {
			there := slices.ContainsFunc(objects, func(o object) bool { return o.GetKind() == kind && o.GetName() == ReleaseName })
			if said := slices.Contains(p.kinds, kind); said != there {
				t.Errorf("%s: a %s is there: %t, and the profile says %t", p.Name, kind, there, said)
			}
		}
	}
}

// TestMarksTellProfilesApart: each component takes the profiles it is for, and no other.
func TestMarksTellProfilesApart(t *testing.T) {
	for _, c := range Components() {
		wanted, unwanted := c.marks()
		for _, p := range Profiles() {
			missing := slices.ContainsFunc(wanted, func(kind string) bool { return !slices.Contains(p.kinds, kind) })
			surplus := slices.ContainsFunc(unwanted, func(kind string) bool { return slices.Contains(p.kinds, kind) })
			if _, meant := c.Profiles[p.Name]; meant == (missing || surplus) {
				t.Errorf("%s is for %s: %t; it wants %v and refuses %v", c.Name, p.Name, meant, wanted, unwanted)
			}
		}
	}
}

func TestMarks(t *testing.T) {
	for name, test := range map[string]struct {
		profiles         []string
		wanted, unwanted []string
	}{
		"every profile":        {[]string{"self-managed", "managed", "managed-tenant"}, nil, nil},
		"where it runs":        {[]string{"self-managed", "managed"}, []string{"ServiceAccount"}, nil},
		"both in one":          {[]string{"self-managed"}, []string{"ServiceAccount", "ClusterRole"}, nil},
		"only where it runs":   {[]string{"managed"}, []string{"ServiceAccount"}, []string{"ClusterRole"}},
		"only what it may do":  {[]string{"managed-tenant"}, []string{"ClusterRole"}, []string{"ServiceAccount"}},
		"no mark is for these": {[]string{"managed", "managed-tenant"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := Component{Profiles: map[string][]string{}}
			for _, p := range test.profiles {
				c.Profiles[p] = nil
			}
			wanted, unwanted := c.marks()
			if diff := cmp.Diff([][]string{test.wanted, test.unwanted}, [][]string{wanted, unwanted}); diff != "" {
				t.Errorf("wanted and unwanted (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusalsSayWhatIsMeant: kustomize shows the path of a test that failed.
func TestRefusalsSayWhatIsMeant(t *testing.T) {
	c := Component{Name: "a", Profiles: map[string][]string{"y": nil, "x": nil}}
	patches := c.refusals([]string{"ClusterRole"})
	if len(patches) != 1 || patches[0].Target != (target{"ClusterRole", ReleaseName}) || !strings.Contains(patches[0].Patch, "path: /component a is only for overlay x or y\n") {
		t.Errorf("patches %+v", patches)
	}
}

// TestDemandsSayWhatIsMeant: kustomize shows the delimiter of a source that it does not find.
func TestDemandsSayWhatIsMeant(t *testing.T) {
	c := Component{Name: "a", Profiles: map[string][]string{"x": {"b"}}, After: map[string]string{"Deployment": "b"}}
	got := map[string]string{}
	for _, r := range c.demands([]string{"ClusterRole"}) {
		got[r.Source.Kind] = r.Source.Options.Delimiter
		if r.Source.FieldPath != r.Targets[0].FieldPaths[0] || r.Source.Kind != r.Targets[0].Select.Kind {
			t.Errorf("it changes something: %+v", r)
		}
	}
	want := map[string]string{
		"ClusterRole": "component a is only for overlay x", "Deployment": "component a comes after component b, list that one first",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sentences (-want +got):\n%s", diff)
	}
}
