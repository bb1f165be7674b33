package chart

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pageChart = "testdata/page"

func page(values map[string]any) Release {
	return Release{Name: "hello", Namespace: "docs", Values: values}
}

func TestLoad(t *testing.T) {
	loaded, err := Load(pageChart)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := loaded.Metadata.Version, "1.2.3"; got != want {
		t.Errorf("version %q, want %q", got, want)
	}
}

func TestLoadRefuses(t *testing.T) {
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "Chart.yaml"), []byte("apiVersion: v2\nname: broken\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ dir, want string }{
		"no such directory": {"testdata/absent", `loading chart "testdata/absent"`},
		"no chart":          {t.TempDir(), "Chart.yaml file is missing"},
		"no version":        {broken, "chart.metadata.version is required"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(test.dir)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestRender(t *testing.T) {
	manifest, notes, err := Render(t.Context(), pageChart, page(map[string]any{
		"title": "Hello", "lines": 7, "labels": map[string]string{"a": "b"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := `---
# Source: page/templates/configmap.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: hello
  namespace: docs
  labels: {"a":"b"}
data:
  title: Hello
  lines: "7"
`
	if diff := cmp.Diff(want, manifest); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	if got, want := notes, "Read hello in docs.\n"; got != want {
		t.Errorf("notes %q, want %q", got, want)
	}
}

func TestRenderRefuses(t *testing.T) {
	title := map[string]any{"title": "Hello"}
	for name, test := range map[string]struct {
		release Release
		want    string
	}{
		"no name":             {Release{Namespace: "docs", Values: title}, "both names are required"},
		"no namespace":        {Release{Name: "hello", Values: title}, "both names are required"},
		"a missing value":     {page(nil), "title is required, for example --set title=Hello"},
		"an unknown value":    {page(map[string]any{"titel": "Hello"}), "additional properties 'titel' not allowed"},
		"a value of bad type": {page(map[string]any{"title": 7}), "got number, want string"},
		"an old Kubernetes": {Release{Name: "hello", Namespace: "docs", Values: title, KubeVersion: "v1.32.9"},
			"kubeVersion: >=1.33.0-0"},
		"a bad version": {Release{Name: "hello", Namespace: "docs", Values: title, KubeVersion: "new"},
			`parsing Kubernetes version "new"`},
		"a value without YAML": {page(map[string]any{"title": func() {}}), "encoding values"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Render(t.Context(), pageChart, test.release)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestRenderAcceptsVendorSuffix(t *testing.T) {
	release := page(map[string]any{"title": "Hello"})
	release.KubeVersion = "v1.33.2-vendor.1"
	if _, _, err := Render(t.Context(), pageChart, release); err != nil {
		t.Error(err)
	}
}

// TestRenderForAPIs: what a cluster serves reaches the templates.
func TestRenderForAPIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "page")
	if err := os.CopyFS(dir, os.DirFS(pageChart)); err != nil {
		t.Fatal(err)
	}
	template := "{{ range list \"v1\" \"example.com/v1\" }}# {{ . }}: {{ $.Capabilities.APIVersions.Has . }}\n{{ end " +
		"}}a: 1\n"
	if err := os.WriteFile(filepath.Join(dir, "templates", "configmap.yaml"), []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, apis := range map[string][]string{"# v1: true\n# example.com/v1: false\n": nil,
		"# v1: true\n# example.com/v1: true\n": {"example.com/v1"}} {
		release := page(map[string]any{"title": "Hello"})
		release.APIVersions = apis
		manifest, _, err := Render(t.Context(), dir, release)
		if err != nil || !strings.Contains(manifest, want) {
			t.Errorf("with %v: error %v, want %q in\n%s", apis, err, want, manifest)
		}
	}
}

func TestRenderEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Render(ctx, pageChart, page(nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestRenderKeepsValues(t *testing.T) {
	values := map[string]any{"title": "Hello", "labels": map[string]any{"a": "b"}}
	if _, _, err := Render(t.Context(), pageChart, page(values)); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"title": "Hello", "labels": map[string]any{"a": "b"}}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("values changed (-want +got):\n%s", diff)
	}
}

func TestRenderIgnoresEnvironment(t *testing.T) {
	home := hostileEnvironment(t)
	if _, _, err := Render(t.Context(), pageChart, page(map[string]any{"title": "Hello"})); err != nil {
		t.Error(err)
	}
	wantEmpty(t, home)
}

// hostileEnvironment points everything the helm command would read at an empty
// home or at files it could not parse.
func hostileEnvironment(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	for _, name := range []string{"KUBECONFIG", "HELM_REPOSITORY_CONFIG", "HELM_REGISTRY_CONFIG"} {
		t.Setenv(name, broken)
	}
	t.Setenv("HELM_DRIVER", "no-such-driver")
	t.Setenv("HELM_NAMESPACE", "other")
	t.Setenv("HELM_KUBEAPISERVER", "http://127.0.0.1:1")
	return home
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("%s was written to the home directory", entry.Name())
	}
}
