package balancer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// TestRecordIsWrittenAndRead: what an object remembers is there again after a restart, and what others wrote on it
// stays.
func TestRecordIsWrittenAndRead(t *testing.T) {
	others := resource.Labels{"note": "x"}
	for name, tt := range map[string]struct {
		record     lastApplied
		over, want resource.Labels
	}{
		"nothing": {lastApplied{}, others, others},
		"made by us": {lastApplied{created: true}, others,
			resource.Labels{"note": "x", annotationCreatedBy: createdByUs}},
		"a setting that is one thing": {lastApplied{}.with("policy"), nil,
			resource.Labels{annotationApplied: `{"policy":[]}`}},
		"values, sorted": {lastApplied{}.with("groups", "b", "a"), nil,
			resource.Labels{annotationApplied: `{"groups":["a","b"]}`}},
		"the last one is taken away": {lastApplied{}.with("policy").without("policy"),
			resource.Labels{"note": "x", annotationApplied: `{"policy":[]}`}, others},
	} {
		got := tt.record.mergedInto(tt.over)
		again := lastAppliedOf(got).mergedInto(tt.over)
		if diff := cmp.Diff(tt.want, got) + cmp.Diff(got, again); diff != "" {
			t.Errorf("%s: annotations (-want +got), read and written again (-before +after):\n%s", name, diff)
		}
	}
	for _, unreadable := range []string{"{", `["policy"]`} {
		got := lastAppliedOf(resource.Labels{annotationCreatedBy: "terraform", annotationApplied: unreadable})
		if got.created || len(got.applied) > 0 {
			t.Errorf("of %s it reads %+v, want nothing", unreadable, got)
		}
	}
}
