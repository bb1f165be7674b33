package generate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chartvalues"
)

// TestCloudConfigRules wants every bound and pattern of the program to reach the chart's schema, with empty text for
// "left out".
func TestCloudConfigRules(t *testing.T) {
	rules, err := cloudConfigRules()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := configfile.Describe(cloudconfig.Default(), cloudconfig.Keys())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		found := rules["cloudConfig."+entry.Path]
		if entry.Type == configfile.TypeNumber && (found["minimum"] != entry.Rule.Min ||
			found["maximum"] != entry.Rule.Max) {
			t.Errorf("%s: %v, want %d to %d", entry.Path, found, entry.Rule.Min, entry.Rule.Max)
		}
		pattern, _ := found["pattern"].(string)
		if slices.Contains(saidInWords(), "cloudConfig."+entry.Path) {
			continue
		}
		if entry.Type == configfile.TypeText && entry.Rule.Pattern != "" &&
			(!strings.Contains(pattern, entry.Rule.Pattern) || orEmpty(pattern) != pattern) {
			t.Errorf("%s: pattern %q, want one that contains %q and matches empty text", entry.Path, pattern,
				entry.Rule.Pattern)
		}
		if entry.Type == configfile.TypeMapping && ((found["patternProperties"] == nil && found["properties"] == nil) ||
			found["additionalProperties"] != false) {
			t.Errorf("%s: %v, want rules of keys and values", entry.Path, found)
		}
	}
}

func TestChartFiles(t *testing.T) {
	page := "# A\n\n" + chartvalues.Start + chartvalues.End
	text := "cloudConfig:\n  # Required. Organisation of the machines. An identity.\n  organisation: \"\"\n"
	files, err := renderChart("thalassa-ccm", []byte(text), []byte(page), nil)
	if err != nil {
		t.Fatal(err)
	}
	readme := string(files["charts/thalassa-ccm/README.md"])
	if want := "| `cloudConfig.organisation` | required | Organisation of the machines |"; !strings.Contains(readme,
		want) {
		t.Errorf("the README lacks %s:\n%s", want, readme)
	}
	var schema struct {
		Properties map[string]struct {
			Properties map[string]struct{ Pattern string }
		}
	}
	if err := json.Unmarshal(files["charts/thalassa-ccm/values.schema.json"], &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Properties["cloudConfig"].Properties["organisation"].Pattern == "" {
		t.Error("what the program wants of the organisation is not in the schema")
	}
}

func TestChartFilesRefuse(t *testing.T) {
	page := []byte(chartvalues.Start + chartvalues.End)
	for name, test := range map[string]struct {
		text, page, removed []byte
		want                string
	}{
		"no comment":         {[]byte("# A.\na: 1\nb: 1\n"), page, nil, "describing b"},
		"no type":            {[]byte("# A.\na: null\n"), page, nil, "making the schema of a"},
		"no place for table": {[]byte("# A.\na: 1\n"), []byte("# A\n"), nil, "inserting the table"},
		"no list of paths":   {[]byte("# A.\na: 1\n"), page, []byte("- a"), "reading the chart's removed values"},
		"removed, but there": {[]byte("# A.\na: 1\n"), page, []byte("a: set b instead"), "it is in values.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := renderChart("thalassa-ccm", test.text, test.page, test.removed); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}
