package kustomizetest

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/bases"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// TestReplacementsSelectByText: kustomize before 5.8 compares the fields of a select with the text itself. With a
// regular expression, it replaces nothing and reports no error.
func TestReplacementsSelectByText(t *testing.T) {
	text := regexp.MustCompile(`^[A-Za-z0-9./-]*$`)
	selects := 0
	for p, content := range kustomizations(t) {
		var kustomization types.Kustomization
		if err := yaml.Unmarshal(content, &kustomization); err != nil {
			t.Fatal(err)
		}
		for _, replacement := range kustomization.Replacements {
			if replacement.Path != "" {
				t.Errorf("%s has replacements in %s, which this test does not read", p, replacement.Path)
			}
			for _, target := range replacement.Targets {
				for _, s := range append([]*types.Selector{target.Select}, target.Reject...) {
					selects++
					for _, field := range []string{s.Group, s.Version, s.Kind, s.Name, s.Namespace} {
						if !text.MatchString(field) {
							t.Errorf("%s selects %q in a replacement: write a select for each kind or name", p, field)
						}
					}
				}
			}
		}
	}
	if selects < 10 {
		t.Errorf("%d selects in replacements, want at least those of the guards", selects)
	}
}

// oldest is kustomize 5.4.
type oldest struct{ program string }

// build is `kustomize build` of an overlay in a tree.
func (o oldest) build(t *testing.T, k overlay.Tree, name string) (manifest string, err error) {
	t.Helper()
	folder := t.TempDir()
	k.Save(t, folder)
	var out, trouble bytes.Buffer
	command := exec.CommandContext(t.Context(), o.program, "build", filepath.Join(folder, overlay.Dir(name)))
	command.Stdout, command.Stderr = &out, &trouble
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, &trouble)
	}
	if trouble.Len() > 0 {
		t.Errorf("it warns: %s", &trouble)
	}
	return out.String(), nil
}

// TestOldestKustomizeBuildsTheSame as the newest one, which the other tests are: each overlay with each combination of
// components, byte for byte, and the errors of components in the wrong place.
func TestOldestKustomizeBuildsTheSame(t *testing.T) {
	tier.NeedFull(t)
	program, err := controlplane.BuildKustomize(t.Context(), repotest.Root(t, "tools/kustomize"),
		func(message string) { t.Log(message) })
	if err != nil {
		t.Fatal(err)
	}
	old := oldest{program}
	for _, p := range bases.Profiles() {
		for _, components := range combinations(p) {
			t.Run(strings.Join(append([]string{p.Name}, components...), "+"), func(t *testing.T) {
				k := composed(t, p.Name, components...)
				got, err := old.build(t, k, p.Name)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(k.Build(t, overlay.Dir(p.Name)), got); diff != "" {
					t.Errorf("-newest +oldest:\n%s", diff)
				}
			})
		}
	}
	for _, m := range misplaced() {
		k := overlay.New(t)
		k.Use(t, m.overlay, m.components...)
		_, err := old.build(t, k, m.overlay)
		if err == nil || !strings.Contains(err.Error(), m.want) {
			t.Errorf("%s with %q: got %v, want an error with %q", m.overlay, m.components, err, m.want)
		}
	}
}
