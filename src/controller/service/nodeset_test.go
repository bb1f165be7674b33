package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestNodeEventsDoNotRepeatFailures: the owner is told once per step of the back-off, whatever causes a look.
func TestNodeEventsDoNotRepeatFailures(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.refusing = errors.New("quota exceeded")
		r.start(1)
		r.addService("web")
		<-time.After(10 * time.Minute)
		r.told()
		for i := range 20 {
			r.addNode(fmt.Sprintf("n%d", i))
			<-time.After(2 * time.Second)
		}
		if told := r.told(); len(told) > 1 {
			t.Errorf("twenty nodes within 40 seconds: events %q", told)
		}
	})
}

// TestNodes: those that join together are written together, those that leave soon, and what says nothing about targets
// costs nothing.
func TestNodes(t *testing.T) {
	inRig(t, func(r *rig) {
		r.serve(2)
		r.cloud.done()
		r.told()
		for _, name := range []string{"c", "d", "e"} {
			r.addNode(name)
			<-time.After(200 * time.Millisecond)
		}
		r.settle()
		wantList(r, "three nodes join", r.cloud.done(),
			"update load balancer web: [vm-a vm-b] becomes [vm-a vm-b vm-c vm-d vm-e]")
		wantList(r, "events", r.told(), "Normal UpdatedLoadBalancer")

		looks := r.looks()
		r.changeNode("c", func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
		})
		r.changeNode("c", func(n *corev1.Node) { n.Spec.Unschedulable = true })
		r.settle()
		want(r, "looks because a node is not ready, or cordoned", r.looks()-looks, 0)

		r.changeNode("c", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler",
				Effect: corev1.TaintEffectNoSchedule}}
		})
		<-time.After(leaveWindow + time.Millisecond)
		wantList(r, "marked by the autoscaler", r.cloud.done(),
			"update load balancer web: [vm-a vm-b vm-c vm-d vm-e] becomes [vm-a vm-b vm-d vm-e]")
		r.deleteNode("d")
		<-time.After(leaveWindow + time.Millisecond)
		wantList(r, "deleted", r.cloud.done(),
			"update load balancer web: [vm-a vm-b vm-d vm-e] becomes [vm-a vm-b vm-e]")
		r.changeNode("e", func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} })
		<-time.After(leaveWindow + time.Millisecond)
		wantList(r, "excluded", r.cloud.done(), "update load balancer web: [vm-a vm-b vm-e] becomes [vm-a vm-b]")
	})
}

// without says whether nobody reaches a node's pods.
func without(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: status}}
	}
}

