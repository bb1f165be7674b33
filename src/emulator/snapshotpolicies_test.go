package emulator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

const policiesPath = "/v1/snapshot-policies"

// policyNamed is the body that creates a snapshot policy.
func policyNamed(name string) string {
	return `{"name":"` + name + `","region":"nl-01","ttl":"168h","schedule":"0 2 * * *","timezone":"UTC",` +
		`"enabled":true,"target":{"type":"selector","selector":{"backup":"true"}}}`
}

// The official client sends a number of nanoseconds and reads one. Newer ones may use texts.
func TestSnapshotPolicies(t *testing.T) {
	c := newCloud(t)
	request := iaas.CreateSnapshotPolicyRequest{Name: "Daily", Region: "nl-01", Ttl: 168 * time.Hour,
		KeepCount: new(7), Enabled: true, Schedule: "0 2 * * *", Timezone: "Europe/Amsterdam",
		Target: iaas.SnapshotPolicyTarget{Type: "selector", Selector: map[string]string{"backup": "true"}}}
	p, err := c.api.CreateSnapshotPolicy(t.Context(), request)
	if err != nil || p.Ttl != request.Ttl || *p.KeepCount != 7 || !p.Enabled || p.Target.Selector["backup"] != "true" ||
		p.Region.Slug != "nl-01" || p.Slug != "daily" || p.NextSnapshotAt == nil || p.LastSnapshotAt != nil {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := c.api.CreateSnapshotPolicy(t.Context(), request); !refused(err, "409") {
		t.Errorf("the same name: %v, want 409", err)
	}
	p, err = c.api.UpdateSnapshotPolicy(t.Context(), p.Identity, iaas.UpdateSnapshotPolicyRequest{Name: "Weekly",
		Ttl: time.Hour, Schedule: "0 2 * * 0", Timezone: "UTC", Target: request.Target})
	if err != nil || p.Ttl != time.Hour || p.KeepCount != nil || p.Enabled || p.Schedule != "0 2 * * 0" ||
		p.NextSnapshotAt != nil {
		t.Errorf("%+v, %v", p, err)
	}
	if err := c.api.DeleteSnapshotPolicy(t.Context(), p.Identity); err != nil {
		t.Error(err)
	}
	if _, err := c.api.GetSnapshotPolicy(t.Context(), p.Identity); !vendor.IsNotFound(err) {
		t.Errorf("deleted policy: %v, want not found", err)
	}
	play(t, newEmulator(t, withSwitches(emulator.Switches{DurationTexts: true})), []step{
		{request: "POST /v1/snapshot-policies", body: policyNamed("p"), status: 201,
			has: []string{`"ttl":"168h0m0s"`}},
		{request: "PUT /v1/snapshot-policies/p", body: `{"name":"p","ttl":1000000000}`, status: 200,
			has: []string{`"ttl":"1s"`, "0 2 * * *"}},
	})
}

func TestSnapshotPolicyRefusals(t *testing.T) {
	policy := func(old, replacement string) string { return replaced(policyNamed("p"), old, replacement) }
	explicit := policy(`"selector","selector":{"backup":"true"}`, `"explicit","volumeIdentities":["near","far"]`)
	play(t, newEmulator(t, withSecondRegion), []step{
		{request: "POST " + policiesPath, body: policy("0 2 * * *", "a b c d e"), status: 400,
			has: []string{`field \"schedule\" must be a cron expression of 5 fields`, `not \"a b c d e\"`}},
		{request: "POST " + policiesPath, body: policy("UTC", "Mars"), status: 400,
			has: []string{`field \"timezone\" must be the name of a time zone in the IANA database`, `not \"Mars\"`}},
		{request: "POST " + volumesPath, body: volumeNamed("near"), status: 201},
		{request: "POST " + volumesPath, body: replaced(volumeNamed("far"), "nl-01", "region-2"), status: 201},
		{request: "POST " + policiesPath, body: explicit, status: 400, has: []string{
			`field \"target.volumeIdentities\": volume \"far\" is in region nl-02, not in that of the policy, nl-01`}},
		{request: "POST " + policiesPath, body: replaced(explicit, `,"far"`, ""), status: 201},
		{request: "PUT " + policiesPath + "/p", body: `{"name":"p","schedule":"@daily"}`, status: 400},
		{request: "GET " + policiesPath + "/p", status: 200, has: []string{"0 2 * * *"}},
	})
}

// policies is a cloud in virtual time, which begins on 2000-01-01 at midnight, with volumes "a" and "b" for backup and
// "c" without, and one for backup in another region.
func policies(t *testing.T, adjust func(*emulator.Config), test func(e *emulator.Emulator)) {
	t.Helper()
	inVirtualTime(t, func(cfg *emulator.Config) {
		withSecondRegion(cfg)
		adjust(cfg)
	}, func(e *emulator.Emulator) {
		backup := `,"labels":{"backup":"true"}}`
		play(t, e, []step{
			{request: "POST " + volumesPath, body: replaced(volumeNamed("a"), "}", backup), status: 201},
			{request: "POST " + volumesPath, body: replaced(volumeNamed("b"), "}", backup), status: 201},
			{request: "POST " + volumesPath, body: volumeNamed("c"), status: 201},
			{request: "POST " + volumesPath,
				body: replaced(replaced(volumeNamed("far"), "nl-01", "region-2"), "}", backup), status: 201},
		})
		test(e)
	})
}

func asBefore(*emulator.Config) {}

// list is the answer to a list request.
func list[T any](t *testing.T, e *emulator.Emulator, path string) (all []T) {
	t.Helper()
	request := newRequest(t, "GET", path, "")
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	if body := serve(e, request).Body.Bytes(); json.Unmarshal(body, &all) != nil {
		t.Fatalf("GET %s = %s", path, body)
	}
	return all
}

// written is the state of an emulator as --state has it.
func written(t *testing.T, e *emulator.Emulator) emulator.Seed {
	t.Helper()
	var content bytes.Buffer
	if err := emulator.WriteSeed(&content, e.Seed()); err != nil {
		t.Fatal(err)
	}
	state, err := emulator.ReadSeed(&content)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// taken are the volumes and the times of all snapshots, in their order, such as "a 02T02:00".
func taken(t *testing.T, e *emulator.Emulator) string {
	t.Helper()
	var all []string
	for _, s := range list[iaas.Snapshot](t, e, snapshotsPath) {
		all = append(all, fmt.Sprintf("%s %s", s.SourceVolume.Name, s.CreatedAt.UTC().Format("02T15:04")))
	}
	return strings.Join(all, ", ")
}

func expectTaken(t *testing.T, e *emulator.Emulator, want string) {
	t.Helper()
	if got := taken(t, e); got != want {
		t.Errorf("snapshots %q, want %q", got, want)
	}
}

func TestPoliciesTakeSnapshots(t *testing.T) {
	policies(t, func(cfg *emulator.Config) { cfg.Delays.SnapshotCreate = time.Minute }, func(e *emulator.Emulator) {
		const next = `"nextSnapshotAt":"2000-01-0`
		play(t, e, []step{
			{request: "POST " + policiesPath, body: policyNamed("p"), status: 201,
				has: []string{next + `1T02:00:00Z"`, "!lastSnapshotAt", `!"snapshots"`}},
			{wait: 2*time.Hour - 1, request: "GET " + snapshotsPath, status: 200, has: []string{"[]"}},
			{wait: 1, request: "GET " + policiesPath + "/p", status: 200,
				has: []string{next + `2T02:00:00Z"`, `"lastSnapshotAt":"2000-01-01T02:00:00Z"`, `"snapshots":[{`,
					`"status":"Creating"`}},
			{wait: time.Minute, request: "GET " + snapshotsPath, status: 200, has: []string{`"status":"Available"`}},
		})
		expectTaken(t, e, "a 01T02:00, b 01T02:00")
		p := list[iaas.SnapshotPolicy](t, e, policiesPath)[0]
		for i, s := range list[iaas.Snapshot](t, e, snapshotsPath) {
			if *s.SnapshotPolicyId != p.Identity || s.SnapshotPolicy.Name != "p" || s.SnapshotPolicy.Snapshots != nil ||
				p.Snapshots[i].Identity != s.Identity || !strings.HasPrefix(s.Name, "p-") {
				t.Errorf("snapshot %+v of policy %+v", s, p)
			}
		}
		// There is no request for days: what was due meanwhile happened when it was due.
		<-time.After(48 * time.Hour)
		expectTaken(t, e, "a 01T02:00, b 01T02:00, a 02T02:00, b 02T02:00, a 03T02:00, b 03T02:00")
		play(t, e, []step{
			{request: "DELETE " + policiesPath + "/p", status: 204},
			{wait: 24 * time.Hour, request: "GET " + snapshotsPath, status: 200,
				has: []string{`"snapshotPolicyId":"` + p.Identity, `!"snapshotPolicy":`}},
		})
		expectTaken(t, e, "a 01T02:00, b 01T02:00, a 02T02:00, b 02T02:00, a 03T02:00, b 03T02:00")
	})
}

func TestPoliciesOfVolumesThatAreNamed(t *testing.T) {
	policies(t, asBefore, func(e *emulator.Emulator) {
		body := replaced(policyNamed("p"), `"selector","selector":{"backup":"true"}`,
			`"explicit","volumeIdentities":["b","c"]`)
		play(t, e, []step{
			{request: "POST " + policiesPath, body: body, status: 201},
			{request: "DELETE " + volumesPath + "/c", status: 204},
			{wait: 2 * time.Hour, request: "GET " + snapshotsPath, status: 200},
		})
		expectTaken(t, e, "b 01T02:00")
	})
}

func TestDisabledPolicies(t *testing.T) {
	policies(t, asBefore, func(e *emulator.Emulator) {
		play(t, e, []step{
			{request: "POST " + policiesPath, body: replaced(policyNamed("p"), `"enabled":true`, `"enabled":false`),
				status: 201, has: []string{"!nextSnapshotAt"}},
			{wait: 24 * time.Hour, request: "GET " + snapshotsPath, status: 200, has: []string{"[]"}},
			// What was not taken is not made up for.
			{request: "PUT " + policiesPath + "/p", body: `{"name":"p","enabled":true}`, status: 200,
				has: []string{`"nextSnapshotAt":"2000-01-02T02:00:00Z"`}},
			{wait: 2 * time.Hour, request: "GET " + policiesPath, status: 200},
			{request: "PUT " + policiesPath + "/p", body: `{"name":"p","enabled":false}`, status: 200,
				has: []string{"!nextSnapshotAt", `"lastSnapshotAt":"2000-01-02T02:00:00Z"`}},
			{wait: 24 * time.Hour, request: "GET " + policiesPath, status: 200},
		})
		expectTaken(t, e, "a 02T02:00, b 02T02:00")
	})
}

func TestPoliciesFollowTheClocksOfTheirZone(t *testing.T) {
	policies(t, asBefore, func(e *emulator.Emulator) {
		// At 2:00 on 26 March 2000, the clocks went to 3:00.
		<-time.After(time.Until(time.Date(2000, 3, 25, 12, 0, 0, 0, time.UTC)))
		body := replaced(replaced(policyNamed("p"), "UTC", "Europe/Amsterdam"), "0 2", "0 3")
		play(t, e, []step{{request: "POST " + policiesPath, body: body, status: 201,
			has: []string{`"nextSnapshotAt":"2000-03-26T01:00:00Z"`}}})
		<-time.After(24 * time.Hour)
		expectTaken(t, e, "a 26T01:00, b 26T01:00")
	})
}

func TestPoliciesDeleteOldSnapshots(t *testing.T) {
	for name, tt := range map[string]struct {
		setting string
		want    string
	}{
		"ttl":                 {`"ttl":"48h"`, "b 02T02:00, a 04T02:00, b 04T02:00, a 05T02:00, b 05T02:00"},
		"a count":             {`"ttl":"168h","keepCount":1`, "b 02T02:00, a 05T02:00, b 05T02:00"},
		"both, the ttl first": {`"ttl":"24h","keepCount":2`, "b 02T02:00, a 05T02:00, b 05T02:00"},
		"neither, for so long": {`"ttl":"72h1ns"`, "a 02T02:00, b 02T02:00, a 03T02:00, b 03T02:00, " +
			"a 04T02:00, b 04T02:00, a 05T02:00, b 05T02:00"},
	} {
		t.Run(name, func(t *testing.T) {
			policies(t, asBefore, func(e *emulator.Emulator) {
				<-time.After(24 * time.Hour)
				play(t, e, []step{
					{request: "POST " + snapshotsPath, body: snapshotNamed("own", "a"), status: 201},
					{request: "POST " + policiesPath, body: replaced(policyNamed("p"), `"ttl":"168h"`, tt.setting),
						status: 201},
				})
				<-time.After(2 * time.Hour)
				protect(t, e, "b")
				<-time.After(72 * time.Hour)
				// A snapshot that a request took is no policy's.
				expectTaken(t, e, "a 02T00:00, "+tt.want)
			})
		})
	}
}

// protect protects the latest snapshot of a volume from deletion.
func protect(t *testing.T, e *emulator.Emulator, volume string) {
	t.Helper()
	all := list[iaas.Snapshot](t, e, snapshotsPath+"?volume="+volume)
	s := all[len(all)-1]
	play(t, e, []step{{request: "PUT " + snapshotsPath + "/" + s.Identity,
		body: fmt.Sprintf(`{"name":%q,"deleteProtection":true}`, s.Name), status: 200}})
}

func TestPoliciesKeepToQuotas(t *testing.T) {
	policies(t, func(cfg *emulator.Config) {
		cfg.Seed.Organisations[0].Quotas = map[string]int{"snapshots": 3}
	}, func(e *emulator.Emulator) {
		play(t, e, []step{{request: "POST " + policiesPath, body: policyNamed("p"), status: 201}})
		<-time.After(72 * time.Hour)
		expectTaken(t, e, "a 01T02:00, b 01T02:00, a 02T02:00")
		play(t, e, []step{{request: "GET " + policiesPath + "/p", status: 200,
			has: []string{`"lastSnapshotAt":"2000-01-02T02:00:00Z"`, `"nextSnapshotAt":"2000-01-04T02:00:00Z"`}}})
	})
}

// What was due while the emulator was stopped is made up for once, when it starts again.
func TestPoliciesAfterRestart(t *testing.T) {
	policies(t, asBefore, func(e *emulator.Emulator) {
		play(t, e, []step{
			{request: "POST " + policiesPath, body: policyNamed("p"), status: 201},
			{wait: 3 * time.Hour, request: "GET " + snapshotsPath, status: 200},
		})
		stopped := written(t, e)
		<-time.After(time.Hour)
		next := newEmulator(t, func(cfg *emulator.Config) { cfg.Seed = stopped })
		expectTaken(t, next, "a 01T02:00, b 01T02:00")
		play(t, next, []step{{request: "GET " + policiesPath + "/p", status: 200,
			has: []string{`"lastSnapshotAt":"2000-01-01T02:00:00Z"`, `"nextSnapshotAt":"2000-01-02T02:00:00Z"`}}})
		<-time.After(71 * time.Hour)
		next = newEmulator(t, func(cfg *emulator.Config) { cfg.Seed = stopped })
		<-time.After(time.Hour)
		expectTaken(t, next, "a 01T02:00, b 01T02:00, a 04T03:00, b 04T03:00")
		play(t, next, []step{{request: "GET " + policiesPath + "/p", status: 200,
			has: []string{`"lastSnapshotAt":"2000-01-04T03:00:00Z"`, `"nextSnapshotAt":"2000-01-05T02:00:00Z"`}}})
	})
}

// A state can have a schedule that an emulator accepted before they were parsed. A seed of one's own cannot.
func TestPoliciesWithWrongSchedulesInSeeds(t *testing.T) {
	e := newEmulator(t)
	play(t, e, []step{{request: "POST " + policiesPath, body: policyNamed("p"), status: 201}})
	state := written(t, e)
	plan := &state.Organisations[0].SnapshotPolicies[0].Plan.Value
	plan.Schedule = "a b c d e"
	next := newEmulator(t, func(cfg *emulator.Config) { cfg.Seed = state })
	play(t, next, []step{{request: "GET " + policiesPath + "/p", status: 200,
		has: []string{"a b c d e", "!nextSnapshotAt"}}})
	state.Version = 0
	_, err := emulator.NewDescribed(t, emulator.Config{Seed: state})
	if err == nil || !strings.Contains(err.Error(), "schedule") {
		t.Errorf("a seed with a wrong schedule: %v", err)
	}
}
