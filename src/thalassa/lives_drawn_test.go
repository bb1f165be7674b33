package thalassa

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
)

// TestEveryEventIsDrawn counts what happens in some lives, and what changes the cluster there, so that no kind of event
// disappears.
func TestEveryEventIsDrawn(t *testing.T) {
	const lives = 200
	drawn, effective, delays := map[string]int{}, map[string]int{}, map[string]int{}
	for seed := range uint64(lives) {
		c, changes := cluster.New(), 0
		for _, node := range known("a", "b", "c", "d") {
			if err := c.Create(node); err != nil {
				t.Fatal(err)
			}
		}
		script := draw(life{seed: seed}, seed, nodesOf(true), func() error { changes++; return nil })
		delays[script.lag.String()]++
		for i, step := range script.steps {
			before := c.Version() + changes
			if err := step(c); err != nil {
				t.Fatalf("life %d, step %d: %v", seed, i, err)
			}
			if at := i - 2; at >= 0 && at < len(script.names) {
				drawn[script.names[at]]++
				if c.Version()+changes > before {
					effective[script.names[at]]++
				}
			}
		}
	}
	// In every life there are 25 events. Each of these changes something at least this often in 200 lives.
	least := map[string]int{
		"annotation": 150, "class": 40, "creation": 40, "deletion": 40, "endpoints": 150, "exclusion": 100,
		"machine replaced": 100,
		"name used again":  100, "node": 300, "node port": 100, "node renamed": 100, "node selector": 100,
		"policy": 100,
		"pool":   100,
		"port":   300, "quota": 150, "type": 40,
	}
	for name, want := range least {
		if effective[name] < want {
			t.Errorf("event %q was drawn %d times and changed something %d times in %d lives, want %d", name,
				drawn[name], effective[name], lives, want)
		}
	}
	for name := range drawn {
		if least[name] == 0 {
			t.Errorf("event %q is not counted", name)
		}
	}
	if len(delays) < 3 {
		t.Errorf("caches are behind by %v", delays)
	}
	t.Log("drawn", drawn, "effective", effective)
}
