package fault

import (
	"math"
	"strings"
	"testing"
	"time"
)

// valid is the least that makes a valid effect of each kind.
func valid(kind Kind) Effect {
	e := Effect{Kind: kind}
	switch kind {
	case Refuse:
		e.Status = 503
	case Latency, Stale, DeleteLag:
		e.Delay = time.Second
	default:
		// Needs nothing.
	}
	return e
}

func TestValidKinds(t *testing.T) {
	if len(Kinds()) != 16 {
		t.Errorf("%d kinds, want 16", len(Kinds()))
	}
	for _, kind := range Kinds() {
		if err := (Rule{Effect: valid(kind)}).Validate(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestValidate(t *testing.T) {
	hang := Effect{Kind: Hang}
	tests := map[string]struct {
		rule Rule
		want string
	}{
		"no kind":      {Rule{}, "effect.kind is missing: use one of latency, hang, status,"},
		"unknown kind": {Rule{Effect: Effect{Kind: "latnecy"}}, `effect.kind is "latnecy": did you mean "latency"?`},
		"no kind that exists": {Rule{Effect: Effect{Kind: "rainy weather"}},
			`effect.kind is "rainy weather": use one of latency,`},
		"id":        {Rule{ID: "a/b", Effect: hang}, `id is "a/b": use letters`},
		"path":      {Rule{Path: "v1/vpcs", Effect: hang}, `path is "v1/vpcs": it must begin with / or *`},
		"skip":      {Rule{Skip: -1, Effect: hang}, "skip is -1: it must be 0 or more"},
		"count":     {Rule{Count: -2, Effect: hang}, "count is -2: it must be 0 or more"},
		"chance":    {Rule{Probability: 1.5, Effect: hang}, "probability is 1.5: it must be 0 to 1"},
		"negative":  {Rule{Probability: -0.1, Effect: hang}, "probability is -0.1"},
		"no number": {Rule{Probability: math.NaN(), Effect: hang}, "probability is NaN"},
		"from":      {Rule{From: -time.Second, Effect: hang}, "from is -1s"},
		"until": {Rule{From: time.Minute, Until: time.Second, Effect: hang},
			"until is 1s: it must be later than from, which is 1m0s"},
		"no status": {Rule{Effect: Effect{Kind: Refuse}},
			"effect.status is missing: kind status needs one of 300 to 599"},
		"good status": {Rule{Effect: Effect{Kind: Refuse, Status: 200}},
			"effect.status is 200: kind status takes 300 to 599"},
		"quota status": {Rule{Effect: Effect{Kind: Quota, Status: 302}},
			"effect.status is 302: kind quota takes 400 to 599"},
		"page's status": {Rule{Effect: Effect{Kind: NotJSON, Status: 100}},
			"effect.status is 100: kind notJSON takes 200 to 599"},
		"fixed status": {Rule{Effect: Effect{Kind: Forbidden, Status: 401}},
			"effect.status is 401: kind forbidden does not use it"},
		"unused status": {Rule{Effect: Effect{Kind: Hang, Status: 503}},
			"effect.status is 503: kind hang does not use it"},
		"unused message": {Rule{Effect: Effect{Kind: Reset, Message: "x"}},
			"effect.message is x: kind reset does not use it"},
		"unused retry": {Rule{Effect: Effect{Kind: Drop, RetryAfter: 1}},
			"effect.retryAfter is 1ns: kind drop does not use it"},
		"long retry": {Rule{Effect: Effect{Kind: Refuse, Status: 429, RetryAfter: 48 * time.Hour}},
			"effect.retryAfter is 48h0m0s: it must be 0 to 24h"},
		"no delay":       {Rule{Effect: Effect{Kind: Stale}}, "effect.delay is 0s: kind stale needs one above 0"},
		"negative delay": {Rule{Effect: Effect{Kind: Latency, Delay: -1}}, "effect.delay is -1ns"},
		"unused delay": {Rule{Effect: Effect{Kind: Hang, Delay: time.Second}},
			"effect.delay is 1s: kind hang does not use it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := test.rule.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v: %v, want %s", test.rule, err, test.want)
			}
		})
	}
}
