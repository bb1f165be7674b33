package balancer

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

func TestTracesOf(t *testing.T) {
	tests := map[string]struct {
		annotations resource.Labels
		created     bool
		applied     map[string][]string
	}{
		"nothing":                  {nil, false, nil},
		"made by us":               {resource.Labels{annotationCreatedBy: createdByUs}, true, nil},
		"made by somebody else":    {resource.Labels{annotationCreatedBy: "terraform"}, false, nil},
		"only others' annotations": {resource.Labels{"note": "x"}, false, nil},
		"something of ours on it": {resource.Labels{annotationApplied: `{"reserved-ip":["rip-1"],"policy":[]}`}, false,
			map[string][]string{"reserved-ip": {"rip-1"}, "policy": {}}},
		"of which nothing can be read": {resource.Labels{annotationCreatedBy: createdByUs, annotationApplied: "{"},
			true, nil},
		"of another shape": {resource.Labels{annotationApplied: `["policy"]`}, false, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := lastAppliedOf(tt.annotations)
			if got.created != tt.created || cmp.Diff(tt.applied, got.applied) != "" {
				t.Errorf("traces = %+v, want created %t, applied %v", got, tt.created, tt.applied)
			}
		})
	}
}

// TestRecordIsWrittenAndRead: what an object remembers is there again after a restart, and what others wrote on it
// stays.
func TestRecordIsWrittenAndRead(t *testing.T) {
	others := resource.Labels{"note": "x"}
	tests := map[string]struct {
		traces lastApplied
		over   resource.Labels
		want   resource.Labels
	}{
		"nothing": {lastApplied{}, others, others},
		"on an object without any": {lastApplied{created: true}, nil,
			resource.Labels{annotationCreatedBy: createdByUs}},
		"made by us": {lastApplied{created: true}, others,
			resource.Labels{"note": "x", annotationCreatedBy: createdByUs}},
		"a setting that is one thing": {lastApplied{}.with("policy"), nil,
			resource.Labels{annotationApplied: `{"policy":[]}`}},
		"values, sorted": {lastApplied{}.with("groups", "b", "a"), nil,
			resource.Labels{annotationApplied: `{"groups":["a","b"]}`}},
		"the last one is taken away": {lastApplied{}.with("policy").without("policy"),
			resource.Labels{"note": "x", annotationApplied: `{"policy":[]}`}, others},
		"one of two is taken away": {lastApplied{}.with("policy").with("groups", "a").without("policy"), nil,
			resource.Labels{annotationApplied: `{"groups":["a"]}`}},
		"one that is not there is taken away": {lastApplied{}.without("policy"), others, others},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := maps.Clone(tt.over)
			got := tt.traces.mergedInto(tt.over)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.over); diff != "" {
				t.Errorf("the annotations that were there are changed (-was +is):\n%s", diff)
			}
			if again := lastAppliedOf(got).mergedInto(tt.over); cmp.Diff(got, again) != "" {
				t.Errorf("read and written again they are %v, want %v", again, got)
			}
		})
	}
}

// TestRecordIsCopied: what one object remembers never changes because of another plan for it.
func TestRecordIsCopied(t *testing.T) {
	one := lastApplied{}.with("groups", "a")
	two := one.with("groups", "b").with("policy")
	three := two.without("groups")
	if !one.has("groups") || one.has("policy") || one.applied["groups"][0] != "a" || !two.has("groups") ||
		!two.has("policy") || three.has("groups") {
		t.Errorf("traces %v, %v, %v", one.applied, two.applied, three.applied)
	}
}

// TestDesiredValue: asked for, not readable, not asked for, on what is ours and on what was adopted.
func TestDesiredValue(t *testing.T) {
	asked := annotation.Setting[string]{Given: true, Value: "asked"}
	unreadable := annotation.Setting[string]{Given: true, Invalid: true, Value: "default"}
	absent := annotation.Setting[string]{Value: "default"}
	recorded := lastApplied{}.with("policy")
	tests := map[string]struct {
		memo    recordUpdate
		setting annotation.Setting[string]
		want    string
		records bool
	}{
		"ours, asked for":              {recordUpdate{}, asked, "asked", false},
		"ours, not readable":           {recordUpdate{}, unreadable, "observed", false},
		"ours, not asked for":          {recordUpdate{}, absent, "default", false},
		"adopted, asked for":           {recordUpdate{adopted: true}, asked, "asked", true},
		"adopted, not readable":        {recordUpdate{adopted: true}, unreadable, "observed", false},
		"adopted, not asked for":       {recordUpdate{adopted: true}, absent, "observed", false},
		"adopted, asked for again":     {recordUpdate{recorded, true}, asked, "asked", true},
		"adopted, no longer readable":  {recordUpdate{recorded, true}, unreadable, "observed", true},
		"adopted, no longer asked for": {recordUpdate{recorded, true}, absent, "default", false},
		"adopted, another setting was asked for": {recordUpdate{lastApplied{}.with("max-connections"), true}, absent,
			"observed",
			false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := desiredValue(&tt.memo, "policy", tt.setting, "observed"); got != tt.want {
				t.Errorf("aims at %q, want %q", got, tt.want)
			}
			if tt.memo.has("policy") != tt.records {
				t.Errorf("it remembers %v, want that it does: %t", tt.memo.applied, tt.records)
			}
		})
	}
}

// TestTextsOfChanges: the plan describes labels, the annotation on-delete and the last-applied record in plain words.
func TestTextsOfChanges(t *testing.T) {
	annotations := func(settings ...string) resource.Labels {
		var record lastApplied
		for _, setting := range settings {
			name, value, _ := strings.Cut(setting, " ")
			record = record.with(name, slices.DeleteFunc([]string{value}, func(v string) bool { return v == "" })...)
		}
		return record.mergedInto(nil)
	}
	tests := map[string]struct {
		from, to resource.Labels
		want     string
	}{
		"nothing": {annotations("labels team"), annotations("labels team"), ""},
		"a label": {annotations("labels team"), annotations("labels other"),
			"the label team is no longer managed by this Service"},
		"a setting":   {annotations("subnet"), nil, "the subnet is no longer managed by this Service"},
		"a new entry": {nil, annotations("subnet"), ""},
		"on-delete":   {nil, annotations(settingRetain), ""},
	}
	for name, tt := range tests {
		var c changes
		if addRecordChanges(&c, tt.from, tt.to); c.String() != tt.want {
			t.Errorf("%s: %q, want %q", name, c, tt.want)
		}
	}
	var c changes
	addChange(&c, "on-delete:", lastAppliedOf(nil).onDelete(), lastAppliedOf(annotations(settingRetain)).onDelete())
	addMissingLabels(&c, nil, resource.Labels{"team": "web"})
	addMissingLabels(&c, resource.Labels{"team": "web"}, resource.Labels{"team": "web"})
	if want := "on-delete: delete becomes keep, labels of the Service are missing"; c.String() != want {
		t.Errorf("%q, want %q", c, want)
	}
}
