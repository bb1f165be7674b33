package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestNodeEventsDoNotRepeatFailureEvents: a failure becomes one event for each step of the back-off, whatever causes
// the reconciliation.
func TestNodeEventsDoNotRepeatFailureEvents(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.writeErr = errors.New("quota exceeded")
		r.start(1)
		r.addService("web")
		<-time.After(10 * time.Minute)
		r.events()
		for i := range 20 {
			r.addNode(fmt.Sprintf("n%d", i))
			<-time.After(2 * time.Second)
		}
		if events := r.events(); len(events) > 1 {
			t.Errorf("twenty nodes within 40 seconds: events %q", events)
		}
	})
}

// TestNodes: nodes that are added within a window are written together, and removed nodes soon. Changes that do not
// concern the targets cause no diff.
func TestNodes(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithService(2)
		r.cloud.takeWrites()
		r.events()
		for _, name := range []string{"c", "d", "e"} {
			r.addNode(name)
			<-time.After(200 * time.Millisecond)
		}
		r.waitForSync()
		wantList(r, "three nodes join", r.cloud.takeWrites(),
			"update load balancer web: [vm-a vm-b] becomes [vm-a vm-b vm-c vm-d vm-e]")
		wantList(r, "events", r.events(), "Normal UpdatedLoadBalancer")

		comparisons := r.comparisons()
		r.changeNode("c", func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
		})
		r.changeNode("c", func(n *corev1.Node) { n.Spec.Unschedulable = true })
		r.waitForSync()
		want(r, "comparisons because a node is not ready, or cordoned", r.comparisons()-comparisons, 0)

		r.changeNode("c", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler",
				Effect: corev1.TaintEffectNoSchedule}}
		})
		<-time.After(removeWindow + time.Millisecond)
		wantList(r, "marked by the autoscaler", r.cloud.takeWrites(),
			"update load balancer web: [vm-a vm-b vm-c vm-d vm-e] becomes [vm-a vm-b vm-d vm-e]")
		r.deleteNode("d")
		<-time.After(removeWindow + time.Millisecond)
		wantList(r, "deleted", r.cloud.takeWrites(),
			"update load balancer web: [vm-a vm-b vm-d vm-e] becomes [vm-a vm-b vm-e]")
		r.changeNode("e", func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} })
		<-time.After(removeWindow + time.Millisecond)
		wantList(r, "excluded", r.cloud.takeWrites(), "update load balancer web: [vm-a vm-b vm-e] becomes [vm-a vm-b]")
	})
}

// networkUnavailable sets the condition NetworkUnavailable of a node.
func networkUnavailable(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: status}}
	}
}

// TestNodeWithoutNetworkIsDeleted: the deletion of such a node is a change of the nodes and not drift, in every mode.
func TestNodeWithoutNetworkIsDeleted(t *testing.T) {
	inRig(t, func(r *rig) {
		r.behaviour.Drift = cloud.Off
		r.startWithService(1)
		r.changeNode("a", networkUnavailable(corev1.ConditionTrue))
		r.waitForSync()
		want(r, "without a network", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b")
		r.deleteNode("a")
		r.waitForSync()
		want(r, "and deleted", r.cloud.contents()["web"], "80/TCP to 30080 on vm-b")
	})
}

// TestZoneOfNode: a change of the zone is a change of targets, because a subset of them depends on zones. A change of
// another label is none.
func TestZoneOfNode(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithService(1)
		before := r.comparisons()
		r.changeNode("a", func(n *corev1.Node) { n.Labels = map[string]string{"other": "label"} })
		r.waitForSync()
		want(r, "comparisons after another label", r.comparisons()-before, 0)
		r.changeNode("a", func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = "nl-01a" })
		r.waitForSync()
		want(r, "comparisons after a zone", r.comparisons()-before, 1)
	})
}

// TestNodeBecomesUnmanaged: a node without a provider ID that loses its taint waits for no cloud any more, which is a
// change of targets.
func TestNodeBecomesUnmanaged(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithService(1)
		r.addNode("c")
		r.changeNode("c", func(n *corev1.Node) {
			n.Spec.ProviderID, n.Spec.Taints = "", []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
		})
		r.waitForSync()
		before := r.comparisons()
		r.changeNode("c", func(n *corev1.Node) { n.Spec.Taints = nil })
		r.waitForSync()
		want(r, "comparisons", r.comparisons()-before, 1)
	})
}

