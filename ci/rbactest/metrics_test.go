package rbactest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// wantDescribed wants every metric of the program's own that a running program shows to be in a table of the reference
// page, with its type and help. The page is made from the same collectors, but the types of some are only seen here.
func wantDescribed(t *testing.T, text string) {
	t.Helper()
	page, err := os.ReadFile(checkout.Path(t, "docs/reference/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := ownMetrics(text)
	if len(shown) == 0 {
		t.Error("the program shows no metrics of its own")
	}
	if !strings.Contains(text, "\nprocess_start_time_seconds ") {
		t.Error("the program does not show when it started, to which the page refers")
	}
	for name, is := range shown {
		row := regexp.MustCompile("(?m)^\\| `" + name + "` \\| " + is.kind + " \\| [^|]*\\| " +
			regexp.QuoteMeta(is.help) + " \\|$")
		if !row.Match(page) {
			t.Errorf("the page has no %s %s: %s", is.kind, name, is.help)
		}
	}
}

// shownMetric is what an exposition says about a metric.
type shownMetric struct{ kind, help string }

// ownMetrics are the metrics in an exposition that are no libraries', by name.
func ownMetrics(text string) map[string]shownMetric {
	found := map[string]shownMetric{}
	for _, match := range regexp.MustCompile(`(?m)^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)$`).FindAllStringSubmatch(text,
		-1) {
		for _, prefix := range []string{"cloudprovider_", "service_lb_", "service_controller_", "node_lifecycle_",
			"cloud_node_lifecycle_controller_", "cloud_controller_manager_"} {
			if strings.HasPrefix(match[1], prefix) {
				found[match[1]] = shownMetric{kind: match[3], help: strings.ReplaceAll(match[2], `\\`, `\`)}
			}
		}
	}
	return found
}

// wantBounded wants no label to contain the name or the identity of an object.
func wantBounded(t *testing.T, text string, objects ...string) {
	t.Helper()
	for _, object := range objects {
		form := regexp.MustCompile(`(?m)^.*\{.*` + regexp.QuoteMeta(object) + `.*$`)
		if series := form.FindString(text); series != "" {
			t.Errorf("a label contains %s of an object: %s", object, series)
		}
	}
}

func TestOwnMetrics(t *testing.T) {
	got := ownMetrics("# HELP service_lb_drifted Some.\n# TYPE service_lb_drifted gauge\nservice_lb_drifted 0\n# " +
		"HELP go_info [STABLE] Go.\n# TYPE go_info gauge\n")
	if len(got) != 1 || got["service_lb_drifted"] != (shownMetric{"gauge", "Some."}) {
		t.Errorf("own metrics are %+v", got)
	}
}
