package chart

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

func TestInstallAndUninstall(t *testing.T) {
	home := hostileEnvironment(t)
	server, config := startAPIServer(t)
	release := page(map[string]any{"title": "Hello"})
	var progress bytes.Buffer

	notes, err := Install(t.Context(), config, pageChart, release, &progress)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := notes, "Read hello in docs.\n"; got != want {
		t.Errorf("notes %q, want %q", got, want)
	}
	want := []string{
		"/api/v1/namespaces/docs/configmaps/hello",
		"/api/v1/namespaces/docs/secrets/sh.helm.release.v1.hello.v1",
	}
	if diff := cmp.Diff(want, server.paths()); diff != "" {
		t.Errorf("stored objects (-want +got):\n%s", diff)
	}
	if got := server.object(want[1]).GetLabels()["status"]; got != "deployed" {
		t.Errorf("release status %q, want deployed", got)
	}
	for _, want := range []string{"creating 1 resource(s)", "stored without a check"} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("progress lacks %q:\n%s", want, progress.String())
		}
	}

	if err := Uninstall(t.Context(), config, "hello", "docs", &progress); err != nil {
		t.Fatal(err)
	}
	if got := server.paths(); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
	wantEmpty(t, home)
}

func TestInstallOwnsItsObjects(t *testing.T) {
	server, config := startAPIServer(t)
	if _, err := Install(t.Context(), config, pageChart, page(map[string]any{"title": "Hello"}), nil); err != nil {
		t.Fatal(err)
	}
	got := server.object("/api/v1/namespaces/docs/configmaps/hello").GetAnnotations()
	want := map[string]string{"meta.helm.sh/release-name": "hello", "meta.helm.sh/release-namespace": "docs"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func TestInstallRefuses(t *testing.T) {
	title := map[string]any{"title": "Hello"}
	_, config := startAPIServer(t)
	if _, err := Install(t.Context(), config, pageChart, page(title), nil); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		dir     string
		release Release
		want    string
	}{
		"no chart": {"testdata/absent", page(title), `loading chart "testdata/absent"`},
		"no name":  {pageChart, Release{Namespace: "docs"}, "both names are required"},
		"a second time": {pageChart, page(title),
			`as release "hello" in namespace "docs": cannot re-use a name that is still in use`},
		"a missing value": {pageChart, Release{Name: "other", Namespace: "docs"}, "title is required"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Install(t.Context(), config, test.dir, test.release, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// TestUpgrade: the values are those of the upgrade alone, and what only the old chart had is gone.
func TestUpgrade(t *testing.T) {
	home := hostileEnvironment(t)
	server, config := startAPIServer(t)
	if _, err := Install(t.Context(), config, withNotice(t), page(map[string]any{"title": "Hello", "lines": 7}),
		nil); err != nil {
		t.Fatal(err)
	}
	notes, err := Upgrade(t.Context(), config, pageChart, page(map[string]any{"title": "Bye"}), nil)
	if want := "Read hello in docs.\n"; notes != want || err != nil {
		t.Fatalf("notes %q, error %v, want %q", notes, err, want)
	}
	want := []string{
		"/api/v1/namespaces/docs/configmaps/hello",
		"/api/v1/namespaces/docs/secrets/sh.helm.release.v1.hello.v1",
		"/api/v1/namespaces/docs/secrets/sh.helm.release.v1.hello.v2",
	}
	if diff := cmp.Diff(want, server.paths()); diff != "" {
		t.Errorf("stored objects (-want +got):\n%s", diff)
	}
	for i, status := range map[int]string{1: "superseded", 2: "deployed"} {
		if got := server.object(want[i]).GetLabels()["status"]; got != status {
			t.Errorf("status of %s %q, want %s", want[i], got, status)
		}
	}
	data, _, _ := unstructured.NestedStringMap(server.object(want[0]).Object, "data")
	if diff := cmp.Diff(map[string]string{"title": "Bye", "lines": "3"}, data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	wantEmpty(t, home)
}

// withNotice is the chart with one object more.
func withNotice(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "page")
	if err := os.CopyFS(dir, os.DirFS(pageChart)); err != nil {
		t.Fatal(err)
	}
	notice := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: notice\n  namespace: {{ .Release.Namespace }}\n"
	if err := os.WriteFile(filepath.Join(dir, "templates", "notice.yaml"), []byte(notice), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestUpgradeRewrites(t *testing.T) {
	server, config := startAPIServer(t)
	release := page(map[string]any{"title": "Hello"})
	if _, err := Install(t.Context(), config, pageChart, release, nil); err != nil {
		t.Fatal(err)
	}
	release.Rewrite = func(manifest []byte) ([]byte, error) {
		return bytes.ReplaceAll(manifest, []byte("title: Hello"), []byte("title: Rewritten")), nil
	}
	if _, err := Upgrade(t.Context(), config, pageChart, release, nil); err != nil {
		t.Fatal(err)
	}
	object := server.object("/api/v1/namespaces/docs/configmaps/hello")
	if title, _, _ := unstructured.NestedString(object.Object, "data", "title"); title != "Rewritten" {
		t.Errorf("title %q, want Rewritten", title)
	}
}

func TestUpgradeRefuses(t *testing.T) {
	title := map[string]any{"title": "Hello"}
	_, config := startAPIServer(t)
	if _, err := Install(t.Context(), config, pageChart, page(title), nil); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		dir     string
		release Release
		want    string
	}{
		"no chart": {"testdata/absent", page(title), `loading chart "testdata/absent"`},
		"no name":  {pageChart, Release{Namespace: "docs"}, "both names are required"},
		"no such release": {pageChart, Release{Name: "other", Namespace: "docs", Values: title},
			`upgrading release "other" in namespace "docs"`},
		"values of the past": {pageChart, page(nil), "title is required"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Upgrade(t.Context(), config, test.dir, test.release, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestUninstallUnknownRelease(t *testing.T) {
	_, config := startAPIServer(t)
	err := Uninstall(t.Context(), config, "hello", "docs", nil)
	if !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("error %v, want %v", err, driver.ErrReleaseNotFound)
	}
}

func TestBadConfig(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1",
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte("no certificate")}}
	if _, err := Install(t.Context(), config, pageChart, page(nil), nil); err == nil {
		t.Error("Install accepts a broken certificate authority")
	}
	if _, err := Upgrade(t.Context(), config, pageChart, page(nil), nil); err == nil {
		t.Error("Upgrade accepts a broken certificate authority")
	}
	if err := Uninstall(t.Context(), config, "hello", "docs", nil); err == nil {
		t.Error("Uninstall accepts a broken certificate authority")
	}
}

func TestInstallAndUpgradeEndWithContext(t *testing.T) {
	for name, do := range map[string]func(context.Context, *rest.Config, string, Release,
		io.Writer) (string, error){"install": Install, "upgrade": Upgrade} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-r.Context().Done()
			}))
			t.Cleanup(server.Close)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-asked
				cancel()
			}()
			_, err := do(ctx, &rest.Config{Host: server.URL}, pageChart, page(map[string]any{"title": "Hello"}), nil)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want %v", err, context.Canceled)
			}
		})
	}
}

func TestBindLeavesConfigAlone(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	bind(t.Context(), config, new(bytes.Buffer))
	if config.WrapTransport != nil || config.WarningHandler != nil || config.Burst != 0 {
		t.Errorf("config was changed: %v", config)
	}
}
