package node

import (
	"testing"
	"time"
)

func TestAllowance(t *testing.T) {
	const window = 10 * time.Minute
	tests := map[string]struct {
		share, nodes int
		spent        []time.Duration // ago
		want         int
	}{
		"a share of the Nodes":          {20, 100, nil, 20},
		"one at least":                  {20, 3, nil, 1},
		"one even of a share of none":   {0, 100, nil, 1},
		"none when it is used up":       {20, 3, []time.Duration{time.Minute}, 0},
		"all":                           {100, 7, nil, 7},
		"removed Nodes count, too":      {20, 90, []time.Duration{9 * time.Minute, 8 * time.Minute, 7 * time.Minute, 6 * time.Minute, 5, 4, 3, 2, 1, 0}, 10},
		"what is as old as the window":  {20, 100, []time.Duration{window, 1}, 19},
		"never less than none":          {0, 10, []time.Duration{2, 1, 0}, 0},
		"the last Node may be removed":  {20, 1, nil, 1},
		"a share is rounded down":       {20, 14, nil, 2},
		"what was spent without a Node": {20, 0, nil, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			a := allowance{share: tt.share, window: window}
			for _, ago := range tt.spent {
				a.spend(now.Add(-ago))
			}
			if got := a.left(tt.nodes, now); got != tt.want {
				t.Errorf("%d may be removed, want %d", got, tt.want)
			}
		})
	}
}

func TestRefund(t *testing.T) {
	now := time.Now()
	a := allowance{share: 20, window: time.Minute}
	a.spend(now)
	a.refund()
	if got := a.left(10, now); got != 2 {
		t.Errorf("%d may be removed after a removal that did not happen, want 2", got)
	}
}
