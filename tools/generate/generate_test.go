package generate

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// fixed is a generator with given contents.
func fixed(name string, files map[string]string) Generator {
	return Generator{Name: name, Files: func(context.Context, string) (map[string][]byte, error) {
		out := map[string][]byte{}
		for p, text := range files {
			out[p] = []byte(text)
		}
		return out, nil
	}}
}

// put writes files below a fresh folder.
func put(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for p, text := range files {
		if err := write(filepath.Join(root, p), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestWriteAndStale(t *testing.T) {
	root := put(t, map[string]string{"docs/same.md": "same", "docs/old.md": "old", "other.md": "by hand"})
	generators := []Generator{
		fixed("pages", map[string]string{"docs/same.md": "same", "docs/old.md": "new"}),
		fixed("more pages", map[string]string{"made/here/missing.md": "new"}),
	}
	want := []string{"docs/old.md", "made/here/missing.md"}

	stale, err := Stale(t.Context(), root, generators)
	if diff := cmp.Diff(want, stale); diff != "" || err != nil {
		t.Fatalf("stale files differ (-want +got), error %v:\n%s", err, diff)
	}
	if text, _ := os.ReadFile(filepath.Join(root, "docs/old.md")); string(text) != "old" {
		t.Errorf("the check for stale files changed one to %q", text)
	}

	changed, err := Write(t.Context(), root, generators)
	if diff := cmp.Diff(want, changed); diff != "" || err != nil {
		t.Fatalf("changed files differ (-want +got), error %v:\n%s", err, diff)
	}
	text, err := os.ReadFile(filepath.Join(root, "made/here/missing.md"))
	if err != nil || string(text) != "new" {
		t.Errorf("got %q and %v, want the generated text", text, err)
	}

	stale, err = Stale(t.Context(), root, generators)
	if len(stale) != 0 || err != nil {
		t.Errorf("after writing, got stale files %q and %v, want none", stale, err)
	}
}

func TestErrors(t *testing.T) {
	broken := Generator{Name: "broken", Files: func(context.Context, string) (map[string][]byte, error) {
		return nil, errors.New("no source")
	}}
	one := fixed("one", map[string]string{"a.md": "1"})
	tests := map[string]struct {
		generators []Generator
		want       string
	}{
		"generator fails": {[]Generator{broken}, "generating broken: no source"},
		"two for one file": {[]Generator{one, fixed("two", map[string]string{"a.md": "2"})},
			"generating two: a.md is already made"},
		"outside": {[]Generator{fixed("far", map[string]string{"../a.md": "1"})},
			"generating far: ../a.md is outside"},
		"folder in the way": {[]Generator{fixed("folder", map[string]string{"folder": "1"})}, "reading generated file"},
		"file in the way":   {[]Generator{fixed("file", map[string]string{"file/a.md": "1"})}, "generated file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := put(t, map[string]string{"folder/x": "x", "file": "x"})
			_, err := Write(t.Context(), root, tt.generators)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// TestAllIsStable runs the real generators twice: what differs between runs could never be checked.
func TestAllIsStable(t *testing.T) {
	root := repotest.Root(t, "charts", "docs/reference", "kustomize")
	computed := func() map[string][]byte {
		all, taken := map[string][]byte{}, map[string]bool{}
		for _, g := range All() {
			made, err := g.make(t.Context(), root, taken)
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(all, made)
		}
		return all
	}
	first, second := computed(), computed()
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}
