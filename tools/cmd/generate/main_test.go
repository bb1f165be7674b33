package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// TestCheckNamesWhatIsStale, and writes nothing.
func TestCheckNamesWhatIsStale(t *testing.T) {
	root := t.TempDir()
	for _, folder := range []string{"charts", "kustomize"} {
		from := os.DirFS(checkout.Path(t, folder))
		if err := os.CopyFS(filepath.Join(root, folder), from); err != nil {
			t.Fatal(err)
		}
	}
	values := filepath.Join(root, "charts/thalassa-ccm/values.schema.json")
	if err := os.WriteFile(values, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), root, true)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"make generate", "docs/reference/annotations.md",
		"charts/thalassa-ccm/values.schema.json"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if _, err := fs.Stat(os.DirFS(root), "docs"); err == nil {
		t.Error("checking wrote files")
	}
	if text, err := os.ReadFile(values); err != nil || string(text) != "{}" {
		t.Errorf("checking changed a file: %v", err)
	}
}
