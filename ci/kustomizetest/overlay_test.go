package kustomizetest

import (
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/bases"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// TestEveryProfileHasAnOverlay, and there is no other.
func TestEveryProfileHasAnOverlay(t *testing.T) {
	var want, got []string
	for _, p := range bases.Profiles() {
		want = append(want, p.Name)
	}
	slices.Sort(want)
	entries, err := os.ReadDir(checkout.Path(t, overlay.Root))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("overlays (-profiles +folders):\n%s", diff)
	}
}

// TestNoOtherFile finds files in bases and components that are neither generated nor a component's kustomization.
func TestNoOtherFile(t *testing.T) {
	root := repotest.Root(t, "charts", "kustomize")
	made, err := bases.Files(context.WithoutCancel(t.Context()), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"kustomize/base", "kustomize/components"} {
		err = fs.WalkDir(os.DirFS(root), dir, func(p string, entry fs.DirEntry, err error) error {
			written := dir == "kustomize/components" && path.Base(p) == "kustomization.yaml"
			if err == nil && !entry.IsDir() && made[p] == nil && !written {
				t.Errorf("%s is not generated", p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUneditedIsRefused: an overlay, and a base without an overlay, hold a configuration with which the program does
// not start, and it names every key that is missing. What only permits something permits it to nobody; the API server
// refuses that.
func TestUneditedIsRefused(t *testing.T) {
	k := overlay.New(t)
	for _, p := range bases.Profiles() {
		for _, dir := range []string{overlay.Dir(p.Name), path.Join("kustomize/base", p.Name)} {
			t.Run(dir, func(t *testing.T) {
				objects := decode(t, k.Build(t, dir))
				config, found := configOf(t, objects)
				if found != k.Configures(p.Name) {
					t.Fatalf("configuration: %v", config)
				}
				if !found {
					wantNobody(t, objects)
					return
				}
				_, problems := validate(t, config.Data[overlay.ConfigKey])
				for _, key := range missingKeys(p.Name) {
					if !slices.ContainsFunc(problems, func(p string) bool {
						return strings.Contains(p, key+": missing")
					}) {
						t.Errorf("the program does not say that %s is missing, but %q", key, problems)
					}
				}
			})
		}
	}
}

// missingKeys are the keys that an overlay leaves to its user.
func missingKeys(profile string) []string {
	if strings.HasPrefix(profile, "ironcore") {
		return []string{"networkName", "clusterName"}
	}
	return []string{"organisation", "vpcIdentity", "cluster"}
}

func wantNobody(t *testing.T, objects []runtime.Object) {
	t.Helper()
	bindings := 0
	for _, o := range objects {
		var subjects []rbacv1.Subject
		switch o := o.(type) {
		case *rbacv1.ClusterRoleBinding:
			subjects = o.Subjects
		case *rbacv1.RoleBinding:
			subjects = o.Subjects
		default:
			continue
		}
		bindings++
		if len(subjects) != 1 || subjects[0].Name != "" {
			t.Errorf("%s is for %+v, want one without a name", key(t, o), subjects)
		}
	}
	if bindings == 0 {
		t.Error("no binding")
	}
}

// configOf returns the ConfigMap with the configuration.
func configOf(t *testing.T, objects []runtime.Object) (*corev1.ConfigMap, bool) {
	t.Helper()
	for _, o := range objects {
		if config, ok := o.(*corev1.ConfigMap); ok && config.Data[overlay.ConfigKey] != "" {
			return config, true
		}
	}
	return nil, false
}

// TestConfigurationReplacesThePods: what is edited changes the ConfigMap's name, which the pods carry.
func TestConfigurationReplacesThePods(t *testing.T) {
	for _, p := range bases.Profiles() {
		k := overlay.New(t)
		if !k.Configures(p.Name) {
			continue
		}
		edit(t, k, p.Name)
		before := volumes(t, k, p)
		if again := volumes(t, k, p); len(before) == 0 || !slices.Equal(before, again) {
			t.Fatalf("%s: ConfigMaps of the pods %v, and a second time %v", p.Name, before, again)
		}
		k.Change(t, overlay.ConfigFile(p.Name), ": production", ": staging")
		if after := volumes(t, k, p); slices.Equal(before, after) {
			t.Errorf("%s: with another configuration the pods still have %v", p.Name, after)
		}
	}
}

// volumes are the ConfigMaps that pods mount; each has to be in the overlay.
func volumes(t *testing.T, k overlay.Tree, p bases.Profile) []string {
	t.Helper()
	objects := decode(t, k.Build(t, overlay.Dir(p.Name)))
	var names []string
	for _, o := range objects {
		template := podTemplate(o)
		if template == nil {
			continue
		}
		for _, volume := range template.Spec.Volumes {
			if volume.ConfigMap != nil {
				names = append(names, volume.ConfigMap.Name)
			}
		}
	}
	for _, name := range names {
		if config, found := configOf(t, objects); !found || config.Name != name {
			t.Errorf("the pods mount ConfigMap %s, which is not there", name)
		}
	}
	return names
}

// TestKustomizationsAreOfToday: nothing that kustomize has deprecated, and no label that gets into a selector.
func TestKustomizationsAreOfToday(t *testing.T) {
	deprecated := []string{"bases", "commonLabels", "imageTags", "patchesJson6902", "patchesStrategicMerge", "vars"}
	for p, text := range kustomizations(t) {
		content := map[string]any{}
		if err := yaml.UnmarshalStrict(text, &content); err != nil {
			t.Fatal(err)
		}
		for _, field := range deprecated {
			if _, has := content[field]; has {
				t.Errorf("%s uses %s", p, field)
			}
		}
		if strings.Contains(string(text), "includeSelectors: true") {
			t.Errorf("%s changes selectors, which no upgrade survives", p)
		}
	}
}

// kustomizations are the contents of all files kustomization.yaml, by their paths.
func kustomizations(t *testing.T) map[string][]byte {
	t.Helper()
	k, all := overlay.New(t), map[string][]byte{}
	err := k.Walk("/", func(p string, _ fs.FileInfo, err error) error {
		if err != nil || path.Base(p) != "kustomization.yaml" {
			return err
		}
		all[p], err = k.ReadFile(p)
		return err
	})
	if err != nil || len(all) < 2*len(bases.Profiles()) {
		t.Fatalf("%d kustomizations, error %v", len(all), err)
	}
	return all
}
