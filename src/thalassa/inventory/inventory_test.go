package inventory

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestAges: each kind that is read has an age.
func TestAges(t *testing.T) {
	w := newRig(t, emulator.Config{})
	for _, access := range w.CheckAccess(t.Context()) {
		w.ok(access.Err)
	}
	for kind, began := range w.Ages() {
		if began().IsZero() {
			t.Errorf("there is no list of the kind %s", kind)
		}
	}
	const want = "VPC, load balancer, machine, machine type, reserved IP, route table, security group, target group"
	if got := strings.Join(slices.Sorted(maps.Keys(w.Ages())), ", "); got != want {
		t.Errorf("the kinds are %s", got)
	}
}
