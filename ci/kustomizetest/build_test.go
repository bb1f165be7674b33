package kustomizetest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

const (
	configKey   = "cloud-config.yaml"
	overlaysDir = "kustomize/overlays"
)

// tree is a copy of kustomize/ in memory, which a test may edit as a user would.
type tree struct{ filesys.FileSystem }

func newTree(t *testing.T) tree {
	t.Helper()
	k := tree{filesys.MakeFsInMemory()}
	top := repotest.Root(t)
	err := filepath.WalkDir(filepath.Join(top, "kustomize"), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(top, name)
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
		t.Fatal(err)
	}
	return k
}

// change replaces a text that has to be in a file.
func (k tree) change(t *testing.T, file, from, to string) {
	t.Helper()
	content, err := k.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), from) {
		t.Fatalf("%s does not contain %q", file, from)
	}
	if err := k.WriteFile(file, []byte(strings.ReplaceAll(string(content), from, to))); err != nil {
		t.Fatal(err)
	}
}

// say edits an overlay's cloud-config.yaml: what an installation has to say itself.
func (k tree) say(t *testing.T, overlay string, keys map[string]string) {
	t.Helper()
	for key, value := range keys {
		k.change(t, configFile(overlay), key+`: ""`, key+": "+value)
	}
}

// edit edits the one file of an overlay, to say what the values file of the profile says.
func (k tree) edit(t *testing.T, overlay string) {
	t.Helper()
	if k.configures(overlay) {
		k.say(t, overlay, map[string]string{"organisation": "my-organisation", "vpcIdentity": "vpc-0123456789", "cluster": "production"})
		return
	}
	k.change(t, path.Join(overlaysDir, overlay, "subject.yaml"), `name: ""`, "name: production")
}

// configures tells whether an overlay holds a configuration of the cloud controller manager, and not permissions only.
func (k tree) configures(overlay string) bool { return k.Exists(configFile(overlay)) }

func configFile(overlay string) string { return path.Join(overlaysDir, overlay, configKey) }

// use adds components to an overlay.
func (k tree) use(t *testing.T, overlay string, components ...string) {
	t.Helper()
	if len(components) == 0 {
		return
	}
	list := "components:\n"
	for _, name := range components {
		list += "  - ../../components/" + name + "\n"
	}
	k.change(t, path.Join(overlaysDir, overlay, "kustomization.yaml"), "# components: []\n", list)
}

// build is `kustomize build <dir>`.
func (k tree) build(t *testing.T, dir string) string {
	t.Helper()
	text, err := k.tryBuild(dir)
	if err != nil {
		t.Fatalf("kustomize build %s: %v", dir, err)
	}
	return text
}

func (k tree) tryBuild(dir string) (string, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(k.FileSystem, dir)
	if err != nil {
		return "", err
	}
	text, err := built.AsYaml()
	return string(text), err
}

// overlay builds an edited overlay with components.
func overlay(t *testing.T, name string, components ...string) string {
	t.Helper()
	k := newTree(t)
	k.edit(t, name)
	k.use(t, name, components...)
	return k.build(t, path.Join(overlaysDir, name))
}

// decode reads a manifest into typed objects, strictly.
func decode(t *testing.T, manifest string) []runtime.Object {
	t.Helper()
	objects, err := charttest.Decode(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) == 0 {
		t.Fatal("the manifest has no object")
	}
	return objects
}

// key names an object.
func key(t *testing.T, o runtime.Object) string {
	t.Helper()
	m := metadata(t, o)
	return path.Join(o.GetObjectKind().GroupVersionKind().Kind, m.GetNamespace(), m.GetName())
}

func metadata(t *testing.T, o runtime.Object) metav1.Object {
	t.Helper()
	m, err := meta.Accessor(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
