package thalassa

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// ranges are source ranges in the spec.
func ranges(texts ...string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = texts }
}

// allowed are the allowed sources of the load balancer's ports.
func (l *lab) allowed() map[int][]string {
	l.Helper()
	allowed := map[int][]string{}
	for _, listener := range l.balancer().LoadbalancerListeners {
		allowed[listener.Port] = listener.AllowedSources
	}
	return allowed
}

// TestLoadBalancerOfTheSameName: the existing CCM takes any load balancer of the right name for its own, and
// deletes it with the Service. Ours does not take one that is another owner's, and does not change it.
func TestLoadBalancerOfTheSameName(t *testing.T) {
	web := service("web", 80)
	for name, labels := range map[string]iaas.Labels{
		"another cluster's": {label.Cluster: "k8s-other", label.Managed: "true", label.ServiceUID: string(web.UID)},
		"another Service's": {label.Cluster: "k8s-test", label.Managed: "true", label.ServiceUID: "another"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				foreign := iaas.CreateLoadbalancer{Name: "a0a1b2c3dweb", Subnet: emulator.DefaultSubnet, Labels: labels}
				if _, err := l.api().CreateLoadbalancer(t.Context(), foreign); err != nil {
					t.Fatal(err)
				}
				nodes, before := l.nodes("a"), l.balancer()
				l.settle(web, nodes)
				if all := l.list("/v1/loadbalancers"); len(all) != 2 {
					t.Errorf("%d load balancers; want another one", len(all))
				}
				l.remove(web)
				if diff := cmp.Diff(before, l.balancer()); diff != "" {
					t.Errorf("the other one (-was +is):\n%s", diff)
				}
				if left := l.leftovers(); len(left) != 1 {
					t.Errorf("left in the cloud: %v; want that load balancer and nothing else", left)
				}
			})
		})
	}
}
