package faulttest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

const (
	// timeLimit is how long one work may take (virtual time). Controllers pause
	// up to five minutes between attempts, and chaos spoils many of them.
	timeLimit = 24 * time.Hour
	// settling is how long the cloud gets to finish the requests, and
	// copies of it to become old, before it is looked at.
	settling = 15 * time.Minute
	// someCalls and manyTimes bound the calls of a disturbed work: attempts of
	// a few calls each, several times what the undisturbed work needs.
	someCalls, manyTimes = 300, 10
)

// outcome is how a trial went.
type outcome struct {
	cloud   *emulator.Emulator
	calls   []call
	hits    int
	costly  int               // hits that may cost writes
	spare   int               // writes that each hit may cost, see Scenario.Spare
	certain bool              // that there had to be a hit
	end     error             // nil when the work was done
	writes  []emulator.Write  // of the work
	more    []emulator.Write  // of doing it again
	state   map[string]string // what does not belong to others, see normal
	foreign string            // difference of what belongs to others
	touched []emulator.Write
	// trespasses are writes of the system under test to what its concurrent actor made,
	// or the other way around.
	trespasses []emulator.Write
	broken     []string        // what must never be, and was
	seen       map[string]seen // lists that other runs need not decode again
	idle       map[string]bool // lists that other runs need not read before the work
}

// stage is where a work starts.
type stage struct {
	stateReader
	start  Start
	before state
	theirs map[string]bool // identities of what is foreign
}

// stage makes a new cloud and brings it to where the work starts.
func (s Scenario) stage(t *testing.T, undisturbed outcome) *stage {
	t.Helper()
	cfg := s.Cloud
	if s.Middleware != nil {
		cfg.Middleware = s.Middleware(t)
	}
	cloud, err := emulator.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	at := &stage{stateReader: stateReader{
		cloud: cloud, seed: s.Cloud.Seed, seen: maps.Clone(undisturbed.seen), idle: undisturbed.idle,
	}}
	if s.Foreign != nil {
		s.Foreign(t, cloud)
	}
	first := at.look(t, at.idle)
	at.theirs = first.identities()
	at.start = s.Begin(t, cloud)
	at.before = at.look(t, at.idle)
	if at.idle == nil {
		at.idle = at.before.empty(first)
	}
	cloud.ResetCounters()
	return at
}

