package faulttest

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// bugEnv puts a bug into the shop, for the test of what a failure looks like.
const bugEnv = "TRIAL_SHOP_BUG"

// shops are the scenarios of the system, which is right unless the environment says otherwise.
func shops() []Scenario {
	b := bug(os.Getenv(bugEnv))
	making, keeping := scenario(b, false), scenario(b, true)
	keeping.Name += "-ready"
	return []Scenario{making, keeping}
}

// size is a size for the quick tier, or one for the full tier. A shop with a bug has the full one: the test that starts
// it chooses what it runs.
func size(quick, full int) int {
	if os.Getenv(bugEnv) != "" {
		return full
	}
	return tier.Pick(quick, full)
}

func TestShopCrash(t *testing.T) {
	for _, s := range shops() {
		Crash(t, s)
	}
}

func TestShopFaults(t *testing.T) {
	for _, s := range shops() {
		s.Share = size(8, 1)
		Faults(t, s)
	}
}

func TestShopHandover(t *testing.T) {
	for _, s := range shops() {
		Handover(t, s)
	}
}

func TestShopSample(t *testing.T) {
	for _, s := range shops() {
		Sample(t, s, size(4, 20))
	}
}

func TestShopChaos(t *testing.T) {
	for _, s := range shops() {
		Chaos(t, s, size(3, 10))
	}
}

// found are the problems of a scenario by the trial that found them, out of those wanted; "" is the undisturbed one.
func found(t *testing.T, s Scenario, of func([]call) []disturbance, wanted func(name string) bool) map[string]string {
	t.Helper()
	all := map[string]string{}
	undisturbed := alone(t, s)
	if problems := undisturbed.problems(nil); len(problems) > 0 {
		all[""] = strings.Join(problems, "\n")
	}
	for _, d := range of(undisturbed.calls) {
		if !wanted(d.name) {
			continue
		}
		if problems := tried(t, s, d, undisturbed); len(problems) > 0 {
			all[d.name] = strings.Join(problems, "\n")
		}
	}
	return all
}

// alone is the undisturbed work of a scenario.
func alone(t *testing.T, s Scenario) (undisturbed outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { undisturbed = s.run(t, disturbance{}, outcome{}) })
	return undisturbed
}

// tried are the problems of a scenario under a disturbance.
func tried(t *testing.T, s Scenario, d disturbance, undisturbed outcome) (problems []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { problems = s.run(t, d, undisturbed).problems(&undisturbed) })
	return problems
}

func TestBugsAreFound(t *testing.T) {
	const differs = "the cloud is not as after the undisturbed work"
	tests := map[bug]struct {
		ready bool
		of    func([]call) []disturbance
		trial string // one that must find it
		want  string // pattern of what it says
	}{
		labelsLate:   {false, crashes, "after-02-POST_v1_loadbalancer-target-groups", differs},
		repeatsBlind: {false, faults, "lost-04-POST_v1_loadbalancers", differs},
		adoptsByName: {false, faults, "conflict-04-POST_v1_loadbalancers",
			`writes to what belongs to others:\s+PUT /v1/loadbalancers/lb-\w+: 200`},
		deletesByName: {false, faults, "error-02-POST_v1_loadbalancer-target-groups", `what belongs to others changed`},
		loopsForever: {false, faults, "forbidden-03-GET_v1_loadbalancers",
			`too many calls\ncontext canceled; ` +
				`most called: GET /v1/loadbalancer-target-groups/nowhere, \d+ of \d+ calls`},
		waitsForever: {false, faults, "reset-01-GET_v1_loadbalancer-target-groups",
			`not done after 24h0m0s; most called: GET /v1/loadbalancer-target-groups, 1 of 1 calls`},
		writesAlways:  {true, crashes, "", `doing it again wrote:\s+PUT /v1/loadbalancer-target-groups/tg-\w+: 200`},
		believesPages: {true, faults, "page-not-found-01-GET_v1_loadbalancer-target-groups", differs},
		givesUp:       {false, faults, "unavailable-03-GET_v1_loadbalancers", differs},
		hammers: {false, faults, "lost-04-POST_v1_loadbalancers",
			`9 writes, at most 3 are good for 1 disturbed calls and a work of 2 writes`},
		walksOut:  {false, handovers, "during-04-POST_v1_loadbalancers", differs},
		makesAnew: {true, faults, "throttled-02-GET_v1_loadbalancers", differs},
	}
	for b, test := range tests {
		t.Run(string(b), func(t *testing.T) {
			all := found(t, scenario(b, test.ready), test.of, func(name string) bool { return name == test.trial })
			if got := all[test.trial]; !regexp.MustCompile(test.want).MatchString(got) {
				t.Errorf("trial %q says %q, want %q; all: %v", test.trial, got, test.want, all)
			}
		})
	}
}

