package clouds

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// TestEachCloudIsDescribed: the description of the chart, and the first sentence of the README, name each cloud.
func TestEachCloudIsDescribed(t *testing.T) {
	for file, expression := range map[string]string{
		"charts/thalassa-ccm/Chart.yaml": `(?m)^description: (.*)$`,
		"charts/thalassa-ccm/README.md":  `(?s)^# .*?\n\n(.*?)\n\n`,
		"README.md":                      `(?s)^# .*?\n\n(.*?)\n\n`,
	} {
		described := regexp.MustCompile(expression).FindStringSubmatch(read(t, file))
		if described == nil {
			t.Fatalf("%s has no description", file)
		}
		text := strings.ToLower(strings.ReplaceAll(described[1], " ", ""))
		for _, one := range Providers("test") {
			if !strings.Contains(text, one.Name) {
				t.Errorf("%s does not name the cloud %s: %s", file, one.Name, described[1])
			}
		}
	}
}

// TestGuideNamesTheList: the guide that describes how to add a cloud names the file with the list of clouds.
func TestGuideNamesTheList(t *testing.T) {
	const list = "src/cmd/clouds/clouds.go"
	if guide := read(t, "docs/guides/add-a-cloud.md"); strings.Count(guide, "`"+list+"`") < 2 ||
		strings.Contains(guide, "main.go") {
		t.Errorf("the guide does not send its readers to %s", list)
	}
	if !strings.Contains(read(t, list), "func Providers(") {
		t.Errorf("%s has no list", list)
	}
}

// read returns the content of a file of the checkout.
func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(checkout.Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
