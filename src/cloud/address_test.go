package cloud

import "testing"

func TestCanonicalAddress(t *testing.T) {
	for address, want := range map[string]string{
		"":                       "",
		"203.0.113.7":            "203.0.113.7",
		" 203.0.113.7\n":         "203.0.113.7",
		"::ffff:203.0.113.7":     "203.0.113.7",
		"2001:DB8:0:0:0:0:0:A":   "2001:db8::a",
		"lb.example.com":         "lb.example.com",
		"LB-1.Example.COM.":      "lb-1.example.com",
		"010.0.0.1":              "010.0.0.1", // octal or decimal is not known
		"lb_1.Example.com.":      "lb_1.example.com",
		"203.0.113.7, 192.0.2.1": "203.0.113.7, 192.0.2.1",
	} {
		if got := CanonicalAddress(address); got != want {
			t.Errorf("CanonicalAddress(%q) = %q, want %q", address, got, want)
		}
		if again := CanonicalAddress(want); again != want {
			t.Errorf("the canonical %q becomes %q", want, again)
		}
	}
}
