//go:build linux

package realnode

import (
	"strings"
	"testing"
)

func TestMasqueradeRules(t *testing.T) {
	for cidr, want := range map[string]string{
		"10.244.0.0/16,fd00:244::/48": "ip saddr 10.244.0.0/16 ip daddr != {",
		"fd00:244::/48,10.245.0.0/16": "ip saddr 10.245.0.0/16 ip daddr != {",
		"fd00:244::/48":               "",
	} {
		rules, err := masqueradeRules(cidr)
		if err != nil || !strings.Contains(rules, want) || want == "" && rules != "" {
			t.Errorf("%s: %q and %v, want %q", cidr, rules, err, want)
		}
	}
	if _, err := masqueradeRules("10.244.0.0"); err == nil {
		t.Error("what is no network has rules")
	}
}
