package emulator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// step is a request, what is expected of the answer, and how long to wait
// before it.
type step struct {
	wait time.Duration
	// request is a method and a path.
	request, body string
	status        int
	// has are parts of the answer; those that start with "!" must be missing.
	has []string
}

// play sends requests, in process, with the default credentials.
func play(t *testing.T, h http.Handler, steps []step) {
	t.Helper()
	for i, s := range steps {
		if s.wait > 0 {
			<-time.After(s.wait)
		}
		method, path, _ := strings.Cut(s.request, " ")
		request := newRequest(t, method, path, s.body)
		request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
		answer := serve(h, request)
		body := answer.Body.String()
		if answer.Code != s.status {
			t.Errorf("step %d: %s %s = %d %s, want %d", i+1, s.request, s.body, answer.Code, body, s.status)
		}
		for _, part := range s.has {
			absent, negated := strings.CutPrefix(part, "!")
			if strings.Contains(body, absent) == negated {
				t.Errorf("step %d: %s %s = %s, want %s", i+1, s.request, s.body, body, part)
			}
		}
	}
}

// newEmulator is a cloud to be used in process.
func newEmulator(t *testing.T, adjust ...func(*emulator.Config)) *emulator.Emulator {
	t.Helper()
	cfg := emulator.Config{Seed: emulator.DefaultSeed()}
	for _, f := range adjust {
		f(&cfg)
	}
	e, err := emulator.NewDescribed(t, cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return e
}

// withSwitches sets all switches.
func withSwitches(s emulator.Switches) func(*emulator.Config) {
	return func(cfg *emulator.Config) { cfg.Switches = s }
}

// withSecondRegion adds a region, a VPC in it and a second VPC in the first.
func withSecondRegion(cfg *emulator.Config) {
	cfg.Seed.Regions = append(cfg.Seed.Regions, emulator.RegionSeed{
		Identity: "region-2", Name: "nl-02", Zones: []string{"nl-02a"}, PublicAddresses: prefixes("203.0.113.0/24"),
	})
	org := &cfg.Seed.Organisations[0]
	for _, v := range []emulator.VPCSeed{
		{Identity: "vpc-same", Name: "same", Region: emulator.DefaultRegion, CIDRs: prefixes("10.50.0.0/16")},
		{Identity: "vpc-far", Name: "far", Region: "nl-02", CIDRs: prefixes("10.60.0.0/16")},
	} {
		v.Subnets = []emulator.SubnetSeed{{Identity: "subnet-" + v.Name, Name: v.Name, CIDRs: v.CIDRs}}
		v.SecurityGroups = []emulator.SecurityGroupSeed{{Identity: "sg-" + v.Name, Name: v.Name}}
		v.RouteTables = []emulator.RouteTableSeed{{Identity: "rtb-" + v.Name, Name: v.Name, Default: true}}
		org.VPCs = append(org.VPCs, v)
	}
}

// identityOf is the identity of an object that is there.
func identityOf(t *testing.T, h http.Handler, path string) string {
	t.Helper()
	request := newRequest(t, "GET", path, "")
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	var object struct{ Identity string }
	if err := json.Unmarshal(serve(h, request).Body.Bytes(), &object); err != nil || object.Identity == "" {
		t.Fatalf("GET %s: no identity, %v", path, err)
	}
	return object.Identity
}

const minute = time.Minute

// inVirtualTime runs a test in virtual time.
func inVirtualTime(t *testing.T, adjust func(*emulator.Config), test func(*emulator.Emulator)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newEmulator(t, adjust)) })
}

// replaced is text with every old part replaced.
func replaced(text, old, with string) string { return strings.ReplaceAll(text, old, with) }
