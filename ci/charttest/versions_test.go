package charttest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// found finds the first group of a pattern in a file.
func found(t *testing.T, file, pattern string) string {
	t.Helper()
	groups := regexp.MustCompile(pattern).FindStringSubmatch(readCheckout(t, file))
	if groups == nil {
		t.Fatalf("%s has nothing like %s", file, pattern)
	}
	return groups[1]
}

// minor finds the minor version of Kubernetes that a file names, as the first group of a pattern.
func minor(t *testing.T, file, pattern string) int {
	t.Helper()
	number, err := strconv.Atoi(found(t, file, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// supported are the oldest and the newest minor version that the chart is for.
func supported(t *testing.T) (oldest, newest int) {
	t.Helper()
	return minor(t, "charts/thalassa-ccm/Chart.yaml", `(?m)^kubeVersion: ">=1\.([0-9]+)\.0-0"$`),
		minor(t, "src/go.mod", `(?m)^\tk8s\.io/cloud-provider v0\.([0-9]+)\.`)
}

// kubeVersions are clusters of every supported minor version, one of a vendor among them.
func kubeVersions(t *testing.T) []string {
	t.Helper()
	oldest, newest := supported(t)
	versions := []string{fmt.Sprintf("v1.%d.2-vendor.1", oldest)}
	for version := oldest; version <= newest; version++ {
		versions = append(versions, fmt.Sprintf("v1.%d.0", version))
	}
	return versions
}

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
