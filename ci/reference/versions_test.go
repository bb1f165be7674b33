package reference

import (
	"os"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// TestVersionsOfPages: no page says that something is new in a version that is later than that of the charts.
func TestVersionsOfPages(t *testing.T) {
	chart, err := os.ReadFile(checkout.Path(t, "charts/thalassa-ccm/Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	current := regexp.MustCompile(`(?m)^version: (.+)$`).FindStringSubmatch(string(chart))
	if current == nil {
		t.Fatal("the chart has no version")
	}
	since := regexp.MustCompile(`(?i)\b(?:since|new in) (?:version )?v?(\d+\.\d+\.\d+)|\| (\d+\.\d+\.\d+) \|\n`)
	found := 0
	for _, page := range append(filesBelow(t, "docs", ".md"), filesBelow(t, "docs", ".json")...) {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range since.FindAllStringSubmatch(string(content), -1) {
			found++
			if named := version.MustParseGeneric(match[1] + match[2]); version.MustParseGeneric(current[1]).
				LessThan(named) {
				t.Errorf("%s says %q, and the charts have version %s", page, match[0], current[1])
			}
		}
	}
	if found == 0 {
		t.Error("no page names a version")
	}
}
