package released

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repository makes a folder with one chart.
func repository(t *testing.T, name, metadata string) (root string) {
	t.Helper()
	root = t.TempDir()
	put(t, filepath.Join(root, "charts", name, "Chart.yaml"), metadata)
	put(t, filepath.Join(root, "charts", name, "templates", "a.yaml"), "kind: A\n")
	put(t, filepath.Join(root, "charts", name, ".helmignore"), "ci/\n")
	put(t, filepath.Join(root, "charts", name, "README.md"), "[a](../../a.md)\n")
	return root
}

func put(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

const page = "apiVersion: v2\nname: page\nversion: 1.2.3\n"

func TestCut(t *testing.T) {
	root := repository(t, "page", page)
	got, err := Cut(root, "page")
	want := Chart{"page", "1.2.3", filepath.Join(root, "ci/released/page/1.2.3")}
	if err != nil || got != want {
		t.Fatalf("got %+v and %v, want %+v", got, err, want)
	}
	for file, want := range map[string]string{"Chart.yaml": page, "templates/a.yaml": "kind: A\n",
		".helmignore": "ci/\n"} {
		if text, err := os.ReadFile(filepath.Join(got.Dir, file)); string(text) != want || err != nil {
			t.Errorf("%s is %q, error %v", file, text, err)
		}
	}
	if _, err := os.Stat(filepath.Join(got.Dir, "README.md")); !os.IsNotExist(err) {
		t.Errorf("README.md was copied: %v", err)
	}
	all, err := All(root)
	if diff := cmp.Diff([]Chart{want}, all); diff != "" || err != nil {
		t.Errorf("all (-want +got), error %v:\n%s", err, diff)
	}
}

func TestCutNeverOverwrites(t *testing.T) {
	root := repository(t, "page", page)
	first, err := Cut(root, "page")
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "charts/page/templates/a.yaml"), "kind: B\n")
	if _, err := Cut(root, "page"); err == nil ||
		!strings.Contains(err.Error(), "is there already: a released version does not change") {
		t.Errorf("the second time: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(first.Dir, "templates/a.yaml")); string(text) != "kind: A\n" ||
		err != nil {
		t.Errorf("the released chart is now %q, error %v", text, err)
	}
	put(t, filepath.Join(root, "charts/page/Chart.yaml"), strings.Replace(page, "1.2.3", "1.3.0", 1))
	if second, err := Cut(root, "page"); err != nil || second.Version != "1.3.0" {
		t.Errorf("the next version: %+v, %v", second, err)
	}
}

func TestCutRefuses(t *testing.T) {
	root := repository(t, "page", strings.Replace(page, "page", "sheet", 1))
	if _, err := Cut(root, "page"); err == nil || !strings.Contains(err.Error(), "its Chart.yaml calls it sheet") {
		t.Errorf("another name: %v", err)
	}
	if _, err := Cut(root, "absent"); err == nil || !strings.Contains(err.Error(), "loading chart") {
		t.Errorf("no chart: %v", err)
	}
	put(t, filepath.Join(root, "ci/released"), "a file")
	put(t, filepath.Join(root, "charts/page/Chart.yaml"), page)
	if _, err := Cut(root, "page"); err == nil || !strings.Contains(err.Error(), "cutting chart page") {
		t.Errorf("a file in the way: %v", err)
	}
}

func TestAllRefusesOtherCharts(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, "ci/released/page/1.0.0/Chart.yaml"), page)
	if _, err := All(root); err == nil || !strings.Contains(err.Error(), "1.0.0 holds page 1.2.3") {
		t.Errorf("another version: %v", err)
	}
	if all, err := All(t.TempDir()); len(all) != 0 || err != nil {
		t.Errorf("without a release: %v, %v", all, err)
	}
}
