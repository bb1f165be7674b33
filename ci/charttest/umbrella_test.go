package charttest

import (
	"os"
	"path/filepath"
	"testing"
)

const umbrellaChart = `apiVersion: v2
name: platform
version: 1.0.0
dependencies:
  - name: thalassa-ccm
    version: "*"
    condition: thalassa-ccm.enabled
`

// umbrella makes a chart that includes ours, as a platform team would, and
// returns its directory.
func umbrella(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte(umbrellaChart), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "charts", "thalassa-ccm"), os.DirFS(chartDir(t))); err != nil {
		t.Fatal(err)
	}
	return dir
}