// TestNodeBecomesReady: this is a change of targets, because a subset of them prefers nodes that are ready. That a node
// is not ready any more is none.
func TestNodeBecomesReady(t *testing.T) {
	inRig(t, func(r *rig) {
		setReady := func(status corev1.ConditionStatus) func(*corev1.Node) {
			return func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
			}
		}
		r.startWithService(1)
		for _, step := range []struct {
			ready corev1.ConditionStatus
			want  int
		}{{corev1.ConditionFalse, 0}, {corev1.ConditionTrue, 1}, {corev1.ConditionUnknown, 0}} {
			before := r.comparisons()
			r.changeNode("a", setReady(step.ready))
			r.waitForSync()
			want(r, "comparisons when Ready is "+string(step.ready), r.comparisons()-before, step.want)
		}
	})
}

// TestNodeIsNotReadyAnyMore: a Service that is compared later knows it.
func TestNodeIsNotReadyAnyMore(t *testing.T) {
	inRig(t, func(r *rig) {
		setReady := func(status corev1.ConditionStatus) func(*corev1.Node) {
			return func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
			}
		}
		isReady := func() bool {
			targets, err := r.controller.nodeSet.targets()
			if err != nil {
				t.Fatal(err)
			}
			return targets.Serving[0].Ready
		}
		r.changeNode("a", setReady(corev1.ConditionTrue))
		r.startWithService(1)
		before := isReady()
		r.changeNode("a", setReady(corev1.ConditionUnknown))
		r.waitForSync()
		if !before || isReady() {
			t.Errorf("it was ready: %t, and is ready: %t", before, isReady())
		}
	})
}

// TestNodeNetworkUnavailable: a node is not added before it has a network, and is not removed when the network is
// missing later.
func TestNodeNetworkUnavailable(t *testing.T) {
	inRig(t, func(r *rig) {
		r.changeNode("b", networkUnavailable(corev1.ConditionTrue))
		r.startWithService(1)
		want(r, "before", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a")
		r.changeNode("b", networkUnavailable(corev1.ConditionFalse))
		r.waitForSync()
		want(r, "with a network", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b")
		r.changeNode("a", networkUnavailable(corev1.ConditionTrue))
		r.changeNode("b", networkUnavailable(corev1.ConditionTrue))
		r.waitForSync()
		want(r, "without one for a moment", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b")
	})
}

// TestLastNodesAreRemoved: all targets are removed only if the cluster has no eligible node, and an event reports it.
func TestLastNodesAreRemoved(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithService(2)
		r.changeNode("a", func(n *corev1.Node) { n.Spec.ProviderID = "other://a" })
		r.changeNode("b", func(n *corev1.Node) { n.Spec.ProviderID = "" })
		r.waitForSync()
		want(r, "the machines are unknown", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b")
		r.deleteNode("a")
		r.deleteNode("b")
		r.waitForSync()
		want(r, "no node is left", r.cloud.contents()["web"], "80/TCP to 30080 on ")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False UnAvailableLoadBalancer")
		r.addNode("c")
		r.waitForSync()
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "True AsWanted")
	})
}

// TestLocalPolicy: with the policy Local, targets are the nodes with a ready endpoint. If there is none, the targets do
// not change, and an event reports it.
func TestLocalPolicy(t *testing.T) {
	inRig(t, func(r *rig) {
		r.addNode("c")
		r.start(2)
		r.setEndpoints("web", "a")
		r.addService("web", func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		})
		r.waitForSync()
		want(r, "one endpoint", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a")
		r.setEndpoints("web", "a", "c", "c")
		r.waitForSync()
		want(r, "two nodes", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-c")
		r.setEndpoints("web", "c")
		<-time.After(removeWindow + time.Millisecond)
		want(r, "soon after one left", r.cloud.contents()["web"], "80/TCP to 30080 on vm-c")
		r.events()
		r.setEndpoints("web")
		r.waitForSync()
		want(r, "none is ready", r.cloud.contents()["web"], "80/TCP to 30080 on vm-c")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False NoReadyEndpoints")
		wantList(r, "events", r.events(), "Warning NoReadyEndpoints")
		r.setEndpoints("web", "b")
		r.waitForSync()
		want(r, "ready again", r.cloud.contents()["web"], "80/TCP to 30080 on vm-b")
		r.changeService("web", func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
		})
		r.waitForSync()
		want(r, "policy Cluster", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b vm-c")
		comparisons := r.comparisons()
		r.setEndpoints("web", "a")
		r.waitForSync()
		want(r, "comparisons because of endpoints that do not matter", r.comparisons()-comparisons, 0)
	})
}

// TestLocalOnExcludedNodes: if all ready endpoints are on nodes that are excluded or about to be removed, these nodes
// are the targets, and an event reports it. They are removed as soon as another node has a ready endpoint.
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
				r.addService("web", localPolicy)
				r.setEndpoints("new", "a")
				r.waitForSync()
				r.events()
				r.changeNode("a", leaves)
				r.waitForSync()
				r.addService("new", localPolicy)
				r.waitForSync()
				for _, name := range []string{"web", "new"} {
					want(r, "targets of "+name, r.cloud.contents()[name], "80/TCP to 30080 on vm-a")
					want(r, "condition of "+name, r.condition(name, "LoadBalancerTargetsComplete"),
						"False EndpointsOnExcludedNodes")
				}
				warnings := slices.DeleteFunc(r.fullEvents(), func(one string) bool {
					return !strings.HasPrefix(one, "Warning EndpointsOnExcludedNodes")
				})
				want(r, "warnings", len(warnings), 2)
				want(r, "the nodes are named", strings.Contains(warnings[0], "being deleted: a. Its"), true)

				r.setEndpoints("web", "a", "b")
				r.waitForSync()
				want(r, "with one on another node", r.cloud.contents()["web"], "80/TCP to 30080 on vm-b")
				want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "True AsWanted")
				r.changeNode("b", excluded)
				r.waitForSync()
				want(r, "with two on such nodes", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b")
			})
		})
	}
}