// TestWaywardTrialsAreChecked: each on its own, and only by what the scenario says is right.
func TestWaywardTrialsAreChecked(t *testing.T) {
	for _, wrong := range []bool{false, true} {
		checked := 0
		s := scenario(none, false)
		s.Wayward, s.Check = true, func(*testing.T, *emulator.Emulator) { checked++ }
		synctest.Test(t, func(t *testing.T) {
			got := s.run(t, disturbance{}, outcome{})
			if wrong {
				got.end = errEndless
			}
			if problems := s.problems(t, got, outcome{}); checked != 1 || (len(problems) > 0) != wrong {
				t.Errorf("checked %d times, problems %v", checked, problems)
			}
		})
	}
}

func TestChaosFindsBugs(t *testing.T) {
	bugs := []bug{labelsLate, repeatsBlind, adoptsByName, givesUp}
	if tier.Full() { // these take many seeds
		bugs = append(bugs, loopsForever, believesPages)
	}
	for _, b := range bugs {
		t.Run(string(b), func(t *testing.T) {
			const seeds = 100
			s := scenario(b, false)
			undisturbed := alone(t, s)
			if problems := undisturbed.problems(nil); len(problems) > 0 {
				t.Fatalf("undisturbed: %q", problems)
			}
			for _, d := range s.chaos(seeds) {
				if len(tried(t, s, d, undisturbed)) > 0 {
					return
				}
			}
			t.Errorf("%d seeds found nothing", seeds)
		})
	}
}

// TestFailureSaysHowToRepeatIt runs this test program with a bug, and then again with what the failure said. The quick
// tier runs the trials of the call with the bug.
func TestFailureSaysHowToRepeatIt(t *testing.T) {
	output := shopWith(t, repeatsBlind, "^TestShopFaults$/^shop$"+tier.Pick("/-04-", ""))
	command := regexp.MustCompile(`repeat it: go test -count=1 -run '(\S*lost-04\S*)' github.com/thalassa-cloud/thalassa-ccm/src/emulator/faulttest\n`).FindStringSubmatch(output)
	if command == nil {
		t.Fatalf("no failure says how to repeat the lost answer:\n%s", output)
	}
	output = shopWith(t, repeatsBlind, command[1])
	for _, want := range []string{"--- FAIL: TestShopFaults/shop/lost-04-POST_v1_loadbalancers",
		"04 POST /v1/loadbalancers [lost]: the connection was dropped", "new lb 2"} {
		if !strings.Contains(output, want) {
			t.Errorf("the repetition does not show %q:\n%s", want, output)
		}
	}
	if failures := strings.Count(output, "--- FAIL: TestShopFaults/shop/"); failures != 1 {
		t.Errorf("the repetition ran %d failing trials, want 1:\n%s", failures, output)
	}
}

