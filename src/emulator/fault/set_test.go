package fault

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const list = "GET /v1/machines"

// decisions lets a set decide about n calls and writes a letter for each: the
// first of the kind of fault, or a dot.
func decisions(s *Set, operation string, n int) string {
	var out strings.Builder
	method, path, _ := strings.Cut(operation, " ")
	for range n {
		letter := "."
		if _, fault := s.decide(operation, httptest.NewRequest(method, path, nil)); fault != nil {
			letter = string(fault.Kind[0])
		}
		out.WriteString(letter)
	}
	return out.String()
}

func add(t *testing.T, s *Set, rules ...Rule) {
	t.Helper()
	for _, r := range rules {
		if _, err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDecisions(t *testing.T) {
	hang, drop := Effect{Kind: Hang}, Effect{Kind: Drop}
	tests := map[string]struct {
		rules []Rule
		want  string
	}{
		"no rule":            {nil, "......"},
		"always":             {[]Rule{{Effect: hang}}, "hhhhhh"},
		"skip":               {[]Rule{{Skip: 2, Effect: hang}}, "..hhhh"},
		"count":              {[]Rule{{Count: 2, Effect: hang}}, "hh...."},
		"both":               {[]Rule{{Skip: 1, Count: 2, Effect: hang}}, ".hh..."},
		"first wins":         {[]Rule{{Count: 2, Effect: hang}, {Effect: drop}}, "hhdddd"},
		"skip sees all":      {[]Rule{{Count: 2, Effect: hang}, {Skip: 3, Effect: drop}}, "hh.ddd"},
		"count is not spent": {[]Rule{{Count: 2, Effect: hang}, {Count: 2, Effect: drop}}, "hhdd.."},
		"certainty":          {[]Rule{{Probability: 1, Effect: hang}}, "hhhhhh"},
		"other operation":    {[]Rule{{Operation: "POST *", Effect: hang}}, "......"},
		"other path":         {[]Rule{{Path: "/v1/vpcs*", Effect: hang}}, "......"},
		"this path":          {[]Rule{{Path: "/v1/mach*", Effect: hang}}, "hhhhhh"},
		"not a deletion":     {[]Rule{{Effect: valid(DeleteLag)}}, "......"},
		"not a creation":     {[]Rule{{Effect: valid(Quota)}}, "......"},
		"stale":              {[]Rule{{Effect: valid(Stale)}}, "ssssss"},
		"latency does not":   {[]Rule{{Effect: valid(Latency)}, {Effect: hang}}, "hhhhhh"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var s Set
			add(t, &s, test.rules...)
			if got := decisions(&s, list, 6); got != test.want {
				t.Errorf("decisions %s, want %s", got, test.want)
			}
		})
	}
}

func TestKindsApply(t *testing.T) {
	creates := func(operation string) bool { return operation == "POST /v1/machines" }
	tests := map[string]struct {
		kind      Kind
		set       *Set
		operation string
		want      string
	}{
		"creation":           {Quota, &Set{Creates: creates}, "POST /v1/machines", "q"},
		"action":             {Quota, &Set{Creates: creates}, "POST /v1/machines/{id}/stop", "."},
		"any POST":           {Quota, &Set{}, "POST /v1/machines/{id}/stop", "q"},
		"update":             {Quota, &Set{}, "PUT /v1/machines/{id}", "."},
		"list":               {Partial, &Set{}, list, "p"},
		"one":                {Partial, &Set{}, "GET /v1/machines/{id}", "."},
		"odd list":           {Partial, &Set{Lists: func(string) bool { return true }}, "GET /v1/rules/{vpc}", "p"},
		"no list":            {Partial, &Set{Lists: func(string) bool { return false }}, list, "."},
		"one, stale":         {Stale, &Set{}, "GET /v1/machines/{id}", "s"},
		"headers":            {Stale, &Set{}, "HEAD /v1/machines", "s"},
		"write, stale":       {Stale, &Set{}, "POST /v1/machines", "."},
		"deletion":           {DeleteLag, &Set{}, "DELETE /v1/machines/{id}", "d"},
		"everything hangs":   {Hang, &Set{}, "DELETE /v1/machines/{id}", "h"},
		"writes are dropped": {Drop, &Set{}, "PUT /v1/machines/{id}", "d"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			add(t, test.set, Rule{Effect: valid(test.kind)})
			if got := decisions(test.set, test.operation, 1); got != test.want {
				t.Errorf("%s: %s, want %s", test.operation, got, test.want)
			}
			if matched := test.set.Rules()[0].Matched; (matched == 0) != (test.want == ".") {
				t.Errorf("%d calls matched", matched)
			}
		})
	}
}

func TestProbability(t *testing.T) {
	const calls = 1000
	decide := func(seed uint64, before ...Rule) string {
		var s Set
		add(t, &s, before...)
		add(t, &s, Rule{Probability: 0.3, Seed: seed, Effect: valid(Partial)})
		return decisions(&s, list, calls)
	}
	one := decide(1)
	if n := strings.Count(one, "p"); n < 250 || n > 350 {
		t.Errorf("%d of %d calls were disturbed, want about 300", n, calls)
	}
	if decide(1) != one || decide(2) == one {
		t.Error("the same seed must lead to the same decisions, another one to others")
	}
	// A rule that wins the first calls takes nothing away from later decisions.
	if other := decide(1, Rule{Count: 100, Effect: Effect{Kind: Hang}}); other[100:] != one[100:] {
		t.Error("decisions depend on other rules")
	}
}

