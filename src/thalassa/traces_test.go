package thalassa

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

func TestTracesOf(t *testing.T) {
	tests := map[string]struct {
		annotations inventory.Labels
		created     bool
		applied     map[string][]string
	}{
		"nothing":                  {nil, false, nil},
		"made by us":               {inventory.Labels{annotationCreatedBy: createdByUs}, true, nil},
		"made by somebody else":    {inventory.Labels{annotationCreatedBy: "terraform"}, false, nil},
		"only others' annotations": {inventory.Labels{"note": "x"}, false, nil},
		"something of ours on it": {inventory.Labels{annotationApplied: `{"reserved-ip":["rip-1"],"policy":[]}`}, false,
			map[string][]string{"reserved-ip": {"rip-1"}, "policy": {}}},
		"of which nothing can be read": {inventory.Labels{annotationCreatedBy: createdByUs, annotationApplied: "{"},
			true, nil},
		"of another shape": {inventory.Labels{annotationApplied: `["policy"]`}, false, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tracesOf(tt.annotations)
			if got.created != tt.created || cmp.Diff(tt.applied, got.applied) != "" {
				t.Errorf("traces = %+v, want created %t, applied %v", got, tt.created, tt.applied)
			}
		})
	}
}

// TestTracesAreWrittenAndRead: what an object remembers is there again after a restart, and what others wrote on it
// stays.
func TestTracesAreWrittenAndRead(t *testing.T) {
	others := inventory.Labels{"note": "x"}
	tests := map[string]struct {
		traces traces
		over   inventory.Labels
		want   inventory.Labels
	}{
		"nothing":                  {traces{}, others, others},
		"on an object without any": {traces{created: true}, nil, inventory.Labels{annotationCreatedBy: createdByUs}},
		"made by us": {traces{created: true}, others,
			inventory.Labels{"note": "x", annotationCreatedBy: createdByUs}},
		"a setting that is one thing": {traces{}.with("policy"), nil, inventory.Labels{annotationApplied: `{"policy":[]}`}},
		"values, sorted":              {traces{}.with("groups", "b", "a"), nil, inventory.Labels{annotationApplied: `{"groups":["a","b"]}`}},
		"the last one is taken away":  {traces{}.with("policy").without("policy"), inventory.Labels{"note": "x", annotationApplied: `{"policy":[]}`}, others},
		"one of two is taken away": {traces{}.with("policy").with("groups", "a").without("policy"), nil,
			inventory.Labels{annotationApplied: `{"groups":["a"]}`}},
		"one that is not there is taken away": {traces{}.without("policy"), others, others},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := maps.Clone(tt.over)
			got := tt.traces.over(tt.over)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.over); diff != "" {
				t.Errorf("the annotations that were there are changed (-was +is):\n%s", diff)
			}
			if again := tracesOf(got).over(tt.over); cmp.Diff(got, again) != "" {
				t.Errorf("read and written again they are %v, want %v", again, got)
			}
		})
	}
}

// TestTracesAreCopied: what one object remembers never changes because of another plan for it.
func TestTracesAreCopied(t *testing.T) {
	one := traces{}.with("groups", "a")
	two := one.with("groups", "b").with("policy")
	three := two.without("groups")
	if !one.has("groups") || one.has("policy") || one.applied["groups"][0] != "a" || !two.has("groups") ||
		!two.has("policy") || three.has("groups") {
		t.Errorf("traces %v, %v, %v", one.applied, two.applied, three.applied)
	}
}

// TestAim: asked for, not readable, not asked for, on what is ours and on what was adopted.
func TestAim(t *testing.T) {
	asked := annotation.Setting[string]{Given: true, Value: "asked"}
	unreadable := annotation.Setting[string]{Given: true, Invalid: true, Value: "default"}
	absent := annotation.Setting[string]{Value: "default"}
	recorded := traces{}.with("policy")
	tests := map[string]struct {
		memo    memo
		setting annotation.Setting[string]
		want    string
		records bool
	}{
		"ours, asked for":              {memo{}, asked, "asked", false},
		"ours, not readable":           {memo{}, unreadable, "observed", false},
		"ours, not asked for":          {memo{}, absent, "default", false},
		"adopted, asked for":           {memo{free: true}, asked, "asked", true},
		"adopted, not readable":        {memo{free: true}, unreadable, "observed", false},
		"adopted, not asked for":       {memo{free: true}, absent, "observed", false},
		"adopted, asked for again":     {memo{recorded, true}, asked, "asked", true},
		"adopted, no longer readable":  {memo{recorded, true}, unreadable, "observed", true},
		"adopted, no longer asked for": {memo{recorded, true}, absent, "default", false},
		"adopted, another setting was asked for": {memo{traces{}.with("idle-timeout"), true}, absent, "observed",
			false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := aim(&tt.memo, "policy", tt.setting, "observed"); got != tt.want {
				t.Errorf("aims at %q, want %q", got, tt.want)
			}
			if tt.memo.has("policy") != tt.records {
				t.Errorf("it remembers %v, want that it does: %t", tt.memo.applied, tt.records)
			}
		})
	}
}
