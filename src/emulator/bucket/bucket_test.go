package bucket_test

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/bucket"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func TestCheckSettings(t *testing.T) {
	with := func(versioning string, statements ...wire.BucketStatement) wire.BucketSettings {
		return wire.BucketSettings{Versioning: versioning, Policy: &wire.BucketPolicy{Statement: statements}}
	}
	for name, test := range map[string]struct {
		settings wire.BucketSettings
		want     string
	}{
		"default": {bucket.DefaultSettings(), ""},
		"policy": {with("Enabled", wire.BucketStatement{Effect: "Deny", Action: "a", Resource: []string{"r"}}),
			""},
		"versioning":  {with("On"), `field "versioning" must be one of`},
		"effect":      {with("Enabled", wire.BucketStatement{Effect: "x"}), `field "policy.Statement[0].Effect"`},
		"no action":   {with("Enabled", wire.BucketStatement{Effect: "Allow", Resource: []string{"r"}}), "an Action"},
		"no resource": {with("Enabled", wire.BucketStatement{Effect: "Allow", Action: "a"}), "a Resource"},
	} {
		if err := bucket.CheckSettings(test.settings); (err != nil) != (test.want != "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestCheckLifecycle(t *testing.T) {
	expires := wire.LifecycleRule{ID: "a", Expiration: &wire.LifecycleExpiration{}}
	for name, test := range map[string]struct {
		rules []wire.LifecycleRule
		want  string
	}{
		"one rule": {[]wire.LifecycleRule{expires}, ""},
		"none":     {nil, "at least one rule"},
		"twice":    {[]wire.LifecycleRule{expires, expires}, `field "rules[1].id"`},
		"nothing":  {[]wire.LifecycleRule{{ID: "a"}}, `rule "a" does nothing`},
		"status":   {[]wire.LifecycleRule{{ID: "a", Status: "x"}}, `field "rules[0].status"`},
	} {
		l := wire.BucketLifecycle{Rules: test.rules}
		if err := bucket.CheckLifecycle(&l); (err != nil) != (test.want != "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if test.want == "" && l.Rules[0].Status != "Enabled" {
			t.Errorf("%s: status %q, want Enabled", name, l.Rules[0].Status)
		}
	}
}
