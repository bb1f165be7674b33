package released

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAll(t *testing.T) {
	root := t.TempDir()
	if all, err := All(root); len(all) != 0 || err != nil {
		t.Errorf("without a release: %v, %v", all, err)
	}
	for _, version := range []string{"1.2.3", "1.3.0"} {
		dir := filepath.Join(root, "ci/released/page", version)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		chart := "apiVersion: v2\nname: page\nversion: 1.2.3\n"
		if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte(chart), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := All(root)
		if version == "1.3.0" {
			if err == nil || !strings.Contains(err.Error(), "1.3.0 holds page 1.2.3") {
				t.Errorf("another version: %v", err)
			}
			break
		}
		if diff := cmp.Diff([]Chart{{Name: "page", Version: version, Dir: dir}}, all); diff != "" || err != nil {
			t.Errorf("all (-want +got), error %v:\n%s", err, diff)
		}
	}
}
