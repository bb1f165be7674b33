package charttest

import (
	"strings"
	"testing"
)

// TestGuideNamesWhatTheServedClusterSees: whatever part tenant makes there is in the guide's table, by its kind.
func TestGuideNamesWhatTheServedClusterSees(t *testing.T) {
	_, rest, found := strings.Cut(readCheckout(t, "docs/guides/managed.md"), "\n## What the served cluster sees\n")
	table, _, ends := strings.Cut(rest, "\n\nUsers of the served cluster cannot ")
	if !found || !ends {
		t.Fatal("the guide has no section about what the served cluster sees")
	}
	made := objects(t, minimal(t, "profile=managed", "part=tenant", "tenant.subject.name=ccm",
		"tenant.subject.kind=User"))
	if len(made) < 4 {
		t.Errorf("part tenant has %d objects", len(made))
	}
	for _, object := range made {
		kind, name := object.GetObjectKind().GroupVersionKind().Kind, accessor(t, object).GetName()
		if !strings.Contains(table, kind+" ") || !strings.Contains(table, "`"+name+"`") {
			t.Errorf("the guide's table does not name %s %s:\n%s", kind, name, table)
		}
	}
}
