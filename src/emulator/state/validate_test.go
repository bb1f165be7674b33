package state

import (
	"testing"
)

func TestParseSource(t *testing.T) {
	for source, want := range map[string]string{
		"10.0.0.1": "10.0.0.1/32", "10.0.0.1/8": "10.0.0.0/8", "fd00::1": "fd00::1/128", "0.0.0.0/0": "0.0.0.0/0",
	} {
		if got, err := ParseSource(source); err != nil || got.String() != want {
			t.Errorf("parseSource(%q) = %s, %v, want %s", source, got, err, want)
		}
	}
	for _, bad := range []string{"", "x", "10.0.0.0/33", "10.0.0.256"} {
		if got, err := ParseSource(bad); err == nil {
			t.Errorf("parseSource(%q) = %s, want an error", bad, got)
		}
	}
}
