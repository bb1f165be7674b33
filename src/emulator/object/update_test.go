package object

import (
	"maps"
	"testing"
)

func TestUpdateRules(t *testing.T) {
	replace, merge := UpdateRules{}, UpdateRules{Merge: true}
	sent, current := "sent", "current"
	tests := map[string]struct{ got, want string }{
		"replace, sent":     {Value(replace, &sent, current), "sent"},
		"replace, not sent": {Value(replace, nil, current), ""},
		"merge, sent":       {Value(merge, &sent, current), "sent"},
		"merge, not sent":   {Value(merge, nil, current), "current"},
		"kept, sent":        {Kept(&sent, current), "sent"},
		"kept, not sent":    {Kept(nil, current), "current"},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", name, test.got, test.want)
		}
	}
	if Optional(replace, nil, &current) != nil || Optional(merge, nil, &current) != &current ||
		Optional(merge, &sent, &current) != &sent {
		t.Error("optional does not follow the rules")
	}
	old := map[string]string{"a": "b"}
	for name, test := range map[string]struct{ got, want map[string]string }{
		"replace, not sent": {StringMap(replace, nil, old), map[string]string{}},
		"merge, not sent":   {StringMap(merge, nil, old), old},
		"merge, empty":      {StringMap(merge, map[string]string{}, old), map[string]string{}},
		"replace, sent":     {StringMap(replace, old, nil), old},
	} {
		if !maps.Equal(test.got, test.want) || test.got == nil {
			t.Errorf("labels, %s: %v, want %v", name, test.got, test.want)
		}
	}
}
