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

// TestLoadBalancerOfTheSameName: the existing CCM takes any load balancer of the right name for its own, and deletes
// it with the Service. Ours makes none beside one that may be the Service's, and changes neither that nor one that is
// another owner's.
func TestLoadBalancerOfTheSameName(t *testing.T) {
	web := service("web", 80)
	owners := map[string]struct {
		labels iaas.Labels
		makes  bool // one of its own
	}{
		"nobody's":   {},
		"a person's": {labels: iaas.Labels{"team": "shop"}},
		"another cluster's": {iaas.Labels{label.Cluster: "k8s-other", label.Managed: "true",
			label.ServiceUID: string(web.UID)}, true},
		"another Service's": {iaas.Labels{label.Cluster: "k8s-test", label.Managed: "true",
			label.ServiceUID: "another"},
			true},
		"not managed by any CCM": {labels: iaas.Labels{label.Cluster: "k8s-test", label.ServiceUID: string(web.UID)}},
	}
	for name, tt := range owners {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				foreign := iaas.CreateLoadbalancer{Name: "a0a1b2c3dweb", Subnet: emulator.DefaultSubnet,
					Labels: tt.labels}
				if _, err := l.api().CreateLoadbalancer(t.Context(), foreign); err != nil {
					t.Fatal(err)
				}
				nodes, before := l.nodes("a"), l.balancer()
				err := l.settled(web, nodes)
				if all := l.list("/v1/loadbalancers"); (len(all) == 2) != tt.makes || (err == nil) != tt.makes {
					t.Errorf("%d load balancers, error %v; want another one: %t", len(all), err, tt.makes)
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
