package service

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// withSelector sets the node selector of a Service.
func withSelector(selector string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations = map[string]string{"plain/nodes": selector} }
}

// labelNode replaces the labels of a node by one label.
func (r *rig) labelNode(node, key, value string) {
	r.Helper()
	r.changeNode(node, func(n *corev1.Node) { n.Labels = map[string]string{key: value} })
}

// TestNodeSelector: only nodes that match are targets, soon after their labels change. Services with other selectors
// are not reconciled then.
func TestNodeSelector(t *testing.T) {
	inRig(t, func(r *rig) {
		r.labelNode("a", "pool", "web")
		r.start(2)
		r.addService("all")
		r.addService("other", withSelector("disk=fast"))
		r.addService("web", withSelector("pool=web"))
		r.waitForSync()
		want(r, "one of two", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a")
		want(r, "without a selector", r.cloud.contents()["all"], "80/TCP to 30080 on vm-a vm-b")

		r.cloud.takeWrites()
		r.events()
		comparisons := r.comparisons()
		r.addNode("c") // a target of "all", but not of "web"
		r.waitForSync()
		want(r, "comparisons because a node joined, and once more after the write", r.comparisons()-comparisons, 4)
		wantList(r, "writes", r.cloud.takeWrites(), "update load balancer all: [vm-a vm-b] becomes [vm-a vm-b vm-c]")

		r.labelNode("b", "pool", "web")
		<-time.After(addWindow / 2)
		r.labelNode("c", "pool", "web")
		wantList(r, "before the window is over", r.cloud.takeWrites())
		r.waitForSync()
		wantList(r, "two that match now", r.cloud.takeWrites(),
			"update load balancer web: [vm-a] becomes [vm-a vm-b vm-c]")

		r.labelNode("a", "pool", "db")
		<-time.After(removeWindow + time.Millisecond)
		wantList(r, "one that does not any more", r.cloud.takeWrites(),
			"update load balancer web: [vm-a vm-b vm-c] becomes [vm-b vm-c]")

		comparisons = r.comparisons()
		r.labelNode("a", "pool", "queue")
		r.changeNode("b", func(n *corev1.Node) { n.Labels["zone"] = "2" })
		r.waitForSync()
		want(r, "comparisons because of labels that no Service selects", r.comparisons()-comparisons, 0)

		r.changeService("web", withSelector("zone=2"))
		r.waitForSync()
		wantList(r, "another selector", r.cloud.takeWrites(), "update load balancer web: [vm-b vm-c] becomes [vm-b]")
		r.changeService("web", func(s *corev1.Service) { s.Annotations = nil })
		r.waitForSync()
		wantList(r, "none any more", r.cloud.takeWrites(), "update load balancer web: [vm-b] becomes [vm-a vm-b vm-c]")
		comparisons = r.comparisons()
		r.labelNode("b", "zone", "3")
		r.waitForSync()
		want(r, "comparisons because of what no Service selects any more", r.comparisons()-comparisons, 0)

		for _, name := range []string{"all", "other", "web"} {
			r.deleteService(name)
		}
		r.waitForSync()
		want(r, "remembered", len(r.controller.nodeSet.selectors), 0)
		r.labelNode("a", "disk", "fast") // counts for the next Service with a selector
		r.addService("next", withSelector("disk=fast"))
		r.waitForSync()
		want(r, "a Service with a selector that was known", r.cloud.contents()["next"], "80/TCP to 30080 on vm-a")
	})
}

// TestNoNodeMatches: if no node matches, the targets do not change, and an event reports it.
func TestNoNodeMatches(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.addService("web", withSelector("pool=web"))
		r.waitForSync()
		want(r, "a new one", r.cloud.contents()["web"], "80/TCP to 30080 on ")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False NoNodeMatches")
		wantList(r, "events", r.events(), "Warning NoNodeMatches", "Normal EnsuringLoadBalancer",
			"Normal EnsuredLoadBalancer")
		r.labelNode("a", "pool", "web")
		r.waitForSync()
		want(r, "one matches", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "True AsWanted")
		r.events()
		r.labelNode("a", "pool", "db")
		r.waitForSync()
		want(r, "none any more", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a")
		<-time.After(time.Hour)
		wantList(r, "events", r.events(), "Warning NoNodeMatches")
	})
}

// TestInvalidSelector: with an invalid selector, the targets do not change.
func TestInvalidSelector(t *testing.T) {
	inRig(t, func(r *rig) {
		r.labelNode("a", "pool", "web")
		r.start(1)
		r.addService("web", withSelector("pool=web"))
		r.waitForSync()
		r.changeService("web", withSelector("pool in"))
		r.labelNode("b", "pool", "web")
		r.addNode("c")
		r.waitForSync()
		want(r, "which nodes is not known", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a")
		r.changeService("web", withSelector("pool=web"))
		r.waitForSync()
		want(r, "mended", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b")
	})
}

// TestNodeSelectorAndLocal: with the policy Local, a target matches the selector and has a ready endpoint.
func TestNodeSelectorAndLocal(t *testing.T) {
	inRig(t, func(r *rig) {
		r.addNode("c")
		r.labelNode("a", "pool", "web")
		r.labelNode("b", "pool", "web")
		r.start(1)
		r.setEndpoints("web", "b", "c")
		r.addService("web", withSelector("pool=web"), localPolicy)
		r.waitForSync()
		want(r, "both", r.cloud.contents()["web"], "80/TCP to 30080 on vm-b")
		r.events()
		r.setEndpoints("web", "c")
		r.waitForSync()
		want(r, "no node with an endpoint matches", r.cloud.contents()["web"], "80/TCP to 30080 on vm-b")
		wantList(r, "events", r.events(), "Warning NoNodeMatches")
		r.setEndpoints("web")
		r.waitForSync()
		wantList(r, "events without any endpoint", r.events(), "Warning NoReadyEndpoints")
	})
}

// TestEqualSelectors: the targets of selectors with the same requirements are computed once. A selector that matches
// nothing differs from one that matches everything.
func TestEqualSelectors(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		f := r.controller.nodeSet
		machines := func(selector labels.Selector) string {
			t.Helper()
			targets, err := f.selectedTargets("shop/web", selector)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(cloud.MachinesOf(targets.Serving))
		}
		for _, text := range []string{"pool!=web,zone!=2", "zone!=2,pool!=web"} {
			selector, err := labels.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			want(r, text, machines(selector), "[vm-a vm-b]")
			want(r, "computed targets", len(f.chosen), 1)
		}
		want(r, "nothing", machines(labels.Nothing()), "[]")
		want(r, "everything", machines(labels.Everything()), "[vm-a vm-b]")
	})
}

// TestSelectorWithoutService: labels that change while no Service has a selector count for the next Service with it.
func TestSelectorWithoutService(t *testing.T) {
	inRig(t, func(r *rig) {
		r.labelNode("a", "pool", "edge")
		r.start(1)
		r.addService("first", withSelector("pool=edge"))
		r.waitForSync()
		r.deleteService("first")
		r.waitForSync()
		r.labelNode("a", "pool", "web")
		r.labelNode("b", "pool", "edge")
		r.waitForSync()
		r.addService("second", withSelector("pool=edge"))
		r.waitForSync()
		want(r, "a Service with the selector", r.cloud.contents()["second"], "80/TCP to 30080 on vm-b")
	})
}