// look is everything in the cloud, but for the lists to skip.
func (s *stage) look(t *testing.T, skip map[string]bool) state {
	t.Helper()
	found, err := s.everything(t.Context(), skip)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// run does the scenario's work in a new cloud under a disturbance. It has a
// bound of calls that comes from an undisturbed outcome, the zero value for the
// undisturbed one itself.
func (s Scenario) run(t *testing.T, d disturbance, undisturbed outcome) outcome {
	t.Helper()
	at := s.stage(t, undisturbed)
	guard := newGuard(at.cloud, s.Always)
	n := &network{
		cloud: at.cloud.Transport(), most: someCalls + manyTimes*len(undisturbed.calls), guard: guard,
		disturb: d.at, earlier: map[string]answer{},
	}
	if s.ConcurrentActor != nil {
		n.pace = pace
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	concurrentActor := s.ConcurrentActor.join(ctx, t, at.cloud, guard)
	work, end := n.survive(ctx, at.start)
	got := outcome{cloud: at.cloud, end: end, certain: d.certain, spare: s.Spare,
		writes: s.ConcurrentActor.others(at.cloud.Writes())}
	got.calls, got.hits, got.costly = n.stopDisturbing()
	got.end = cmp.Or(got.end, concurrentActor())
	<-time.After(settling)
	after := at.look(t, nil)
	all := at.cloud.Writes()
	got.more = s.ConcurrentActor.others(all)[len(got.writes):] // what came late counts as well
	if got.end == nil {
		at.cloud.ResetCounters()
		got.end = again(ctx, work)
		all = append(all, at.cloud.Writes()...)
		got.more = append(got.more, at.cloud.Writes()...)
	}
	guard.look("at the end")
	got.compare(at.before, after, at.theirs, s.Replaceable)
	got.attribute(all, at.before, at.theirs)
	got.broken = guard.problems()
	got.seen, got.idle = at.seen, at.idle
	return got
}

// compare looks at what the work changed: of what belongs to others, nothing
// may; the rest is to be compared with other outcomes, with or without regard to
// what was there before.
func (o *outcome) compare(before, after state, theirs map[string]bool, replaceable bool) {
	foreign := before.only(theirs)
	if was, is := changed(foreign, after.only(theirs)); len(was) > 0 {
		o.foreign = gocmp.Diff(was, is)
	}
	o.state = normal(foreign, before.except(theirs), after.except(theirs), replaceable)
}

// attribute looks for writes to what belongs to others.
func (o *outcome) attribute(writes []emulator.Write, before state, theirs map[string]bool) {
	o.touched = touching(slices.Clone(writes), before.only(theirs).references())
	o.trespasses = trespassing(writes, before.identities())
}

// normal is every list of what does not belong to others, as text that is the
// same after every good run. What is replaceable has no name.
func normal(foreign, before, after state, replaceable bool) map[string]string {
	n := names{}
	n.foreign(foreign)
	old, now := before.decoded(), after.decoded()
	for _, list := range old {
		n.keep(list)
	}
	if !replaceable {
		n.add("old", slices.Concat(slices.Collect(maps.Values(old))...))
		n.add("new", slices.Concat(slices.Collect(maps.Values(now))...))
	}
	texts := map[string]string{}
	for name, list := range now {
		texts[name] = n.text(list)
	}
	return texts
}

// values are the texts of normal as JSON values, to compare them in detail.
func values(texts map[string]string) map[string]any {
	all := map[string]any{}
	for name, text := range texts {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			value = text // still good enough to be compared
		}
		all[name] = value
	}
	return all
}

// again does what is done once more.
func again(ctx context.Context, work Work) error {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	if err := work(ctx); err != nil {
		return fmt.Errorf("the work done once more: %w", err)
	}
	return nil
}

// survive starts processes until one has done the work, and returns its work,
// or why there is none. The last process lives on until ctx ends.
func (n *network) survive(ctx context.Context, start Start) (Work, error) {
	limited, cancel := context.WithTimeoutCause(ctx, timeLimit, fmt.Errorf("the work is not done after %s", timeLimit))
	defer cancel()
	for {
		p := n.process(ctx)
		stop := context.AfterFunc(limited, func() { p.end(context.Cause(limited)) })
		work := start(p)
		err := work(p.duty)
		stop()
		cause := context.Cause(p.duty)
		if errors.Is(cause, errRelieved) || errors.Is(cause, errDied) {
			p.end(errDied)
			continue
		}
		if errors.Is(err, cause) { // the work also says what is missing
			return work, err
		}
		return work, cmp.Or(cause, err)
	}
}

// touching are the writes that name something foreign.
func touching(writes []emulator.Write, theirs map[string]bool) []emulator.Write {
	return slices.DeleteFunc(writes, func(w emulator.Write) bool {
		return !slices.ContainsFunc(named(w), func(part string) bool { return theirs[part] })
	})
}

// named are the parts of a write that may name an object.
func named(w emulator.Write) []string { return append(strings.Split(w.Path, "/"), w.Identity) }

// problems says what is wrong with the outcome; undisturbed is what to compare
// it with, nil for the undisturbed one itself.
func (o outcome) problems(undisturbed *outcome) []string {
	var all []string
	complain := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if o.end != nil {
		complain("%v; most called: %s", o.end, o.mostCalled())
	}
	if o.foreign != "" {
		complain("what belongs to others changed (-before +after):\n%s", o.foreign)
	}
	if len(o.touched) > 0 {
		complain("writes to what belongs to others:\n%s", listed(o.touched))
	}
	if len(o.trespasses) > 0 {
		complain("writes to what a concurrent actor made:\n%s", listed(o.trespasses))
	}
	if len(o.broken) > 0 {
		complain("what must never be:\n\t%s", strings.Join(o.broken, "\n\t"))
	}
	if len(o.more) > 0 {
		complain("the work was done, and doing it again wrote:\n%s", listed(o.more))
	}
	if undisturbed == nil {
		return all
	}
	if o.certain && o.hits == 0 {
		complain("no call was disturbed: the work made other calls than without disturbance")
	}
	if !maps.Equal(undisturbed.state, o.state) {
		complain("the cloud is not as after the undisturbed work (-undisturbed +disturbed):\n%s",
			gocmp.Diff(values(undisturbed.state), values(o.state)))
	}
	needed, made := done(undisturbed.writes), done(o.writes)
	if most := len(needed) + o.surplus(); len(made) > most {
		complain("%d writes, at most %d are good for %d disturbed calls and a work of %d writes:\n%s",
			len(made), most, o.hits, len(needed), listed(made))
	}
	return all
}

// surplus is how many writes the disturbance may cost. A process that is
// endsDuring costs none, where one that starts anew cannot be wrong about what
// there is.
func (o outcome) surplus() int {
	if o.spare > 1 {
		return o.spare * o.hits
	}
	return o.costly
}

// done are the writes that the cloud did. How often it is asked for what it
// refuses, because it is busy for example, depends on time alone.
func done(writes []emulator.Write) []emulator.Write {
	return slices.DeleteFunc(slices.Clone(writes),
		func(w emulator.Write) bool { return w.Status >= http.StatusBadRequest })
}

func listed(writes []emulator.Write) string {
	var lines []string
	for _, w := range writes {
		lines = append(lines,
			fmt.Sprintf("\t%s %s: %d by %s", strings.Fields(w.Operation)[0], w.Path, w.Status, w.Subject))
	}
	return strings.Join(lines, "\n")
}

// mostCalled is the operation with the most calls, and their number.
func (o outcome) mostCalled() string {
	counts := map[string]int{}
	for _, c := range o.calls {
		counts[c.operation()]++
	}
	operations := slices.SortedFunc(maps.Keys(counts), func(x, y string) int {
		return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y))
	})
	if len(operations) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%s, %d of %d calls", operations[0], counts[operations[0]], len(o.calls))
}

// logged is how many calls of a failed trial are shown.
const logged = 60

// log is the calls of the trial, the last ones if there are many.
func (o outcome) log() string {
	lines := []string{fmt.Sprintf("the %d calls:", len(o.calls))}
	for i, c := range o.calls {
		if i >= len(o.calls)-logged {
			lines = append(lines, fmt.Sprintf("\t%02d %s", i+1, c))
		}
	}
	return strings.Join(lines, "\n")
}