// TestSampleSaysItsSeed: who draws other trials can repeat them.
func TestSampleSaysItsSeed(t *testing.T) {
	t.Setenv(seedVariable, "7")
	output := shopWith(t, givesUp, "^TestShopSample$/^shop$")
	command := regexp.MustCompile(`repeat it: TRIAL_SEED=7 go test -count=1 -run '(\S+)' github.com/thalassa-cloud/thalassa-ccm/src/emulator/faulttest\n`).FindStringSubmatch(output)
	if command == nil || !strings.Contains(output, "TRIAL_SEED=7\n") {
		t.Fatalf("no failure says with which seed to repeat it:\n%s", output)
	}
	if output := shopWith(t, givesUp, command[1]); strings.Count(output, "--- FAIL: TestShopSample/shop/") != 1 {
		t.Errorf("the repetition is not the one trial:\n%s", output)
	}
	t.Setenv(seedVariable, "seven")
	if output := shopWith(t, none, "^TestShopSample$"); !strings.Contains(output,
		"TRIAL_SEED=seven: use a whole number") {
		t.Errorf("a seed that is none: %s", output)
	}
}

// shopWith runs tests of the shop in a process of its own, which must fail, and returns what it prints.
func shopWith(t *testing.T, b bug, pattern string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, "-test.run="+pattern, "-test.v=false")
	command.Env = append(os.Environ(), bugEnv+"="+string(b))
	output, err := command.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); !failed {
		t.Fatalf("the system with a bug passed: %v\n%s", err, output)
	}
	return string(output)
}

func TestUndisturbedFailureEndsTheMatrix(t *testing.T) {
	output := shopWith(t, writesAlways, "^TestShopCrash$/^shop-ready$")
	if !strings.Contains(output, "undisturbed: the work was done, and doing it again wrote") ||
		strings.Contains(output, "after-") {
		t.Errorf("got\n%s\nwant the undisturbed work's failure and no trials", output)
	}
}

func TestCheckEndsTheMatrix(t *testing.T) {
	output := shopWith(t, writesNothing, "^TestShopCrash$/^shop$")
	if !strings.Contains(output, "0 load balancers, want 1") || !strings.Contains(output, "01 GET "+groups) ||
		strings.Contains(output, "after-") {
		t.Errorf("got\n%s\nwant the undisturbed work's failure and no trials", output)
	}
}

func TestOrganisationsNeedCredentials(t *testing.T) {
	seed := emulator.DefaultSeed()
	seed.Organisations[0].PersonalAccessTokens = nil
	cloud, err := emulator.New(emulator.Config{Seed: seed, Middleware: openapitest.Sampled(t)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&stateReader{cloud: cloud, seed: seed}).everything(t.Context(), nil); err != nil {
		t.Errorf("with a client's credentials: %v", err)
	}
	seed.Organisations[0].Clients = nil
	if _, err := (&stateReader{cloud: cloud, seed: seed}).everything(t.Context(), nil); err == nil ||
		!strings.Contains(err.Error(), "give it a personal access token") {
		t.Errorf("error = %v, want one that says what to do", err)
	}
}

func TestSeedsOfLives(t *testing.T) {
	if got := slices.Collect(Seeds(t, 2)); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("the seeds are %v", got)
	}
	t.Setenv(seedVariable, "7")
	t.Setenv(livesVariable, "3")
	if got := slices.Collect(Seeds(t, 2)); !slices.Equal(got, []uint64{7, 8, 9}) {
		t.Errorf("of three lives from seed 7 on the seeds are %v", got)
	}
	t.Setenv(timeVariable, "10ms")
	if got := len(slices.Collect(Seeds(t, 2))); got <= 3 {
		t.Errorf("in 10 ms, in which nothing is done, there are only %d lives", got)
	}
	t.Setenv(timeVariable, "1ns")
	if got := slices.Collect(Seeds(t, 2)); !slices.Equal(got, []uint64{7, 8, 9}) {
		t.Errorf("of three lives, although the time is over, the seeds are %v", got)
	}
}
