package ironcore

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
)

// TestBudgetsComparedWithTheExistingProgram: the work that the documentation compares with cloud-provider-ironcore, in
// a cluster of the same size and without routes, costs no more requests than it says there.
func TestBudgetsComparedWithTheExistingProgram(t *testing.T) {
	t.Parallel()
	const nodes, services = 10, 10
	synctest.Test(t, func(t *testing.T) {
		c := newLargeCluster(t, true, nodes, services)
		join := func(name string) {
			c.addMachine(name)
			c.register(name, pods(0))
			c.changeNode(name, func(n *corev1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "", nil })
		}
		for i := range nodes {
			join(nodeName(i))
		}
		c.begin()
		defer func() { c.stop() }()
		for _, row := range []struct {
			work string
			do   func()
		}{
			{"start", func() {}},
			{"create", func() { c.eachService(func(s *corev1.Service) error { return c.objects.Create(s) }) }},
			{"quiet", func() {}},
			{"port", func() {
				if err := c.objects.Change(numbered(0), func(object cluster.Object) {
					s := object.(*corev1.Service)
					s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "another", Port: 8443,
						Protocol: corev1.ProtocolTCP})
				}); err != nil {
					t.Fatal(err)
				}
			}},
			{"join", func() { join(nodeName(nodes)) }},
			{"leave", func() {
				c.changeNode(nodeName(0), setUnknown)
				c.server.DeleteMachine(nodeName(0))
			}},
			{"restart", func() {
				c.stop()
				c.begin()
			}},
			{"delete", func() { c.eachService(func(s *corev1.Service) error { return c.objects.Delete(s) }) }},
		} {
			row.do()
			pass(305 * time.Second)
			did := c.count()
			c.within(map[string]float64{"ironcore-ten-" + row.work: did.lists + did.calls})
		}
		want(t, "Nodes", len(c.objects.Nodes()), nodes)
		want(t, "load balancers", len(c.server.LoadBalancers()), 0)
	})
}
