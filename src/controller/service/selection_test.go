package service

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// selecting gives a Service the node selector.
func selecting(selector string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations = map[string]string{"plain/nodes": selector} }
}

// label gives a node this label and no other.
func (r *rig) label(node, key, value string) {
	r.Helper()
	r.changeNode(node, func(n *corev1.Node) { n.Labels = map[string]string{key: value} })
}

// TestNodeSelector: only the nodes that match are targets, soon after their labels change, and nobody else's Service is
// looked at.
func TestNodeSelector(t *testing.T) {
	inRig(t, func(r *rig) {
		r.label("a", "pool", "web")
		r.start(2)
		r.addService("all")
		r.addService("other", selecting("disk=fast"))
		r.addService("web", selecting("pool=web"))
		r.settle()
		want(r, "one of two", r.cloud.has()["web"], "80/TCP to 30080 on vm-a")
		want(r, "without a selector", r.cloud.has()["all"], "80/TCP to 30080 on vm-a vm-b")

		r.cloud.done()
		r.told()
		looks := r.looks()
		r.addNode("c") // for all, but nothing for this one
		r.settle()
		want(r, "looks because a node joined, and once more after the write", r.looks()-looks, 4)
		wantList(r, "writes", r.cloud.done(), "update load balancer all: [vm-a vm-b] becomes [vm-a vm-b vm-c]")

		r.label("b", "pool", "web")
		<-time.After(joinWindow / 2)
		r.label("c", "pool", "web")
		wantList(r, "before the window is over", r.cloud.done())
		r.settle()
		wantList(r, "two that match now", r.cloud.done(), "update load balancer web: [vm-a] becomes [vm-a vm-b vm-c]")

		r.label("a", "pool", "db")
		<-time.After(leaveWindow + time.Millisecond)
		wantList(r, "one that does not any more", r.cloud.done(),
			"update load balancer web: [vm-a vm-b vm-c] becomes [vm-b vm-c]")

		looks = r.looks()
		r.label("a", "pool", "queue")
		r.changeNode("b", func(n *corev1.Node) { n.Labels["zone"] = "2" })
		r.settle()
		want(r, "looks because of labels that concern nobody", r.looks()-looks, 0)

		r.changeService("web", selecting("zone=2"))
		r.settle()
		wantList(r, "another selector", r.cloud.done(), "update load balancer web: [vm-b vm-c] becomes [vm-b]")
		r.changeService("web", func(s *corev1.Service) { s.Annotations = nil })
		r.settle()
		wantList(r, "none any more", r.cloud.done(), "update load balancer web: [vm-b] becomes [vm-a vm-b vm-c]")
		looks = r.looks()
		r.label("b", "zone", "3")
		r.settle()
		want(r, "looks because of what nobody selects any more", r.looks()-looks, 0)

		for _, name := range []string{"all", "other", "web"} {
			r.deleteService(name)
		}
		r.settle()
		want(r, "remembered", fmt.Sprint(r.controller.fleet.selections), "{map[] map[]}")
	})
}

// TestNoNodeMatches: the nodes stay as they are, and the owner hears of it, until one matches.
func TestNoNodeMatches(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.addService("web", selecting("pool=web"))
		r.settle()
		want(r, "a new one", r.cloud.has()["web"], "80/TCP to 30080 on ")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False NoNodeMatches")
		wantList(r, "events", r.told(), "Warning NoNodeMatches", "Normal EnsuringLoadBalancer",
			"Normal EnsuredLoadBalancer")
		r.label("a", "pool", "web")
		r.settle()
		want(r, "one matches", r.cloud.has()["web"], "80/TCP to 30080 on vm-a")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "True AsWanted")
		r.told()
		r.label("a", "pool", "db")
		r.settle()
		want(r, "none any more", r.cloud.has()["web"], "80/TCP to 30080 on vm-a")
		<-time.After(time.Hour)
		wantList(r, "events", r.told(), "Warning NoNodeMatches")
		r.deleteNode("a")
		r.deleteNode("b")
		r.settle()
		want(r, "no node is left at all", r.cloud.has()["web"], "80/TCP to 30080 on ")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False UnAvailableLoadBalancer")
	})
}

