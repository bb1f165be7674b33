package charttest

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// found finds the first group of a pattern in a file.
func found(tb testing.TB, file, pattern string) string {
	tb.Helper()
	content, err := os.ReadFile(checkout.Path(tb, file))
	if err != nil {
		tb.Fatal(err)
	}
	groups := regexp.MustCompile(pattern).FindStringSubmatch(string(content))
	if groups == nil {
		tb.Fatalf("%s has nothing like %s", file, pattern)
	}
	return groups[1]
}

// minor finds the minor version of Kubernetes that a file names, as the first group of a pattern.
func minor(tb testing.TB, file, pattern string) int {
	tb.Helper()
	number, err := strconv.Atoi(found(tb, file, pattern))
	if err != nil {
		tb.Fatal(err)
	}
	return number
}

// supported are the oldest and the newest minor version that the chart is for.
func supported(tb testing.TB) (oldest, newest int) {
	tb.Helper()
	return minor(tb, "charts/thalassa-ccm/Chart.yaml", `(?m)^kubeVersion: ">=1\.([0-9]+)\.0-0"$`),
		minor(tb, "src/go.mod", `(?m)^\tk8s\.io/cloud-provider v0\.([0-9]+)\.`)
}

// KubeVersions are clusters of every supported minor version, one of a vendor among them. The quick tier has that,
// which is the oldest, and the newest.
func KubeVersions(tb testing.TB) []string {
	tb.Helper()
	oldest, newest := supported(tb)
	versions := []string{fmt.Sprintf("v1.%d.2-vendor.1", oldest)}
	for version := tier.Pick(newest, oldest); version <= newest; version++ {
		versions = append(versions, fmt.Sprintf("v1.%d.0", version))
	}
	return versions
}

// MoreAPIs are such as charts ask for: of an operator, with and without a kind, and one that Kubernetes has no more.
func MoreAPIs() []string {
	return []string{
		"monitoring.coreos.com/v1", "monitoring.coreos.com/v1/ServiceMonitor", "monitoring.coreos.com/v1/PodMonitor",
		"monitoring.coreos.com/v1/PrometheusRule", "policy/v1beta1/PodDisruptionBudget",
	}
}
