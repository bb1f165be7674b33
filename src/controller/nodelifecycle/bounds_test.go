package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/adapter"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestCanariesWithoutMachine: one or several ready Nodes whose machines the cloud denies do not block the removal of
// others, as long as some canaries exist, for any number of Nodes.
func TestCanariesWithoutMachine(t *testing.T) {
	for canaries := 2 * maxCanaries; canaries < 20; canaries++ {
		t.Run(fmt.Sprint(canaries), func(t *testing.T) {
			testCanaries(t, canaries, 1, 0)
			testCanaries(t, canaries, maxCanaries, 1)
		})
	}
}

// testCanaries denies the machines of the canaries that are requested first. The Node is deleted after some failures.
func testCanaries(t *testing.T, canaries, denials, failures int) {
	t.Helper()
	names := numbered(canaries + 1)
	missing := names[canaries]
	inBubble(t, names, func(r *rig) {
		denied := map[string]bool{}
		r.fakeCloud.set(func(c *fakeCloud) {
			c.confirm = func(id string, truth cloud.MachineState) (cloud.MachineState, error) {
				if id != fakeScheme+missing && len(denied) < denials {
					denied[id] = true
				}
				if denied[id] {
					return cloud.MachineGone, nil
				}
				return truth, nil
			}
		})
		r.fakeCloud.machine(missing, cloud.MachineGone)
		r.stopKubelets(missing)
		r.pass(listAge + removalTime)
		for range failures {
			r.want("Nodes without a canary", len(r.cluster.Nodes()), canaries+1)
			r.pass(removalTime)
		}
		r.want("Nodes", len(r.cluster.Nodes()), canaries)
		r.want("answers about canaries that differ", len(denied), denials)
	})
}

// unlistedCloud is a fake cloud without lists, through the interface of k8s.io/cloud-provider.
type unlistedCloud struct{ fakeCloud *fakeCloud }

func (s unlistedCloud) state(node *corev1.Node) (state cloud.MachineState) {
	s.fakeCloud.set(func(c *fakeCloud) { state = c.actual(node.Spec.ProviderID) })
	return state
}

func (s unlistedCloud) InstanceExists(_ context.Context, node *corev1.Node) (bool, error) {
	return s.state(node) != cloud.MachineGone, nil
}

func (s unlistedCloud) InstanceShutdown(_ context.Context, node *corev1.Node) (bool, error) {
	return s.state(node) == cloud.MachineStopped, nil
}

func (s unlistedCloud) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return nil, errors.New("not asked for here")
}

// TestLibraryCloud: the controller works with a cloud that implements only k8s.io/cloud-provider. One pass deletes at
// most a few of many Nodes, and the next ones the rest.
func TestLibraryCloud(t *testing.T) {
	names := numbered(31)
	inBubble(t, names, func(r *rig) {
		r.behaviour.Lists, r.behaviour.MaxRemovals = false, 100
		r.provider = adapter.Machines("sky", unlistedCloud{r.fakeCloud})
		r.start()
		r.settle()
		r.fakeCloud.machine(names[0], cloud.MachineStopped)
		for _, name := range names[1:] {
			r.fakeCloud.machine(name, cloud.MachineGone)
		}
		r.stopKubelets(names[1:]...)
		r.pass(grace - period)
		r.want("Nodes within the grace period", len(r.cluster.Nodes()), 31)
		for len(r.cluster.Nodes()) == 31 && !r.Failed() {
			r.pass(period)
		}
		r.want("Nodes after the first pass that removes some", len(r.cluster.Nodes()), 31-maxRemovalsWithoutLists)
		r.pass(period)
		r.want("Nodes after the next one", r.names(), names[0])
		r.stopKubelets(names[0])
		r.pass(2 * period)
		r.want("tainted", r.tainted(), names[0])
	})
}
