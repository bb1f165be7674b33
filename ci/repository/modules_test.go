package repository

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// gomod is a go.mod file with the given replace lines.
func gomod(replaces ...string) string {
	out := "module example.com/m\n\ngo 1.26.0\n"
	for _, r := range replaces {
		out += "\nreplace " + r + "\n"
	}
	return out
}

func TestReplaces(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"tools/go.mod": gomod("github.com/thalassa-cloud/thalassa-ccm/src => ../src"),
		"src/go.mod": gomod("example.com/fork => ../fork",
			"github.com/thalassa-cloud/thalassa-ccm/src/emulator => ./emulator"),
		"src/emulator/go.mod": gomod("github.com/thalassa-cloud/thalassa-ccm/src => ../"),
		"ci/go.mod": gomod(
			"github.com/thalassa-cloud/thalassa-ccm/src => example.com/fork v1.0.0"),
		"tools/lab/go.mod":               gomod("k8s.io/api => k8s.io/api v0.36.3"),
		"tools/x/testdata/go.mod":        gomod("example.com/fork => ../fork"),
		"tools/conformance/suite/go.mod": gomod("k8s.io/api => k8s.io/api v0.36.3"),
	})
	found, err := Replaces(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ci/go.mod: replaces github.com/thalassa-cloud/thalassa-ccm/src by example.com/fork: only our own modules " +
			"may be replaced, by their own folders",
		"src/emulator/go.mod: replaces github.com/thalassa-cloud/thalassa-ccm/src by ../: other projects use this " +
			"module, and a replace line has no effect on them",
		"src/go.mod: replaces example.com/fork by ../fork: only our own modules may be replaced, by their own folders",
	}
	if diff := cmp.Diff(want, strs(found)); diff != "" {
		t.Errorf("findings differ (-want +got):\n%s", diff)
	}
}

func TestReplacesOfBrokenModule(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"src/go.mod": "no module\n"})
	_, err := Replaces(t.Context(), dir)
	if err == nil || !strings.Contains(err.Error(), "src/go.mod") {
		t.Errorf("got error %v, want one that names src/go.mod", err)
	}
}

func TestForeign(t *testing.T) {
	const header = "module github.com/thalassa-cloud/thalassa-ccm/src/emulator\n\ngo 1.26.0\n"
	tests := map[string]struct {
		gomod string
		want  []string
	}{
		"itself": {header, []string{}},
		"others": {header + `
require (
	github.com/thalassa-cloud/thalassa-ccm/src v0.0.0
	k8s.io/api v0.0.0
)

replace (
	github.com/thalassa-cloud/thalassa-ccm/src => ../
	k8s.io/api => ../api
)
`, []string{
			"src/emulator/go.mod: requires github.com/thalassa-cloud/thalassa-ccm/src: users of the module would " +
				"inherit it",
			"src/emulator/go.mod: requires k8s.io/api: users of the module would inherit it",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{
				"src/emulator/go.mod": tt.gomod, "src/go.mod": "module github.com/thalassa-cloud/thalassa-ccm/src\n",
				"src/api/go.mod": "module k8s.io/api\n",
			})
			found, err := Foreign(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, strs(found)); diff != "" {
				t.Errorf("findings differ (-want +got):\n%s", diff)
			}
		})
	}
}
