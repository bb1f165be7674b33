package thalassa

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestKeepAndAdopt: a load balancer that is kept is nobody's, and another Service gets it with its address, its traffic
// and its settings, and deletes it. The plans are tested in the package balancer.
func TestKeepAndAdopt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes := l.nodes("a", "b")
		first := serviceWith(annotated("on-delete", "keep", "create-security-group", "true", "max-connections", "77"))
		address, before := ips(l.settle(first, nodes)), l.only()
		l.remove(first)
		if owned, err := l.cloud.balancers.ListManaged(t.Context()); err != nil || len(owned) > 0 ||
			l.only().Labels[label.ServiceUID] != "" {
			t.Errorf("owned %v, error %v, labels %v; want nothing", owned, err, l.only().Labels)
		}
		second := service("second", 80, 8443)
		second.Spec.Ports[0].NodePort = 31080
		annotated("adopt", before.Identity)(second)
		if _, err := l.ensure(second, nodes); err == nil ||
			!strings.Contains(err.Error(), "does not say that it may be adopted") {
			t.Errorf("error %v, want one that says how it is permitted", err)
		}
		l.putBalancer(set("annotations", map[string]string{annotationAdoptable: "k8s-test/shop/second"}))
		if got := ips(l.settle(second, nodes[:1])); got != address {
			t.Errorf("published %q, want the address that was kept, %q", got, address)
		}
		l.restart()
		l.emulator.ResetCounters()
		l.settle(second, nodes[:1])
		if writes := l.writes(); len(writes) > 0 {
			t.Errorf("looking again writes %v", writes)
		}
		lb := l.only()
		if port := lb.Listeners[0]; lb.Identity != before.Identity || len(lb.Listeners) != 2 ||
			port.MaxConnections != 77 || port.TargetGroup.TargetPort != 31080 ||
			len(l.machines(port.TargetGroup.Name)) != 1 {
			t.Errorf("adopted: %+v", lb)
		}
		l.remove(second)
		if left := l.leftovers(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}
