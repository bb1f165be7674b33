package nodelifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// idsOf are the UIDs of so many Nodes, from one of them on.
func idsOf(from, count int) []types.UID {
	var ids []types.UID
	for n := range count {
		ids = append(ids, types.UID(fmt.Sprintf("uid-%d", from+n)))
	}
	return ids
}

func TestBudget(t *testing.T) {
	const window, old = 10 * time.Minute, time.Hour
	tests := map[string]struct {
		share, nodes, wanted int
		age                  time.Duration // of the process
		removals             []time.Duration
		want                 bool
	}{
		"a share of the Nodes":            {20, 100, 20, old, nil, true},
		"one more than that":              {20, 100, 21, old, nil, false},
		"one at least":                    {20, 3, 1, old, nil, true},
		"one of a share that is less":     {1, 20, 1, old, nil, true},
		"two of a share that is less":     {1, 20, 2, old, nil, false},
		"none ever":                       {0, 100, 1, old, nil, false},
		"what was removed counts":         {20, 3, 1, old, []time.Duration{time.Minute}, false},
		"all":                             {100, 7, 7, old, nil, true},
		"removed Nodes were Nodes, too":   {20, 95, 15, old, []time.Duration{9 * time.Minute, 3, 2, 1, 0}, true},
		"and no more than that":           {20, 94, 15, old, []time.Duration{9 * time.Minute, 3, 2, 1, 0}, false},
		"what is as old as the window":    {20, 100, 19, old, []time.Duration{window, 1}, true},
		"the last Node may be removed":    {20, 1, 1, old, nil, true},
		"a share is rounded down":         {20, 14, 3, old, nil, false},
		"a process that has just begun":   {100, 100, 2, window - 1, nil, false},
		"one in a process like that":      {100, 100, 1, 0, nil, true},
		"another one in one like that":    {100, 100, 1, window - 1, []time.Duration{1}, false},
		"a process as old as the window":  {20, 100, 20, window, nil, true},
		"none ever in a new process":      {0, 100, 1, 0, nil, false},
		"nothing is wanted, nothing goes": {20, 0, 0, old, nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			b := budget{share: tt.share, window: window, started: now.Add(-tt.age)}
			for i, ago := range tt.removals {
				b.record(idsOf(1000+i, 1)[0], now.Add(-ago))
			}
			if got := b.permits(idsOf(0, tt.nodes), idsOf(0, tt.wanted), now); got != tt.want {
				t.Errorf("admits: %v, want %v", got, tt.want)
			}
		})
	}
}

// TestRemovalCountsOnce: a deletion without an answer may not have happened, and its Node counts once.
func TestRemovalCountsOnce(t *testing.T) {
	now := time.Now()
	b := budget{share: 20, window: time.Minute}
	ids := idsOf(0, 10)
	for _, id := range ids[:2] {
		b.record(id, now)
	}
	if !b.permits(ids, ids[:2], now) {
		t.Error("two Nodes of ten may not be removed after a removal of both that had no answer")
	}
	if b.permits(ids, ids[2:3], now) {
		t.Error("a third Node of ten may be removed")
	}
	b.cancel(ids[0])
	if !b.permits(ids, ids[2:3], now) {
		t.Error("a second Node may not be removed after a removal that did not happen")
	}
}

func TestBudgetText(t *testing.T) {
	now := time.Now()
	for want, b := range map[string]budget{
		"maxRemovals is 0":         {window: time.Minute},
		"20 % of the Nodes":        {share: 20, window: time.Minute, started: now.Add(-time.Hour)},
		"first 1m0s after the pro": {share: 20, window: time.Minute, started: now},
	} {
		if text := b.text(now); !strings.Contains(text, want) {
			t.Errorf("text %q, want %q in it", text, want)
		}
	}
}
