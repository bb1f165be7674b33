package service

import (
	"strings"
	"testing"
)

// TestCloudThatDropsUpdates: a write that is necessary again directly after it was made is reported, and made again
// only after a pause.
func TestCloudThatDropsUpdates(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.dropsUpdates = true
		r.startWithService(2)
		r.cloud.takeWrites()
		r.addNode("n")
		r.waitForSync()
		failures := r.warnings()
		const again = `does not keep what is written: "update load balancer web`
		if len(failures) != 1 || !strings.Contains(failures[0], again) {
			r.Errorf("events %q", failures)
		}
		want(r, "writes within seconds", len(r.cloud.takeWrites()), 1)
	})
}
