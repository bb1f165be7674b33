package monitoring

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	logsapi "k8s.io/component-base/logs/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

func TestMain(m *testing.M) {
	// Recordings and renders leave much behind, and the default collects all the time. The limit is for machines with
	// little memory.
	const percent, limit = 400, 1 << 30
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(limit)
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged // several processes run in this one
	m.Run()
}

// readCheckout reads a file of the repository, named from its root.
func readCheckout(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(checkout.Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ironKubeconfig writes the kubeconfig of IronCore that the chart's values files have, and returns its path.
func ironKubeconfig(t *testing.T) string {
	t.Helper()
	file := readCheckout(t, "charts/thalassa-ccm/ci/ironcore-hosting-values.yaml")
	var values struct {
		IronCore struct {
			Kubeconfig struct{ Content string }
		}
	}
	if err := yaml.Unmarshal([]byte(file), &values); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	writeFile(t, path, values.IronCore.Kubeconfig.Content)
	return path
}
