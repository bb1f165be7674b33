package emulator

import (
	"maps"
	"testing"
)

func TestUpdateRules(t *testing.T) {
	replace, merge := rules{}, rules{merge: true}
	sent, current := "sent", "current"
	tests := map[string]struct{ got, want string }{
		"replace, sent":     {value(replace, &sent, current), "sent"},
		"replace, not sent": {value(replace, nil, current), ""},
		"merge, sent":       {value(merge, &sent, current), "sent"},
		"merge, not sent":   {value(merge, nil, current), "current"},
		"kept, sent":        {kept(&sent, current), "sent"},
		"kept, not sent":    {kept(nil, current), "current"},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", name, test.got, test.want)
		}
	}
	if optional(replace, nil, &current) != nil || optional(merge, nil, &current) != &current || optional(merge, &sent, &current) != &sent {
		t.Error("optional does not follow the rules")
	}
	old := map[string]string{"a": "b"}
	for name, test := range map[string]struct{ got, want map[string]string }{
		"replace, not sent": {stringMap(replace, nil, old), map[string]string{}},
		"merge, not sent":   {stringMap(merge, nil, old), old},
		"merge, empty":      {stringMap(merge, map[string]string{}, old), map[string]string{}},
		"replace, sent":     {stringMap(replace, old, nil), old},
	} {
		if !maps.Equal(test.got, test.want) || test.got == nil {
			t.Errorf("labels, %s: %v, want %v", name, test.got, test.want)
		}
	}
}
