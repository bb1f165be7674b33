package fault

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Set is the rules in force, in the order in which they were added. Its zero
// value is empty and ready to use. It is safe for concurrent use.
type Set struct {
	// Creates says which operations create objects, for Quota; nil: every POST.
	Creates func(operation string) bool
	// Lists says which GETs read lists, for Partial; nil: those that do not end in
	// a path parameter.
	Lists func(operation string) bool
	// Met is called with the context of a call that meets a fault; nil: nothing is.
	Met func(ctx context.Context, kind Kind)

	mu      sync.Mutex
	entries []*entry
	serial  int
	fired   map[Kind]int
}

// entry is a rule in force.
type entry struct {
	Rule
	added          time.Time
	matched, fired int
	// chance decides who is disturbed, parts what is random about it: two, so that
	// the one does not depend on how often the other was asked.
	chance, parts *rand.Rand
	// cleared is closed when the rule is taken out.
	cleared chan struct{}
}

// Add puts a rule in force and returns its ID.
func (s *Set) Add(r Rule) (id string, err error) {
	if err := r.Validate(); err != nil {
		return "", fmt.Errorf("adding a fault: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ID == "" {
		r.ID = s.newID()
	} else if s.has(r.ID) {
		return "", fmt.Errorf("adding a fault: id %q is taken; clear that rule first or choose another id", r.ID)
	}
	s.entries = append(s.entries, &entry{
		Rule: r, added: time.Now(), cleared: make(chan struct{}),
		chance: rand.New(rand.NewPCG(r.Seed, 0)), parts: rand.New(rand.NewPCG(r.Seed, 1)),
	})
	return r.ID, nil
}

// newID is an ID that no rule has or had, unless somebody else chose it.
func (s *Set) newID() string {
	for {
		s.serial++
		if id := fmt.Sprintf("fault-%d", s.serial); !s.has(id) {
			return id
		}
	}
}

func (s *Set) has(id string) bool {
	return slices.ContainsFunc(s.entries, func(e *entry) bool { return e.ID == id })
}

// Clear takes the rules with these IDs out, or all without any ID, and returns
// how many there were. Calls that wait because of them go on.
func (s *Set) Clear(ids ...string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.entries)
	s.entries = slices.DeleteFunc(s.entries, func(e *entry) bool {
		if len(ids) > 0 && !slices.Contains(ids, e.ID) {
			return false
		}
		close(e.cleared)
		return true
	})
	return before - len(s.entries)
}

// Rules are the rules in force and what became of them, oldest first.
func (s *Set) Rules() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	out := []Status{}
	for _, e := range s.entries {
		out = append(out, Status{Rule: e.Rule, Matched: e.matched, Fired: e.fired, Spent: e.spent(now)})
	}
	return out
}

// Fired counts the calls that were disturbed since the start, by kind of fault.
func (s *Set) Fired() map[Kind]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.fired)
}

// Longest is the longest Effect.Delay of the rules of one kind that are not
// spent; 0 when there are none.
func (s *Set) Longest(kind Kind) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var longest time.Duration
	now := time.Now()
	for _, e := range s.entries {
		if e.Effect.Kind == kind && !e.spent(now) {
			longest = max(longest, e.Effect.Delay)
		}
	}
	return longest
}

func (e *entry) spent(now time.Time) bool {
	return e.Count > 0 && e.fired >= e.Count || e.Until > 0 && now.Sub(e.added) >= e.Until
}

// hit is a fault that a call meets.
type hit struct {
	Effect
	// seed makes what is random about the fault repeatable.
	seed    uint64
	cleared <-chan struct{}
}

// decide finds what a call meets: all latencies and the first other fault.
// Every rule sees every call that matches it, so that Skip and Probability do
// not depend on other rules.
func (s *Set) decide(operation string, r *http.Request) (waits []hit, fault *hit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, e := range s.entries {
		if !e.matches(operation, r, now) || !s.applies(e.Effect.Kind, operation, r) {
			continue
		}
		e.matched++
		if !e.due() || e.spent(now) || e.Effect.Kind != Latency && fault != nil {
			continue
		}
		e.fired++
		if s.fired == nil {
			s.fired = map[Kind]int{}
		}
		s.fired[e.Effect.Kind]++
		met := hit{Effect: e.Effect, seed: e.parts.Uint64(), cleared: e.cleared}
		if e.Effect.Kind == Latency {
			waits = append(waits, met)
		} else {
			fault = &met
		}
	}
	return waits, fault
}

func (e *entry) matches(operation string, r *http.Request, now time.Time) bool {
	age := now.Sub(e.added)
	return age >= e.From && (e.Until == 0 || age < e.Until) && e.Covers(operation) && glob(e.Path, r.URL.Path)
}

// due reports whether a matching call is to be disturbed, before Count. It draws
// for every call behind Skip, whatever other rules do.
func (e *entry) due() bool {
	if e.matched <= e.Skip {
		return false
	}
	certain := e.Probability == 0 || e.Probability == 1
	return certain || e.chance.Float64() < e.Probability
}

// applies reports whether a kind of fault makes sense for a call.
func (s *Set) applies(kind Kind, operation string, r *http.Request) bool {
	switch kind {
	case Quota:
		if r.Method != http.MethodPost || s.Creates == nil {
			return r.Method == http.MethodPost
		}
		return s.Creates(operation)
	case Stale:
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	case Partial:
		if r.Method != http.MethodGet || s.Lists == nil {
			return r.Method == http.MethodGet && !strings.HasSuffix(operation, "}")
		}
		return s.Lists(operation)
	case DeleteLag:
		return r.Method == http.MethodDelete
	default:
		return true
	}
}
