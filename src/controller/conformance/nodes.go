package conformance

import (
	"time"

	corev1 "k8s.io/api/core/v1"
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
	n := workerpooltest.Node(r, r.cluster, name)
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
