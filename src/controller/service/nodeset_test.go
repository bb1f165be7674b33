package service

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// TestNodes: nodes that are added within a window are written together, and removed nodes soon.
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

// nodeCondition sets the only condition of a node.
func nodeCondition(kind corev1.NodeConditionType, status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Conditions = []corev1.NodeCondition{{Type: kind, Status: status}} }
}

// TestComparedAfterAChangeOfANode: Services are compared after changes of nodes on which targets depend, and only
// these: a subset of the targets depends on zones, and prefers nodes that are ready. Later comparisons know that a node
// is not ready any more.
func TestComparedAfterAChangeOfANode(t *testing.T) {
	excluded := func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} }
	withoutID := func(n *corev1.Node) {
		n.Spec.ProviderID, n.Spec.Taints = "", []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
	}
	for name, tt := range map[string]struct {
		before, change func(*corev1.Node)
		want           int
	}{
		"ready": {nodeCondition(corev1.NodeReady, corev1.ConditionFalse),
			nodeCondition(corev1.NodeReady, corev1.ConditionTrue), 1},
		"not ready any more": {nodeCondition(corev1.NodeReady, corev1.ConditionTrue),
			nodeCondition(corev1.NodeReady, corev1.ConditionUnknown), 0},
		"network": {nodeCondition(corev1.NodeNetworkUnavailable, corev1.ConditionTrue),
			nodeCondition(corev1.NodeNetworkUnavailable, corev1.ConditionFalse), 2}, // once more after the write
		"no network any more": {nil, nodeCondition(corev1.NodeNetworkUnavailable, corev1.ConditionTrue), 1},
		"cordoned":            {nil, func(n *corev1.Node) { n.Spec.Unschedulable = true }, 0},
		"label":               {nil, func(n *corev1.Node) { n.Labels = map[string]string{"other": "label"} }, 0},
		"zone": {nil, func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelTopologyZone: "nl-01a"} },
			1},
		"waits for no cloud any more": {withoutID, func(n *corev1.Node) { n.Spec.Taints = nil }, 1},
		"excluded, gets its provider ID": {func(n *corev1.Node) { withoutID(n); excluded(n) },
			func(n *corev1.Node) { n.Spec.ProviderID = "plain://vm-a" }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				if tt.before != nil {
					r.changeNode("a", tt.before)
				}
				r.startWithService(1)
				before := r.comparisons()
				r.changeNode("a", tt.change)
				r.waitForSync()
				want(r, "comparisons", r.comparisons()-before, tt.want)
				targets, err := r.controller.nodeSet.targets()
				node, first := workerpooltest.Node(t, r.cluster, "a"), targets.Serving[0]
				if err != nil || first.Node == "a" && first.Ready != cloud.Ready(node) {
					t.Errorf("targets %+v, error %v", targets, err)
				}
			})
		})
	}
}

// TestRemovedNodesAreUrgent: only a Node of this cloud is a target that Services lose when it is deleted.
func TestRemovedNodesAreUrgent(t *testing.T) {
	for id, want := range map[string]bool{"plain://vm-a": true, "other://a": false, "": false} {
		inRig(t, func(r *rig) {
			r.startWithService(1)
			node := workerpooltest.Node(t, r.cluster, "a").DeepCopy()
			node.Spec.ProviderID = id
			r.controller.nodeChanged(node, nil, false)
			if got := r.controller.nodeRemoved.Load(); got != want {
				t.Errorf("the deletion of a Node with the provider ID %q is urgent: %t, want %t", id, got, want)
			}
		})
	}
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
		for text, one := range map[string]discoveryv1.Endpoint{
			"No endpoint of this Service is ready, ":                                   endpoint("a", "R"),
			"Endpoints of this Service are ready, but its EndpointSlices name no node": endpoint("", "r"),
			"All ready endpoints of this Service are on nodes that are not in the":     endpoint("nobody", "r"),
		} {
			r.setSlice("web", one)
			r.waitForSync()
			condition, _ := findCondition(r.service("web").Status.Conditions, "LoadBalancerTargetsComplete")
			want(r, text+" is the beginning of "+condition.Message, strings.HasPrefix(condition.Message, text), true)
		}
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

// TestLocalOnExcludedNodes: if all ready endpoints are on excluded nodes, these nodes are the targets, and an event
// reports it. They are removed as soon as another node has a ready endpoint.
func TestLocalOnExcludedNodes(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(2)
		r.setEndpoints("web", "a")
		r.addService("web", localPolicy)
		r.waitForSync()
		r.events()
		r.changeNode("a", func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} })
		r.waitForSync()
		want(r, "targets", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False EndpointsOnExcludedNodes")
		if events := r.fullEvents(); len(events) != 1 || !strings.HasPrefix(events[0],
			"Warning EndpointsOnExcludedNodes ") || !strings.Contains(events[0], "being deleted: a. Its") {
			t.Errorf("events %q, want one that names the node", events)
		}
		r.setEndpoints("web", "a", "b")
		r.waitForSync()
		want(r, "with one on another node", r.cloud.contents()["web"], "80/TCP to 30080 on vm-b")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "True AsWanted")
	})
}