// TestSelectorThatCannotBeUsed: nobody knows which nodes are meant, so they stay.
func TestSelectorThatCannotBeUsed(t *testing.T) {
	inRig(t, func(r *rig) {
		r.label("a", "pool", "web")
		r.start(1)
		r.addService("web", selecting("pool=web"))
		r.settle()
		r.changeService("web", selecting("pool in"))
		r.label("b", "pool", "web")
		r.addNode("c")
		r.settle()
		want(r, "which nodes is not known", r.cloud.has()["web"], "80/TCP to 30080 on vm-a")
		r.changeService("web", func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		})
		r.setEndpoints("web", "b")
		r.settle()
		want(r, "with policy Local", r.cloud.has()["web"], "80/TCP to 30080 on vm-a")
		r.changeService("web", selecting("pool=web"))
		r.settle()
		want(r, "mended", r.cloud.has()["web"], "80/TCP to 30080 on vm-b")
	})
}

// TestNodeSelectorAndLocal: a target matches, and has a ready endpoint.
func TestNodeSelectorAndLocal(t *testing.T) {
	inRig(t, func(r *rig) {
		r.addNode("c")
		r.label("a", "pool", "web")
		r.label("b", "pool", "web")
		r.start(1)
		r.setEndpoints("web", "b", "c")
		r.addService("web", selecting("pool=web"), func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		})
		r.settle()
		want(r, "both", r.cloud.has()["web"], "80/TCP to 30080 on vm-b")
		r.told()
		r.setEndpoints("web", "c")
		r.settle()
		want(r, "no node with an endpoint matches", r.cloud.has()["web"], "80/TCP to 30080 on vm-b")
		wantList(r, "events", r.told(), "Warning NoNodeMatches")
		r.setEndpoints("web")
		r.settle()
		wantList(r, "events without any endpoint", r.told(), "Warning NoReadyEndpoints")
	})
}

// TestSelectionsAreShared: a selector is evaluated once, however many Services have it, and anew when labels change.
func TestSelectionsAreShared(t *testing.T) {
	inRig(t, func(r *rig) {
		r.label("a", "pool", "web")
		r.start(2)
		for i := range 20 {
			r.addService(fmt.Sprintf("web-%02d", i), selecting([]string{"pool=web", "pool in (web)"}[i%2]))
		}
		r.settle()
		f := r.controller.fleet
		want(r, "selections", len(f.selections.known), 2)
		r.label("b", "pool", "web")
		r.settle()
		for name, has := range r.cloud.has() {
			want(r, name, has, "80/TCP to 30080 on vm-a vm-b")
		}
		if keys, _ := f.reselected(); len(keys) > 0 {
			t.Errorf("%q are still to be looked at", keys)
		}
	})
}

// TestSelectorsOfOneText are one selection, and one that chooses nothing is another than one that chooses everything.
func TestSelectorsOfOneText(t *testing.T) {
	var s selections
	web, err := labels.Parse("pool=web,zone!=2")
	if err != nil {
		t.Fatal(err)
	}
	same, err := labels.Parse("zone!=2,pool=web")
	if err != nil {
		t.Fatal(err)
	}
	if s.join("a", web) != s.join("b", same) {
		t.Error("the same in another order is another selection")
	}
	if s.join("c", labels.Everything()) == s.join("d", labels.Nothing()) {
		t.Error("everything and nothing are the same")
	}
	s.join("a", labels.Nothing())
	s.part("b")
	s.part("b")
	var left []string
	for text, one := range s.known {
		left = append(left, fmt.Sprintf("%q of %d", text, len(one.services)))
	}
	slices.Sort(left)
	if got, want := fmt.Sprint(left), `["" of 1 "nothing, ever" of 2]`; got != want {
		t.Errorf("left: %s; want %s", got, want)
	}
}

// TestLibrarySelectsNodes as the controller does.
func TestLibrarySelectsNodes(t *testing.T) {
	inRig(t, func(r *rig) {
		r.label("b", "pool", "web")
		l := NewLibrary(r.cloud, r.behaviour, r.process.Recorder)
		web := r.addService("web", selecting("pool=web"))
		tests := []struct {
			selector, has string
		}{
			{"pool=web", "80/TCP to 30080 on vm-b"}, {"pool in", "80/TCP to 30080 on vm-b"},
			{"", "80/TCP to 30080 on vm-a vm-b"},
			{"pool=db", "80/TCP to 30080 on vm-a vm-b"}, {"pool", "80/TCP to 30080 on vm-b"},
		}
		for _, tt := range tests {
			selecting(tt.selector)(web)
			if _, err := l.EnsureLoadBalancer(t.Context(), "", web, r.nodesOf()); err != nil {
				t.Fatal(err)
			}
			want(r, tt.selector, r.cloud.has()["web"], tt.has)
		}
	})
}
