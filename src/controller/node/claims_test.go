package node

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
)

// TestClaimOfDeletedNode: if a Node is deleted while its machine is requested, by its own reconciliation or by a
// resync, the next Node gets the machine.
func TestClaimOfDeletedNode(t *testing.T) {
	tests := map[string]func(*corev1.Node){
		"in its turn": nil,
		"in a resync": withoutTaint,
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				if change != nil { // it is not managed before it has an address of its machine
					r.register("a", func(n *corev1.Node) {
						change(n)
						n.Status.Addresses = addresses("host a, in 10.0.0.1")
					})
					r.start()
					r.warnings()
				}
				r.machine("a", nil)
				r.fakeCloud.set(func(c *fakeCloud) {
					c.err = func(name string) error {
						if name == "a" {
							if err := r.cluster.Delete(r.node("a")); err != nil {
								t.Error(err)
							}
							<-time.After(time.Second) // until the watch shows that
						}
						c.err = nil
						return nil
					}
				})
				if change == nil {
					r.register("a", nil)
					r.start()
				}
				r.pass(resyncPeriod + 10*time.Second)
				r.want("the Node was deleted", len(r.cluster.Nodes()), 0)
				r.machine("b", func(m *cloud.Machine) { m.ProviderID = fakeScheme + "a" })
				r.register("b", nil)
				r.pass(time.Minute)
				r.want("provider ID", r.node("b").Spec.ProviderID, fakeScheme+"a")
			})
		})
	}
}

// TestResyncClaimsNothing: a resync writes nothing, so it claims no machine for a Node.
func TestResyncClaimsNothing(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.machine("a", nil)
		r.register("a", func(n *corev1.Node) { withoutTaint(n); n.Status.Addresses = addresses("host a, in 10.0.0.1") })
		client, err := cluster.Client(r)
		if err != nil {
			t.Fatal(err)
		}
		r.process.Begin(client, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
			r.controller, err = New(Options{Provider: r.fakeCloud,
				Behaviour: cloud.MachineBehaviour{Domain: testDomain}, Client: client,
				Nodes:  factory.Core().V1().Nodes(),
				Period: resyncPeriod, Workers: 1, ResyncWorkers: 1, Recorder: r.process.Recorder})
			return func(ctx context.Context) {
				defer r.controller.queue.ShutDown()
				<-time.After(time.Second) // until the Node is in the cache
				r.controller.resync(ctx)
				<-ctx.Done()
			}, err
		})
		r.pass(2 * time.Second)
		r.want("Nodes that were asked about", r.fakeCloud.finds, 1)
		r.want("machines that Nodes have", len(r.controller.claims.pending), 0)
	})
}
