package release

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// TestPackedPages packs the real chart: its pages say what its user has.
func TestPackedPages(t *testing.T) {
	s := source(t)
	s.Root = repotest.Root(t, "charts/thalassa-ccm")
	folder := filepath.Join(s.Root, "charts", "thalassa-ccm")
	about, err := helmloader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	s.Version = "v" + about.Metadata.Version
	packed, err := PackChart(folder, "cloud-controller-manager", someDigest, s)
	if err != nil {
		t.Fatal(err)
	}
	read, err := helmloader.LoadArchive(bytes.NewReader(packed.Archive))
	if err != nil {
		t.Fatal(err)
	}
	relative, pages := regexp.MustCompile(`\]\((?:[^)#:]+)[)#]`), 0
	for _, file := range read.Raw {
		text := string(file.Data)
		if strings.Contains(text, unpublished) || strings.Contains(text, "helm install thalassa-ccm charts/") {
			t.Errorf("%s says what only the repository's user has", file.Name)
		}
		if !strings.HasSuffix(file.Name, ".md") {
			continue
		}
		pages++
		if found := relative.FindAllString(text, -1); len(found) > 0 {
			t.Errorf("%s has relative links: %q", file.Name, found)
		}
		want := "helm install thalassa-ccm oci://" + Registry + "/charts/thalassa-ccm --version " + s.Number() +
			" --namespace"
		if file.Name == "README.md" && !strings.Contains(text, want) {
			t.Errorf("the README lacks %q:\n%s", want, text)
		}
	}
	if pages < 2 {
		t.Errorf("%d pages, want README.md and CHANGELOG.md", pages)
	}
}

func TestPageOf(t *testing.T) {
	const text = "# A\n\nThe images are not published yet: build\none.\n\n" +
		"[b](../../docs/b.md#c), [d](#d), [e](https://e.example), [f](f.yaml)\n\n    helm install x charts/x --wait\n"
	const want = "# A\n\n[b](" + repository + "/blob/v1.0.0/docs/b.md#c), [d](#d), [e](https://e.example), [f](" +
		repository + "/blob/v1.0.0/charts/x/f.yaml)\n\n" +
		"    helm install x oci://" + Registry + "/charts/x --version 1.0.0 --wait\n"
	if got := pageOf(text, "charts/x", Source{Version: "v1.0.0"}); got != want {
		t.Errorf("page:\n%s\nwant\n%s", got, want)
	}
}
