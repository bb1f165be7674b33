package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMerge: what is wanted is set, what was set and is not wanted goes, and what others set stays.
func TestMerge(t *testing.T) {
	type m = map[string]string
	for name, tt := range map[string]struct {
		have, wanted, before m
		want                 merged
	}{
		"nothing":                           {nil, nil, nil, merged{}},
		"a new one":                         {nil, m{"a": "1"}, nil, merged{set: m{"a": "1"}, applied: m{"a": "1"}}},
		"as it was set":                     {m{"a": "1"}, m{"a": "1"}, m{"a": "1"}, merged{applied: m{"a": "1"}}},
		"another value":                     {m{"a": "1"}, m{"a": "2"}, m{"a": "1"}, merged{set: m{"a": "2"}, applied: m{"a": "2"}}},
		"not wanted any more":               {m{"a": "1"}, nil, m{"a": "1"}, merged{drop: []string{"a"}}},
		"not wanted, and gone already":      {nil, nil, m{"a": "1"}, merged{}},
		"removed by hand":                   {nil, m{"a": "1"}, m{"a": "1"}, merged{set: m{"a": "1"}, applied: m{"a": "1"}}},
		"a user's, of the same value":       {m{"a": "1"}, m{"a": "1"}, nil, merged{}},
		"a user's, of another value":        {m{"a": "x"}, m{"a": "1"}, nil, merged{foreign: []string{"a"}}},
		"a user's, that is not wanted":      {m{"a": "x"}, nil, nil, merged{}},
		"changed by a user":                 {m{"a": "x"}, m{"a": "1"}, m{"a": "1"}, merged{foreign: []string{"a"}}},
		"changed by a user, and not wanted": {m{"a": "x"}, nil, m{"a": "1"}, merged{}},
		"changed by a user to what comes":   {m{"a": "2"}, m{"a": "2"}, m{"a": "1"}, merged{applied: m{"a": "2"}}},
		"an empty value":                    {m{"a": ""}, m{"a": ""}, m{"a": ""}, merged{applied: m{"a": ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.want.set == nil {
				tt.want.set = m{}
			}
			if tt.want.applied == nil {
				tt.want.applied = m{}
			}
			if diff := cmp.Diff(tt.want, merge(tt.have, tt.wanted, tt.before), cmp.AllowUnexported(merged{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAppliedIsReadAsItIsWritten: and what somebody broke says nothing, so that nothing is removed.
func TestAppliedIsReadAsItIsWritten(t *testing.T) {
	a := applied{Labels: map[string]string{"b": "2", "a": "1"}, Taints: map[string]string{"gpu:NoSchedule": ""}}
	const want = `{"labels":{"a":"1","b":"2"},"taints":{"gpu:NoSchedule":""}}`
	if got := a.String(); got != want {
		t.Errorf("written %s, want %s", got, want)
	}
	if diff := cmp.Diff(a, readApplied(want)); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	for _, text := range []string{"", "{", `[]`, `{"labels":1}`} {
		if diff := cmp.Diff(applied{}, readApplied(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if got := (applied{}).String(); got != "" {
		t.Errorf("nothing is written as %q", got)
	}
}