func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Set
		add(t, &s, Rule{From: 10 * time.Second, Until: 20 * time.Second, Effect: Effect{Kind: Hang}})
		for _, step := range []struct {
			after time.Duration
			want  string
			spent bool
		}{
			{0, ".", false}, {10 * time.Second, "h", false}, {9 * time.Second, "h", false}, {time.Second, ".", true},
		} {
			<-time.After(step.after)
			if got := decisions(&s, list, 1); got != step.want || s.Rules()[0].Spent != step.spent {
				t.Errorf("%s later: %s, spent %t, want %s, %t", step.after, got, s.Rules()[0].Spent, step.want,
					step.spent)
			}
		}
	})
}

func TestLatenciesAddUp(t *testing.T) {
	var s Set
	add(t, &s, Rule{Effect: valid(Latency)}, Rule{Effect: Effect{Kind: Hang}}, Rule{Effect: valid(Latency)},
		Rule{Effect: Effect{Kind: Drop}})
	waits, fault := s.decide(list, httptest.NewRequest(http.MethodGet, "/v1/machines", nil))
	if len(waits) != 2 || fault == nil || fault.Kind != Hang {
		t.Errorf("%d waits and %+v, want 2 and the first fault", len(waits), fault)
	}
	if diff := cmp.Diff(map[Kind]int{Latency: 2, Hang: 1}, s.Fired()); diff != "" {
		t.Errorf("Fired (-want +got):\n%s", diff)
	}
}

func TestRules(t *testing.T) {
	var s Set
	if got := s.Rules(); got == nil || len(got) != 0 {
		t.Errorf("an empty set has rules %v", got)
	}
	hang := Effect{Kind: Hang}
	add(t, &s, Rule{ID: "fault-1", Effect: hang, Count: 1}, Rule{Effect: hang, Skip: 1},
		Rule{ID: "mine", Operation: "POST *", Effect: hang})
	decisions(&s, list, 3)
	want := []Status{
		{Rule: Rule{ID: "fault-1", Effect: hang, Count: 1}, Matched: 3, Fired: 1, Spent: true},
		{Rule: Rule{ID: "fault-2", Effect: hang, Skip: 1}, Matched: 3, Fired: 2},
		{Rule: Rule{ID: "mine", Operation: "POST *", Effect: hang}},
	}
	if diff := cmp.Diff(want, s.Rules()); diff != "" {
		t.Errorf("Rules (-want +got):\n%s", diff)
	}
}

func TestAddRefuses(t *testing.T) {
	var s Set
	add(t, &s, Rule{ID: "mine", Effect: Effect{Kind: Hang}})
	if _, err := s.Add(Rule{ID: "mine", Effect: Effect{Kind: Hang}}); err == nil ||
		!strings.Contains(err.Error(), `id "mine" is taken`) {
		t.Errorf("the same ID again: %v", err)
	}
	if _, err := s.Add(Rule{}); err == nil || !strings.Contains(err.Error(), "adding a fault: effect.kind is missing") {
		t.Errorf("no kind: %v", err)
	}
}

func TestClear(t *testing.T) {
	var s Set
	add(t, &s, Rule{ID: "a", Effect: Effect{Kind: Hang}}, Rule{ID: "b", Effect: Effect{Kind: Drop}},
		Rule{ID: "c", Effect: Effect{Kind: Hang}})
	if n := s.Clear("a", "x"); n != 1 || len(s.Rules()) != 2 {
		t.Errorf("%d cleared, leaving %v", n, s.Rules())
	}
	if got := decisions(&s, list, 1); got != "d" {
		t.Errorf("decision %s, want the next rule's", got)
	}
	if n := s.Clear(); n != 2 || len(s.Rules()) != 0 {
		t.Errorf("%d cleared, leaving %v", n, s.Rules())
	}
	if got := s.Fired(); got[Drop] != 1 {
		t.Errorf("Fired = %v, want it to outlast the rules", got)
	}
	id, err := s.Add(Rule{Effect: Effect{Kind: Hang}})
	again, err2 := s.Add(Rule{Effect: Effect{Kind: Hang}})
	if id == again || err != nil || err2 != nil {
		t.Errorf("IDs %q and %q, %v, %v, want two", id, again, err, err2)
	}
}

func TestLongest(t *testing.T) {
	var s Set
	if got := s.Longest(Stale); got != 0 {
		t.Errorf("without rules: %s, want 0", got)
	}
	add(t, &s, Rule{ID: "a", Effect: Effect{Kind: Stale, Delay: time.Minute}, Count: 1},
		Rule{Effect: Effect{Kind: Stale, Delay: time.Second}}, Rule{Effect: Effect{Kind: Latency, Delay: time.Hour}})
	if got := s.Longest(Stale); got != time.Minute {
		t.Errorf("%s, want 1m", got)
	}
	decisions(&s, list, 1)
	if got := s.Longest(Stale); got != time.Second {
		t.Errorf("%s after the first rule was spent, want 1s", got)
	}
}
