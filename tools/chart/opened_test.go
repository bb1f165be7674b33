package chart

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// TestOpened: an opened chart renders, and refuses, as one that is read each time, also at the same time.
func TestOpened(t *testing.T) {
	dir := checkout.Path(t, "charts/thalassa-ccm")
	opened, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "ci", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of values, error %v", len(files), err)
	}
	var all sync.WaitGroup
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range map[string]any{"rules": nil, "kind": "many", "typo": true} {
			values := map[string]any{}
			if err := yaml.Unmarshal(text, &values); err != nil {
				t.Fatal(err)
			}
			values[key] = value
			all.Go(func() { wantSame(t, dir, opened, Release{Name: "one", Namespace: "kube-system", Values: values}) })
		}
	}
	all.Wait()
}

func wantSame(t *testing.T, dir string, opened *Opened, release Release) {
	t.Helper()
	want, wantNotes, wantErr := Render(t.Context(), dir, release)
	got, notes, err := opened.Render(t.Context(), release)
	if diff := cmp.Diff([]string{want, wantNotes, text(wantErr)}, []string{got, notes, text(err)}); diff != "" {
		t.Errorf("%v: an opened chart differs (-want +got):\n%s", release.Values, diff)
	}
	if valid := release.Values["typo"] == nil && release.Values["kind"] != "many"; valid != (err == nil) {
		t.Errorf("%v: error %v", release.Values, err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestOpenRefuses(t *testing.T) {
	for name, file := range map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: page\nversion: 1.0.0\ndependencies: [{name: a, version: 1.0.0}]\n",
		"values.schema.json": "{",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(pageChart)); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir); err == nil {
				t.Error("the chart was opened")
			}
		})
	}
}
