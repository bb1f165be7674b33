package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

const (
	// stepsOfRound are the changes of Services and nodes in one round.
	stepsOfRound = 12
	// firstCycle is the number of rounds in the first cycle, see restarts.
	firstCycle = 4
)

// step is one thing that happens, and its name.
type step struct {
	name string
	do   func(context.Context, *soak) error
}

// script is what happens in a round.
type script struct {
	// faults are there during the steps, later while the Services are deleted.
	faults, later []fault.Rule
	steps         []step
}

// restarts reports whether processes end in a round. The rounds are in cycles, of which each is twice as long as the
// one before. In the first quarter of a cycle processes end, and in the rest none does: what is lost there is found.
func restarts(round int) bool {
	cycle := firstCycle
	for ; round >= cycle; cycle *= 2 {
		round -= cycle
	}
	return round < cycle/4
}

// draw draws what happens in a round. It depends on nothing else.
func draw(seed uint64, round int) script {
	d := dice{rand.New(rand.NewPCG(seed, uint64(round)))}
	s := script{faults: d.faults(1 + d.IntN(3)), later: d.faults(d.IntN(3))}
	for _, name := range serviceNames()[:2] {
		s.steps = append(s.steps, d.create(name))
	}
	for range stepsOfRound {
		s.steps = append(s.steps, d.step())
	}
	s.steps = append(s.steps, d.create(serviceNames()[0])) // at least one Service is there in the end
	if restarts(round) {
		for range 1 + d.IntN(2) {
			s.steps = slices.Insert(s.steps, d.IntN(len(s.steps)), d.restart())
		}
	} else if d.IntN(4) == 0 {
		s.steps = slices.Insert(s.steps, d.IntN(len(s.steps)), d.vanish())
	}
	return s
}

// describe is what a script does, for people.
func (s script) describe() []string {
	var lines []string
	for _, rule := range s.faults {
		lines = append(lines, "fault: "+describeRule(rule))
	}
	for _, one := range s.steps {
		lines = append(lines, one.name)
	}
	for _, rule := range s.later {
		lines = append(lines, "fault during the deletion: "+describeRule(rule))
	}
	return lines
}

func describeRule(r fault.Rule) string {
	return fmt.Sprintf("%s %d %s on %q, chance %.2f, count %d", r.Effect.Kind, r.Effect.Status, r.Effect.Delay,
		r.Operation, r.Probability, r.Count)
}

// dice draws what happens.
type dice struct{ *rand.Rand }

func pick[T any](d dice, all ...T) T { return all[d.IntN(len(all))] }

// faults draws what happens to calls to the cloud.
func (d dice) faults(n int) []fault.Rule {
	var rules []fault.Rule
	for range n {
		rules = append(rules, pick(d, d.refusal, d.loss, d.slowness, d.slowness, d.outage)())
	}
	return rules
}

// refusal refuses some calls. Were it all of them, a Service would wait for minutes, as it should: with each failure in
// a row the pause before its next attempt doubles. Only the end of an outage cuts that short.
func (d dice) refusal() fault.Rule {
	return fault.Rule{Effect: pick(d, refusals()...), Seed: d.Uint64(), Operation: d.operation(),
		Probability: pick(d, 0.1, 0.3, 1), Count: 1 + d.IntN(6)}
}

// loss loses some answers. If it is that to a creation, its Service waits for a minute, as it should: the object may
// exist. So that happens in few rounds.
func (d dice) loss() fault.Rule {
	rule := fault.Rule{Effect: pick(d, slices.Concat(losses(), outages())...), Seed: d.Uint64(),
		Operation:   pick(d, "GET *", "GET *", "PUT *", "DELETE *"),
		Probability: pick(d, 0.1, 0.3, 1), Count: 1 + d.IntN(6)}
	if d.IntN(8) == 0 {
		rule.Operation, rule.Count = "POST *", 1
	}
	return rule
}

// slowness makes the cloud slower than usual, in what it does or shows.
func (d dice) slowness() fault.Rule {
	rule := fault.Rule{Effect: pick(d, slownesses()...), Seed: d.Uint64(), Probability: pick(d, 0.3, 1)}
	switch rule.Effect.Kind {
	case fault.DeleteLag:
		rule.Operation = "DELETE *"
	case fault.Latency:
		rule.Operation = d.operation()
	default:
		rule.Operation = pick(d, "GET *", "GET /v1/machines*", "GET /v1/loadbalancer*")
	}
	return rule
}

// outage fails all calls, or all that read, without which nothing is written and no answer to a creation is lost.
func (d dice) outage() fault.Rule {
	return fault.Rule{Effect: pick(d, outages()...), Operation: pick(d, "GET *", "GET *", "GET *", "*")}
}

