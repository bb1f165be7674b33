package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/adapter"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/list"
)

// TestStrangeWitnesses: a Node that is alive and whose machine the cloud denies does not keep others from being
// removed, and neither do several, as long as some are left; however many Nodes there are.
func TestStrangeWitnesses(t *testing.T) {
	for witnesses := 2 * maxWitnesses; witnesses < 20; witnesses++ {
		t.Run(fmt.Sprint(witnesses), func(t *testing.T) {
			strangeWitnesses(t, witnesses, 1, 0)
			strangeWitnesses(t, witnesses, maxWitnesses, 1)
		})
	}
}

// strangeWitnesses denies as many of those that are asked for first; a Node is removed after some failures.
func strangeWitnesses(t *testing.T, witnesses, unknownState, failures int) {
	t.Helper()
	names := numbered(witnesses + 1)
	dead := names[witnesses]
	inBubble(t, names, func(r *rig) {
		denied := map[string]bool{}
		r.fakeCloud.set(func(c *fakeCloud) {
			c.confirm = func(id string, truth cloud.MachineState) (cloud.MachineState, error) {
				if id != fakeScheme+dead && len(denied) < unknownState {
					denied[id] = true
				}
				if denied[id] {
					return cloud.MachineGone, nil
				}
				return truth, nil
			}
		})
		r.fakeCloud.machine(dead, cloud.MachineGone)
		r.silentLimit(dead)
		r.pass(listAge + removalTime)
		for range failures {
			r.want("Nodes when no witness was there", len(r.cluster.Nodes()), witnesses+1)
			r.pass(removalTime)
		}
		r.want("Nodes", len(r.cluster.Nodes()), witnesses)
		r.want("strange witnesses", len(denied), unknownState)
	})
}

// single is a fake cloud without lists, through the interface of k8s.io/cloud-provider.
type single struct{ fakeCloud *fakeCloud }

func (s single) state(node *corev1.Node) (state cloud.MachineState) {
	s.fakeCloud.set(func(c *fakeCloud) { state = c.truth(node.Spec.ProviderID) })
	return state
}

func (s single) InstanceExists(_ context.Context, node *corev1.Node) (bool, error) {
	return s.state(node) != cloud.MachineGone, nil
}

func (s single) InstanceShutdown(_ context.Context, node *corev1.Node) (bool, error) {
	return s.state(node) == cloud.MachineStopped, nil
}

func (s single) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return nil, errors.New("not asked for here")
}

// TestAnyCloud that k8s.io/cloud-provider knows is served. One pass removes a few of many Nodes at most, and the next
// ones the rest.
func TestAnyCloud(t *testing.T) {
	names := numbered(31)
	inBubble(t, names, func(r *rig) {
		r.behaviour.Lists, r.behaviour.MaxRemovals = false, 100
		r.provider = adapter.Machines("sky", single{r.fakeCloud})
		r.start()
		r.settle()
		r.fakeCloud.machine(names[0], cloud.MachineStopped)
		for _, name := range names[1:] {
			r.fakeCloud.machine(name, cloud.MachineGone)
		}
		r.silentLimit(names[1:]...)
		r.pass(grace - period)
		r.want("Nodes within the grace period", len(r.cluster.Nodes()), 31)
		for len(r.cluster.Nodes()) == 31 && !r.Failed() {
			r.pass(period)
		}
		r.want("Nodes after the first pass that removes some", len(r.cluster.Nodes()), 31-soloRemovals)
		r.pass(period)
		r.want("Nodes after the next one", r.names(), names[0])
		r.silentLimit(names[0])
		r.pass(2 * period)
		r.want("tainted", r.tainted(), names[0])
	})
}

// TestManyEvents: of the warnings about many Nodes at once, one pass records some as events, and the next ones the
// rest.
func TestManyEvents(t *testing.T) {
	names := numbered(60)
	inBubble(t, names, func(r *rig) {
		for _, name := range names[10:] {
			r.change(name, func(node *corev1.Node) { node.Labels = map[string]string{"example.com/keep-node": "true"} })
			r.fakeCloud.machine(name, cloud.MachineGone)
		}
		r.silentLimit(names[10:]...)
		var recorded []int
		for range int((listAge + removalTime + 2*time.Minute) / period) {
			r.pass(period)
			if count := len(r.told()); count > 0 {
				recorded = append(recorded, count)
			}
		}
		all := 0
		for _, count := range recorded {
			all += count
		}
		r.want("events of the first pass", recorded[0], event.Burst)
		r.want("events of all passes", all, 50)
	})
}

// TestNamed: an event names no more Nodes than it has room for, and says how many there are.
func TestNamed(t *testing.T) {
	var subjects []*subject
	for _, name := range numbered(list.Max + 2) {
		subjects = append(subjects, &subject{node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}})
	}
	all := strings.Join(numbered(list.Max), ", ")
	if got := named(subjects[:list.Max]); got != all {
		t.Errorf("all that there is room for: %s", got)
	}
	if got, want := named(subjects), all+" and 2 more"; got != want {
		t.Errorf("two more: got %s, want %s", got, want)
	}
}
