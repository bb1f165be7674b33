// Package overlay edits and builds the overlays below kustomize/ as their users do, in memory, with kustomize's own
// code.
//
//	tree := overlay.New(t)
//	tree.Say(t, "self-managed", map[string]string{"organisation": "my-organisation"})
//	tree.Use(t, "self-managed", "monitoring")
//	manifest := tree.Build(t, overlay.Dir("self-managed"))
package overlay

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

const (
	// ConfigKey is the file of an overlay that is edited, and what the pods read their configuration from.
	ConfigKey = "cloud-config.yaml"
	// Root is the folder of all overlays, with slashes, below that of the repository.
	Root = "kustomize/overlays"
)

// Tree is a copy of kustomize/ in memory. Paths begin there as in the repository: "kustomize/...".
type Tree struct{ filesys.FileSystem }

// New copies the folder.
func New(tb testing.TB) Tree {
	tb.Helper()
	k := Tree{filesys.MakeFsInMemory()}
	folder := checkout.Path(tb, "kustomize")
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(filepath.Dir(folder), name)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return k.WriteFile(filepath.ToSlash(relative), content)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// Dir is the folder of an overlay.
func Dir(overlay string) string { return path.Join(Root, overlay) }

// ConfigFile is the file of an overlay with the configuration of the cloud controller manager.
func ConfigFile(overlay string) string { return path.Join(Dir(overlay), ConfigKey) }

// SubjectFile is the file of an overlay with whom it permits something.
func SubjectFile(overlay string) string { return path.Join(Dir(overlay), "subject.yaml") }

// Configures reports whether an overlay holds a configuration of the cloud controller manager, and not permissions
// only.
func (k Tree) Configures(overlay string) bool { return k.Exists(ConfigFile(overlay)) }

// Change replaces a text that has to be in a file, wherever it is there.
func (k Tree) Change(tb testing.TB, file, from, to string) {
	tb.Helper()
	content, err := k.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if !strings.Contains(string(content), from) {
		tb.Fatalf("%s does not contain %q", file, from)
	}
	if err := k.WriteFile(file, []byte(strings.ReplaceAll(string(content), from, to))); err != nil {
		tb.Fatal(err)
	}
}

// Say edits an overlay's cloud-config.yaml: keys that are empty there, because an installation has to say them itself.
func (k Tree) Say(tb testing.TB, overlay string, keys map[string]string) {
	tb.Helper()
	for key, value := range keys {
		k.Change(tb, ConfigFile(overlay), key+`: ""`, key+": "+value)
	}
}

// Permit edits an overlay's subject.yaml: who is permitted something, by name.
func (k Tree) Permit(tb testing.TB, overlay, name string) {
	tb.Helper()
	k.Change(tb, SubjectFile(overlay), `name: ""`, "name: "+name)
}

// Use adds components to an overlay, in this order.
func (k Tree) Use(tb testing.TB, overlay string, components ...string) {
	tb.Helper()
	if len(components) == 0 {
		return
	}
	var list strings.Builder
	list.WriteString("components:\n")
	for _, name := range components {
		list.WriteString("  - ../../components/" + name + "\n")
	}
	k.Change(tb, path.Join(Dir(overlay), "kustomization.yaml"), "# components: []\n", list.String())
}

// Save writes all files below a folder of this machine, for another program.
func (k Tree) Save(tb testing.TB, folder string) {
	tb.Helper()
	err := k.Walk("/", func(name string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		content, err := k.ReadFile(name)
		if err != nil {
			return err
		}
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, content, 0o600)
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// Build is `kustomize build <dir>`; an error fails the test.
func (k Tree) Build(tb testing.TB, dir string) string {
	tb.Helper()
	text, err := k.TryBuild(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// TryBuild is `kustomize build <dir>`.
func (k Tree) TryBuild(dir string) (manifest string, err error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // the default of the program, not of its library
	built, err := krusty.MakeKustomizer(options).Run(k.FileSystem, dir)
	if err != nil {
		return "", fmt.Errorf("kustomize build %s: %w", dir, err)
	}
	text, err := built.AsYaml()
	return string(text), err
}
