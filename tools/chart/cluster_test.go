package chart

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/storage/driver"
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
		"no chart":        {"testdata/absent", page(title), `loading chart "testdata/absent"`},
		"no name":         {pageChart, Release{Namespace: "docs"}, "both names are required"},
		"a second time":   {pageChart, page(title), `as release "hello" in namespace "docs": cannot re-use a name that is still in use`},
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

func TestUninstallUnknownRelease(t *testing.T) {
	_, config := startAPIServer(t)
	err := Uninstall(t.Context(), config, "hello", "docs", nil)
	if !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("error %v, want %v", err, driver.ErrReleaseNotFound)
	}
}

func TestBadConfig(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("no certificate")}}
	if _, err := Install(t.Context(), config, pageChart, page(nil), nil); err == nil {
		t.Error("Install accepts a broken certificate authority")
	}
	if err := Uninstall(t.Context(), config, "hello", "docs", nil); err == nil {
		t.Error("Uninstall accepts a broken certificate authority")
	}
}

func TestInstallEndsWithContext(t *testing.T) {
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
	_, err := Install(ctx, &rest.Config{Host: server.URL}, pageChart, page(map[string]any{"title": "Hello"}), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestBindLeavesConfigAlone(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	bind(t.Context(), config, new(bytes.Buffer))
	if config.WrapTransport != nil || config.WarningHandler != nil || config.Burst != 0 {
		t.Errorf("config was changed: %v", config)
	}
}
