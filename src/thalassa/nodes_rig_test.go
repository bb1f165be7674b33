package thalassa

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
)

// nodesCluster is a cluster whose nodes are initialised and kept in sync from a lab's cloud.
type nodesCluster struct {
	*lab
	cluster *cluster.Cluster
	process *workerpooltest.Process
	patches atomic.Int64
}

// keepPeriod is --node-status-update-frequency.
const keepPeriod = 5 * time.Minute

// withNodesCluster runs a test in virtual time. settings change the configuration.
func withNodesCluster(t *testing.T, c emulator.Config, settings func(*cloudconfig.Instances),
	test func(*nodesCluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &nodesCluster{lab: newLab(t, c), cluster: cluster.New(), process: workerpooltest.New(t)}
		if settings != nil {
			settings(&h.config.InstancesV2)
		}
		h.begin()
		test(h)
	})
}

// begin starts a process with the lab's configuration, after the one before has ended.
func (h *nodesCluster) begin() {
	h.Helper()
	h.process.End()
	h.process.Events() // and is forgotten
	h.restart()
	client, err := cluster.Client(h)
	if err != nil {
		h.Fatal(err)
	}
	h.process.Begin(client, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		provider, behaviour := h.cloud.machines, h.config.InstancesV2.Behaviour()
		controller, err := node.New(node.Options{Provider: provider, Behaviour: behaviour, Client: client,
			Nodes: factory.Core().V1().Nodes(), Period: keepPeriod, Workers: 1, ResyncWorkers: 1,
			Recorder: h.process.Recorder})
		return controller.Run, err
	})
	h.pass(time.Second)
}

// RoundTrip counts what is written to Kubernetes.
func (h *nodesCluster) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		h.patches.Add(1)
	}
	return h.cluster.Transport().RoundTrip(request)
}

func (h *nodesCluster) pass(d time.Duration) { workerpooltest.Pass(d) }

// register makes a node as its kubelet does.
func (h *nodesCluster) register(name string, change func(*corev1.Node)) {
	h.Helper()
	n := named(name, "")
	n.Spec.Taints = []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true",
		Effect: corev1.TaintEffectNoSchedule}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}
	if change != nil {
		change(n)
	}
	if err := h.cluster.Create(n); err != nil {
		h.Fatal(err)
	}
}

// machine adds a server.
func (h *nodesCluster) machine(spec emulator.MachineSpec) string {
	h.Helper()
	id, err := h.emulator.AddMachine(spec)
	if err != nil {
		h.Fatal(err)
	}
	return id
}

// update changes a server as its owner does, by PUT.
func (h *nodesCluster) update(id string, change func(*iaas.UpdateMachine)) {
	h.Helper()
	present, err := h.api().GetMachine(h.Context(), id)
	if err != nil {
		h.Fatal(err)
	}
	update := iaas.UpdateMachine{Name: present.Name, Labels: present.Labels, Annotations: present.Annotations}
	change(&update)
	if _, err := h.api().UpdateMachine(h.Context(), id, update); err != nil {
		h.Fatal(err)
	}
}

// node is a node as it is.
func (h *nodesCluster) node(name string) *corev1.Node {
	h.Helper()
	for _, n := range h.cluster.Nodes() {
		if n.Name == name {
			return n
		}
	}
	h.Fatalf("there is no node %s", name)
	return nil
}

// waiting counts the nodes that are not initialised.
func (h *nodesCluster) waiting() int {
	count := 0
	for _, n := range h.cluster.Nodes() {
		for _, taint := range n.Spec.Taints {
			if taint.Key == cloudproviderapi.TaintExternalCloudProvider {
				count++
			}
		}
	}
	return count
}

// events are those since the last time, one a line.
func (h *nodesCluster) events() string { return strings.Join(h.process.Events(), "\n") }

// count begins to count anew.
func (h *nodesCluster) count() {
	h.emulator.ResetCounters()
	h.patches.Store(0)
	h.events()
}

// spent are the calls since, without the token's.
func (h *nodesCluster) spent() float64 {
	return float64(h.calls() - h.emulator.Counters()["POST /oidc/token"])
}
