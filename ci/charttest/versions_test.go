package charttest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// TestVersionsAgree: what is said about versions of Kubernetes is what the chart's kubeVersion, the program's libraries
// and the tests' own control plane are.
func TestVersionsAgree(t *testing.T) {
	oldest, newest := supported(t)
	const required = `(?m)^\tk8s\.io/kubernetes v1\.([0-9]+)\.`
	if lab := minor(t, "tools/lab/go.mod", required); lab != newest {
		t.Errorf("the tests' control plane is 1.%d, want the newest that is supported, 1.%d", lab, newest)
	}
	const exactly = `(?m)^\tk8s\.io/kubernetes v(\S+)`
	var older []string
	nightly := readCheckout(t, ".github/workflows/nightly.yaml")
	for version := oldest; version <= newest; version++ {
		file := fmt.Sprintf("tools/lab/k8s-1.%d.mod", version)
		if version < newest && minor(t, file, required) != version {
			t.Errorf("%s requires another version of Kubernetes", file)
		}
		if version < newest {
			older = append(older, found(t, file, exactly))
		}
		if !strings.Contains(nightly, fmt.Sprintf("%q", fmt.Sprintf("1.%d", version))) {
			t.Errorf("no version 1.%d in the matrix of GitHub's nightly workflow", version)
		}
	}
	if want := fmt.Sprintf("v1.%d.0", newest); chart.DefaultKubeVersion != want {
		t.Errorf("charts are rendered for %s, want %s", chart.DefaultKubeVersion, want)
	}
	for file, want := range map[string][]string{
		"docs/explanation/versions.md": {
			fmt.Sprintf("is the oldest one, 1.%d,", oldest), fmt.Sprintf("the program is built with, 1.%d.", newest),
			fmt.Sprintf("with the API server of 1.%d,", newest), "\n| " + strings.Join(older, ", ") + " |",
			"\n| " + found(t, "tools/lab/go.mod", exactly) + " |",
		},
		"charts/thalassa-ccm/README.md": {fmt.Sprintf("Supported are Kubernetes 1.%d to 1.%d\n", oldest, newest)},
	} {
		for _, text := range want {
			if !strings.Contains(readCheckout(t, file), text) {
				t.Errorf("%s does not say %q", file, text)
			}
		}
	}
}
