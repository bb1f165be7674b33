package thalassa

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// TestStateOfMachines: with the existing CCM a stopped machine is not shut down, and a node without a providerID is an
// error even when its name says which machine it is.
func TestStateOfMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Delays: emulator.Delays{MachineDelete: 5 * time.Minute}})
		node := l.nodes("a")[0]
		l.checkMachine("running", node, true, false)
		l.checkMachine("running, by name", named("a", ""), true, false)
		l.checkMachine("never there", named("b", "thalassacloud://m-unknown"), false, false)
		for _, other := range []struct {
			node *corev1.Node
			want string
		}{
			{named("never-initialised", ""), "no machine with the slug never-initialised"},
			{named("a", "aws:///i-1"), "not of this cloud"},
		} {
			if exists, err := l.answers().InstanceExists(t.Context(), other.node); exists || err == nil ||
				!strings.Contains(err.Error(), other.want) {
				t.Errorf("InstanceExists = %v, %v; want an error with %q", exists, err, other.want)
			}
		}

		if err := l.emulator.StopMachine("a"); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Minute) // longer than answers are kept
		l.checkMachine("stopped", node, true, true)
		if err := l.emulator.DeleteMachine("a"); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Minute)
		l.checkMachine("being deleted", node, true, true)
		<-time.After(5 * time.Minute)
		l.checkMachine("deleted", node, false, false)
	})
}

func (l *lab) checkMachine(what string, node *corev1.Node, exists, off bool) {
	l.Helper()
	if got, err := l.answers().InstanceExists(l.Context(), node); got != exists || err != nil {
		l.Errorf("%s: InstanceExists = %v, %v; want %v", what, got, err, exists)
	}
	if got, err := l.answers().InstanceShutdown(l.Context(), node); got != off || err != nil {
		l.Errorf("%s: InstanceShutdown = %v, %v; want %v", what, got, err, off)
	}
}

// TestListsForMetadata: the existing CCM lists all machines and reads the VPC anew for every node, and goes by the
// node's name whatever its providerID says.
func TestListsForMetadata(t *testing.T) {
	l := newLab(t, emulator.Config{}).overHTTP()
	identities, err := l.emulator.AddMachines(1000)
	if err != nil {
		t.Fatal(err)
	}
	l.emulator.ResetCounters()
	for i := range 1000 {
		node := named(fmt.Sprintf("machine-%05d", i+1), "")
		if i%2 == 1 {
			node = named("another-name", providerid.Of(identities[i]))
		}
		if _, err := l.answers().InstanceMetadata(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	if calls := l.calls(); calls > 5 {
		t.Errorf("initialising 1,000 nodes made %d calls, want at most 5: %v", calls, l.emulator.Counters())
	}
}

// TestMetadataWithoutZones: the existing CCM parses zoneAndRegionEnabled and never reads it.
func TestMetadataWithoutZones(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		l := newLab(t, emulator.Config{})
		l.nodes("worker-1")
		l.config.InstancesV2.ZoneAndRegionEnabled = enabled
		l.restart()
		got, err := l.answers().InstanceMetadata(t.Context(), named("worker-1", ""))
		if err != nil || (got.Zone != "") != enabled || (got.Region != "") != enabled {
			t.Errorf("zoneAndRegionEnabled %v: %+v, error %v", enabled, got, err)
		}
		if vpcs := l.emulator.Counters()["GET /v1/vpcs/{id}"]; !enabled && vpcs > 0 {
			t.Errorf("the VPC is read %d times for a region that nobody wants", vpcs)
		}
	}
}