// TestNodeWithoutNetworkLeaves: in every mode it is a change of the nodes, not drift.
func TestNodeWithoutNetworkLeaves(t *testing.T) {
	inRig(t, func(r *rig) {
		r.behaviour.Drift = cloud.Off
		r.serve(1)
		r.changeNode("a", without(corev1.ConditionTrue))
		r.settle()
		want(r, "without a network", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
		r.deleteNode("a")
		r.settle()
		want(r, "and deleted", r.cloud.has()["web"], "80/TCP to 30080 on vm-b")
	})
}

// TestNetwork: a node is not added before it has one, and not taken away when it is gone for a moment.
func TestNetwork(t *testing.T) {
	inRig(t, func(r *rig) {
		r.changeNode("b", without(corev1.ConditionTrue))
		r.serve(1)
		want(r, "before", r.cloud.has()["web"], "80/TCP to 30080 on vm-a")
		r.changeNode("b", without(corev1.ConditionFalse))
		r.settle()
		want(r, "with a network", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
		r.changeNode("a", without(corev1.ConditionTrue))
		r.changeNode("b", without(corev1.ConditionTrue))
		r.settle()
		want(r, "without one for a moment", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
	})
}

// TestNoNodeIsLeft: the set is emptied only when the cluster truly has no node for it, and its owner hears of it.
func TestNoNodeIsLeft(t *testing.T) {
	inRig(t, func(r *rig) {
		r.serve(2)
		r.changeNode("a", func(n *corev1.Node) { n.Spec.ProviderID = "other://a" })
		r.changeNode("b", func(n *corev1.Node) { n.Spec.ProviderID = "" })
		r.settle()
		want(r, "nobody knows the machines", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
		r.deleteNode("a")
		r.deleteNode("b")
		r.settle()
		want(r, "no node is left", r.cloud.has()["web"], "80/TCP to 30080 on ")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False UnAvailableLoadBalancer")
		r.addNode("c")
		r.settle()
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "True AsWanted")
	})
}

// TestLocal: traffic goes to nodes with a ready endpoint; where there is none the nodes stay, and the owner hears of
// it.
func TestLocal(t *testing.T) {
	inRig(t, func(r *rig) {
		r.addNode("c")
		r.start(2)
		r.setEndpoints("web", "a")
		r.addService("web", func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		})
		r.settle()
		want(r, "one endpoint", r.cloud.has()["web"], "80/TCP to 30080 on vm-a")
		r.setEndpoints("web", "a", "c", "c")
		r.settle()
		want(r, "two nodes", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-c")
		r.setEndpoints("web", "c")
		<-time.After(leaveWindow + time.Millisecond)
		want(r, "soon after one left", r.cloud.has()["web"], "80/TCP to 30080 on vm-c")
		r.told()
		r.setEndpoints("web")
		r.settle()
		want(r, "none is ready", r.cloud.has()["web"], "80/TCP to 30080 on vm-c")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False NoReadyEndpoints")
		wantList(r, "events", r.told(), "Warning NoReadyEndpoints")
		r.setEndpoints("web", "b")
		r.settle()
		want(r, "ready again", r.cloud.has()["web"], "80/TCP to 30080 on vm-b")
		r.changeService("web", func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
		})
		r.settle()
		want(r, "policy Cluster", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b vm-c")
		looks := r.looks()
		r.setEndpoints("web", "a")
		r.settle()
		want(r, "looks because of endpoints that do not matter", r.looks()-looks, 0)
	})
}

// TestLocalOnExcludedNodes: when all ready endpoints are on nodes that are excluded or leaving, these serve, because
// nobody else can, and the owner is told. As soon as another node has one, they do not serve any more.
func TestLocalOnExcludedNodes(t *testing.T) {
	excluded := func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} }
	for name, leaves := range map[string]func(*corev1.Node){
		"excluded": excluded,
		"marked for removal": func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: cloud.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.start(2)
				r.setEndpoints("web", "a")
				r.addService("web", near)
				r.setEndpoints("new", "a")
				r.settle()
				r.told()
				r.changeNode("a", leaves)
				r.settle()
				r.addService("new", near)
				r.settle()
				for _, name := range []string{"web", "new"} {
					want(r, "targets of "+name, r.cloud.has()[name], "80/TCP to 30080 on vm-a")
					want(r, "condition of "+name, r.condition(name, "LoadBalancerTargetsComplete"),
						"False EndpointsOnExcludedNodes")
				}
				warnings := slices.DeleteFunc(r.toldInFull(), func(one string) bool {
					return !strings.HasPrefix(one, "Warning EndpointsOnExcludedNodes")
				})
				want(r, "warnings", len(warnings), 2)
				want(r, "the nodes are named", strings.Contains(warnings[0], "being deleted: a. Its"), true)

				r.setEndpoints("web", "a", "b")
				r.settle()
				want(r, "with one on another node", r.cloud.has()["web"], "80/TCP to 30080 on vm-b")
				want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "True AsWanted")
				r.changeNode("b", excluded)
				r.settle()
				want(r, "with two on such nodes", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
			})
		})
	}
}

// TestLocalOnExcludedNodeThatJoins: an excluded node is known by the time that it has an endpoint, whenever it came and
// got its identity.
func TestLocalOnExcludedNodeThatJoins(t *testing.T) {
	inRig(t, func(r *rig) {
		r.setEndpoints("web", "a")
		r.start(1)
		r.addService("web", near)
		r.settle()
		r.addNode("c")
		r.changeNode("c", func(n *corev1.Node) {
			n.Labels, n.Spec.ProviderID = map[string]string{corev1.LabelNodeExcludeBalancers: ""}, ""
		})
		r.settle()
		r.setEndpoints("web", "c")
		r.settle()
		want(r, "before it is identified", r.cloud.has()["web"], "80/TCP to 30080 on vm-a")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False NoReadyEndpoints")
		r.changeNode("c", func(n *corev1.Node) { n.Spec.ProviderID = "plain://vm-c" })
		r.settle()
		want(r, "once it is", r.cloud.has()["web"], "80/TCP to 30080 on vm-c")
		r.setEndpoints("web", "nobody")
		r.settle()
		want(r, "on a node that there is not", r.cloud.has()["web"], "80/TCP to 30080 on vm-c")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False NoReadyEndpoints")
	})
}
