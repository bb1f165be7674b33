package thalassa

import (
	"fmt"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// TestRefusalsAreNoStorm: what one write is refused for that concerns all is asked by one at a time, and so is what so
// many are refused for that it may concern all. Lists are no more than what they are asked for: the writes, and drift.
func TestRefusalsAreNoStorm(t *testing.T) {
	t.Parallel()
	for name, effect := range map[string]fault.Effect{
		"forbidden": {Kind: fault.Forbidden}, "unknown token": {Kind: fault.Refuse, Status: 401},
		"broken": {Kind: fault.Refuse, Status: 500},
		"away":   {Kind: fault.Refuse, Status: 503}, "throttled": {Kind: fault.Refuse, Status: 429},
		"silent": {Kind: fault.Drop},
		"bad":    {Kind: fault.Refuse, Status: 400}, "gone": {Kind: fault.Refuse, Status: 404},
		"conflict":      {Kind: fault.Refuse, Status: 409},
		"unprocessable": {Kind: fault.Refuse, Status: 422},
	} {
		if !tier.Has(name, 3) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			inLand(t, emulator.Switches{}, func(l *land) {
				l.join("first", "10.244.200.0/24")
				l.begin()
				for i := range tierSize().refusedNodes {
					l.join(fmt.Sprintf("n%d", i), fmt.Sprintf("10.244.%d.0/24", i))
				}
				l.disturb("POST /v1/route-tables/{id}/routes", 0, effect)
				l.emulator.ResetCounters()
				l.wait(10 * time.Minute)
				l.bounded("ten minutes", 48*attempts, 24)
				l.wait(time.Hour)
				l.bounded("an hour", 14*attempts, 42)
			})
		})
	}
}

// bounded compares the writes and lists of routes since the counters were reset.
func (l *land) bounded(period string, writes, lists int64) {
	l.Helper()
	calls := l.emulator.Counters()
	if made := int64(calls["POST /v1/route-tables/{id}/routes"]); made > writes {
		l.Errorf("%d writes within %s", made, period)
	}
	if made := int64(calls["GET /v1/route-tables"]); made > lists {
		l.Errorf("%d lists within %s", made, period)
	}
	l.emulator.ResetCounters()
}

// attempts is how often the client makes a call that it may repeat.
const attempts = 4
