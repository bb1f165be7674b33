package conformance

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

func nodeIsInitialised(r *rig) {
	r.join("c")
	r.settle()
	r.wantInitialised("c")
}

func nodeWaitsForMachine(r *rig) {
	r.expected = []string{cloud.MachineNotFound}
	r.register("late")
	workerpooltest.Pass(10 * time.Minute)
	want(r, "taint without a machine", r.isTainted("late", cloudproviderapi.TaintExternalCloudProvider), true)
	r.cloud.AddMachine("late")
	r.react()
	r.wantInitialised("late")
}

func (r *rig) wantInitialised(name string) {
	r.Helper()
	n := r.node(name)
	want(r, "provider ID of the cloud", r.offered.Machines.Owns(n.Spec.ProviderID), true)
	want(r, "taint", r.isTainted(name, cloudproviderapi.TaintExternalCloudProvider), false)
	want(r, "has addresses", len(n.Status.Addresses) > 0, true)
}

func stoppedMachine(r *rig) {
	r.cloud.StopMachine("b")
	r.setReady("b", corev1.ConditionUnknown)
	r.react()
	want(r, "shutdown taint", r.isTainted("b", cloudproviderapi.TaintNodeShutdown), true)
	r.cloud.StartMachine("b")
	r.react()
	want(r, "shutdown taint of a machine that runs", r.isTainted("b", cloudproviderapi.TaintNodeShutdown), false)
	want(r, "Node exists", r.nodeExists("b"), true)
}

func deletedMachine(r *rig) {
	r.expected = []string{cloud.MachineNotFound}
	r.setReady("b", corev1.ConditionUnknown)
	r.settle()
	r.cloud.DeleteMachine("b")
	workerpooltest.Pass(r.offered.MachineBehaviour.GracePeriod / 2)
	want(r, "Node exists during the grace period", r.nodeExists("b"), true)
	workerpooltest.Pass(r.offered.MachineBehaviour.GracePeriod + r.cloud.Reaction + 10*time.Second)
	want(r, "Node exists", r.nodeExists("b"), false)
	want(r, "the other Node exists", r.nodeExists("a"), true)
}

func readyNodeStays(r *rig) {
	r.expected = []string{cloud.MachineNotFound}
	r.cloud.DeleteMachine("b")
	workerpooltest.Pass(time.Hour)
	want(r, "Node exists", r.nodeExists("b"), true)
}

// otherClouds: Nodes of other clouds beside those of this cloud get nothing, and cause nothing: no target, route,
// condition, event, deletion, or count.
func otherClouds(r *rig) {
	others := r.registerOthers()
	r.addService("web")
	r.start()
	workerpooltest.Pass(time.Hour)
	r.wantLoadBalancer("beside Nodes of other clouds", 80, "a", "b")
	want(r, "targets are missing", meta.IsStatusConditionFalse(r.service().Status.Conditions, string(cloud.Nodes)),
		false)
	for _, was := range others {
		want(r, "Node exists: "+was.Name, r.nodeExists(was.Name), true)
		want(r, "next hop of "+was.Name, r.cloud.NextHop(r.podsOf(was.Name)), "")
		is := r.node(was.Name)
		want(r, "Node is unchanged: "+was.Name, equality.Semantic.DeepEqual(was, is), true)
	}
	want(r, "Nodes with a machine", r.count("node_lifecycle_nodes"), 2)
	want(r, "Nodes that wait", r.count("node_controller_uninitialised"), 0)
	want(r, "Nodes without a route", r.count("node_route_nodes_without_route"), 0)
}

// registerOthers creates Nodes of other clouds, and returns them.
func (r *rig) registerOthers() (nodes []*corev1.Node) {
	r.Helper()
	changes := map[string]func(*corev1.Node){
		"elsewhere": func(n *corev1.Node) { n.Spec.ProviderID, n.Spec.Taints = "aws:///eu-1a/i-1", nil },
		"not-ready": func(n *corev1.Node) {
			n.Spec.ProviderID, n.Spec.Taints = "gce://project/zone/vm", nil
			n.Status.Conditions[0].Status = corev1.ConditionUnknown
		},
		"waiting": func(n *corev1.Node) { n.Spec.ProviderID = "azure:///subscriptions/vm" },
		"hybrid":  func(n *corev1.Node) { n.Spec.Taints = nil },
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		r.register(name, changes[name])
		nodes = append(nodes, r.node(name))
	}
	return nodes
}
