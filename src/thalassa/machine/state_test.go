package machine

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// TestStateOf: only a machine that is deleted is gone. One that is being deleted exists, and other words prove nothing.
func TestStateOf(t *testing.T) {
	for state, want := range map[string]cloud.MachineState{"running": cloud.MachineRunning,
		"stopped": cloud.MachineStopped, "deleting": cloud.MachineDeleting, "deleted": cloud.MachineGone,
		"": cloud.MachineUnknown, "migrating": cloud.MachineUnknown} {
		if got := stateOf(inventory.Machine{State: state}, true); got != want {
			t.Errorf("%q is %s, want %s", state, got, want)
		}
	}
	if got := stateOf(inventory.Machine{}, false); got != cloud.MachineGone {
		t.Errorf("one that was not found is %s", got)
	}
}
