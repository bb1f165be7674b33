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

// Umbrella makes a chart that includes thalassa-ccm, as a platform team would, and returns its folder.
func Umbrella(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte(umbrellaChart), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "charts", "thalassa-ccm"), os.DirFS(CCM.Dir(tb))); err != nil {
		tb.Fatal(err)
	}
	return dir
}