func (d dice) operation() string {
	return pick(d, "*", "GET *", "GET *", "POST *", "PUT *", "DELETE *", "* /v1/loadbalancers*",
		"* /v1/loadbalancer-target-groups*")
}

func refuse(status int) fault.Effect {
	return fault.Effect{Kind: fault.Refuse, Status: status, Message: "soak"}
}

func refusals() []fault.Effect {
	throttled := refuse(http.StatusTooManyRequests)
	throttled.RetryAfter = time.Second
	return []fault.Effect{throttled, refuse(http.StatusConflict), {Kind: fault.Unauthorised}, {Kind: fault.Forbidden},
		{Kind: fault.Quota}}
}

func losses() []fault.Effect {
	return []fault.Effect{
		refuse(http.StatusInternalServerError), {Kind: fault.Drop}, {Kind: fault.Truncate}, {Kind: fault.Malformed},
		{Kind: fault.Empty}, {Kind: fault.NoContent}, {Kind: fault.NotJSON, Status: http.StatusNotFound},
	}
}

func slownesses() []fault.Effect {
	return []fault.Effect{
		{Kind: fault.Latency, Delay: 500 * time.Millisecond}, {Kind: fault.Stale, Delay: time.Second},
		{Kind: fault.DeleteLag, Delay: 2 * time.Second}, {Kind: fault.Partial},
	}
}

func outages() []fault.Effect {
	return []fault.Effect{
		refuse(http.StatusServiceUnavailable), {Kind: fault.Hang}, {Kind: fault.Reset}, {Kind: fault.NotJSON},
	}
}

// step draws a change of a Service or a node.
func (d dice) step() step {
	name := pick(d, serviceNames()...)
	all := []func() step{
		func() step { return d.create(name) }, func() step { return d.create(name) },
		func() step { return d.create(name) },
		func() step { return d.remove(name) }, func() step { return d.again(name) },
		func() step { return d.ports(name) }, func() step { return d.ports(name) },
		func() step { return d.annotation(name) }, func() step { return d.annotation(name) },
		func() step { return d.policy(name) }, func() step { return d.kind(name) },
		func() step { return d.endpoints(name) },
		d.node, d.node, d.exclusion, d.pool,
	}
	return pick(d, all...)()
}

// restart draws an end of processes.
func (d dice) restart() step {
	signal := pick(d, syscall.SIGTERM, syscall.SIGKILL)
	ends := func(who string, choose func(leader, other *replica) []*replica) step {
		return step{fmt.Sprintf("end %s by %s", who, signal), func(ctx context.Context, s *soak) error {
			leader, other, err := s.roles(ctx)
			if err != nil {
				return err
			}
			return s.end(ctx, signal, choose(leader, other)...)
		}}
	}
	return pick(d,
		ends("the leader", func(leader, _ *replica) []*replica { return []*replica{leader} }),
		ends("the leader", func(leader, _ *replica) []*replica { return []*replica{leader} }),
		ends("the other replica", func(_, other *replica) []*replica { return []*replica{other} }),
		ends("both replicas", func(leader, other *replica) []*replica { return []*replica{leader, other} }),
		step{"freeze the leader", func(ctx context.Context, s *soak) error { return s.freeze(ctx) }})
}

// TestScriptRepeats: a round of a seed is the same in each run, and that of another seed or number is not.
func TestScriptRepeats(t *testing.T) {
	names := func(seed uint64, round int) []string { return draw(seed, round).describe() }
	if diff := cmp.Diff(names(7, 3), names(7, 3)); diff != "" {
		t.Errorf("the same round differs:\n%s", diff)
	}
	if slices.Equal(names(7, 3), names(7, 2)) || slices.Equal(names(7, 3), names(8, 3)) {
		t.Error("rounds or seeds do not differ")
	}
}

// TestRestarts: cycles become longer, and processes end in the first quarter of each.
func TestRestarts(t *testing.T) {
	var got []int
	for round := range 4 + 8 + 16 {
		if restarts(round) {
			got = append(got, round)
		}
	}
	if want := []int{0, 4, 5, 12, 13, 14, 15}; !slices.Equal(got, want) {
		t.Errorf("processes end in rounds %v, want %v", got, want)
	}
}

// TestEveryStepIsDrawn: no kind of step or fault is forgotten.
func TestEveryStepIsDrawn(t *testing.T) {
	kinds := map[fault.Kind]bool{}
	for _, effect := range slices.Concat(refusals(), losses(), slownesses(), outages()) {
		kinds[effect.Kind] = true
	}
	for seed := range uint64(200) {
		for _, rule := range draw(seed, 0).faults {
			if err := rule.Validate(); err != nil {
				t.Fatal(err)
			}
			delete(kinds, rule.Effect.Kind)
		}
	}
	if len(kinds) > 0 {
		t.Errorf("never drawn: %v", kinds)
	}
}