// TestLocalOnExcludedNodeThatJoins: an excluded node is a target as soon as it has a provider ID and an endpoint, in
// any order.
func TestLocalOnExcludedNodeThatJoins(t *testing.T) {
	inRig(t, func(r *rig) {
		r.setEndpoints("web", "a")
		r.start(1)
		r.addService("web", localPolicy)
		r.waitForSync()
		r.addNode("c")
		r.changeNode("c", func(n *corev1.Node) {
			n.Labels, n.Spec.ProviderID = map[string]string{corev1.LabelNodeExcludeBalancers: ""}, ""
		})
		r.waitForSync()
		r.setEndpoints("web", "c")
		r.waitForSync()
		want(r, "before it is identified", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False NoReadyEndpoints")
		r.changeNode("c", func(n *corev1.Node) { n.Spec.ProviderID = "plain://vm-c" })
		r.waitForSync()
		want(r, "once it is", r.cloud.contents()["web"], "80/TCP to 30080 on vm-c")
		r.setEndpoints("web", "nobody")
		r.waitForSync()
		want(r, "on a node that there is not", r.cloud.contents()["web"], "80/TCP to 30080 on vm-c")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False NoReadyEndpoints")
	})
}

// TestReadyEndpointsWithoutNode: with the policy Local, a ready endpoint that names no node is not the same as none.
func TestReadyEndpointsWithoutNode(t *testing.T) {
	const none, nameless, elsewhere = "No endpoint of this Service is ready, ",
		"Endpoints of this Service are ready, but its EndpointSlices name no node of the cluster for them, ",
		"All ready endpoints of this Service are on nodes that are not in the cluster or not of this cloud, "
	tests := map[string]struct {
		endpoints []discoveryv1.Endpoint
		want      string // the beginning of the message
	}{
		"none":                         {nil, none},
		"not ready, without a node":    {[]discoveryv1.Endpoint{endpoint("", "R")}, none},
		"ready, without a node":        {[]discoveryv1.Endpoint{endpoint("", "r"), endpoint("a", "R")}, nameless},
		"ready, on another node":       {[]discoveryv1.Endpoint{endpoint("nobody", "r")}, elsewhere},
		"ready, of both kinds":         {[]discoveryv1.Endpoint{endpoint("nobody", "r"), endpoint("", "r")}, nameless},
		"ready, one of them on a node": {[]discoveryv1.Endpoint{endpoint("b", "r"), endpoint("", "r")}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.start(1)
				r.setEndpoints("web", "a")
				r.addService("web", localPolicy)
				r.waitForSync()
				slice := sliceOf("web-1", "web", tt.endpoints...)
				if _, err := r.cluster.DiscoveryV1().EndpointSlices("shop").Update(t.Context(), slice,
					metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				r.waitForSync()
				condition, _ := findCondition(r.service("web").Status.Conditions, "LoadBalancerTargetsComplete")
				if !strings.HasPrefix(condition.Message, tt.want) || (tt.want == "") != (condition.Message == "") {
					t.Errorf("the condition is %q, want %q", condition.Message, tt.want)
				}
				targets := map[bool]string{true: "80/TCP to 30080 on vm-a", false: "80/TCP to 30080 on vm-b"}
				want(r, "targets", r.cloud.contents()["web"], targets[tt.want != ""])
			})
		})
	}
}
