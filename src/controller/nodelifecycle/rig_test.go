package nodelifecycle

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// rig is a cluster on a fake cloud, in virtual time, with a Controller.
type rig struct {
	*testing.T
	fakeCloud  *fakeCloud
	provider   cloud.Machines // the fake cloud, unless a test has another one
	cluster    *cluster.Cluster
	behaviour  cloud.MachineBehaviour
	process    *workerpooltest.Process
	controller *Controller
	made       int
	// network intercepts requests to the API server; nil passes them on.
	network atomic.Pointer[interceptor]
}

const (
	period = 5 * time.Second
	grace  = time.Minute
	// removalTime is the longest time until a Node without a machine is deleted: a grace period and two passes.
	removalTime = grace + 2*period + time.Second
)

// inBubble runs a test in a synctest bubble with ready Nodes on running machines, and a controller that has observed
// them.
func inBubble(t *testing.T, names []string, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, fakeCloud: newFakeCloud(), cluster: cluster.New(), process: workerpooltest.New(t),
			behaviour: cloud.MachineBehaviour{Domain: "example.com", Lists: true, GracePeriod: grace, MaxRemovals: 20,
				RemovalWindow: 10 * time.Minute}}
		r.provider = r.fakeCloud
		for _, name := range names {
			r.join(name)
		}
		r.start()
		r.events()
		r.fakeCloud.calls()
		test(r)
	})
}

// start starts a process, after the one before has ended, and lets it make a pass.
func (r *rig) start() {
	r.Helper()
	client, err := cluster.Client(r)
	if err != nil {
		r.Fatal(err)
	}
	r.process.Begin(client, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		r.fakeCloud.set(func(c *fakeCloud) { c.listed = nil }) // the list of the process before
		r.controller, err = New(Options{Provider: r.provider, Behaviour: r.behaviour, Client: client,
			Nodes:  factory.Core().V1().Nodes(),
			Period: period, Workers: 1, Recorder: r.process.Recorder})
		return r.controller.Run, err
	})
	r.pass(2 * time.Second)
}

// interceptor answers a request, or passes it on.
type interceptor func(next http.RoundTripper, request *http.Request) (*http.Response, error)

// intercept sets the interceptor of requests to the API server; nil removes it.
func (r *rig) intercept(network interceptor) { r.network.Store(&network) }

// RoundTrip is called for each request to the API server.
func (r *rig) RoundTrip(request *http.Request) (*http.Response, error) {
	if network := r.network.Load(); network != nil && *network != nil {
		return (*network)(r.cluster.Transport(), request)
	}
	return r.cluster.Transport().RoundTrip(request)
}

// settle waits for the end of the process's first window, in which only one Node may be deleted.
func (r *rig) settle() {
	r.pass(r.behaviour.RemovalWindow)
	r.events()
	r.fakeCloud.calls()
}

// pass lets time pass.
func (r *rig) pass(d time.Duration) { workerpooltest.Pass(d) }

func fakeNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: fakeScheme + name}}
}

// join starts a machine with a ready Node.
func (r *rig) join(name string) {
	r.Helper()
	r.fakeCloud.machine(name, cloud.MachineRunning)
	r.register(fakeNode(name))
}

// register creates a ready Node.
func (r *rig) register(node *corev1.Node) {
	r.Helper()
	r.made++
	node.UID = types.UID(fmt.Sprintf("uid-%d", r.made))
	if err := r.cluster.Create(node); err != nil {
		r.Fatal(err)
	}
	r.report(node.Name, corev1.ConditionTrue)
}

// change changes a Node.
func (r *rig) change(name string, change func(*corev1.Node)) {
	r.Helper()
	if err := r.cluster.ChangeNode(name, change); err != nil {
		r.Fatal(err)
	}
}

// report does what the kubelet, or for Unknown kube-controller-manager, does.
func (r *rig) report(name string, status corev1.ConditionStatus) {
	r.Helper()
	r.change(name, func(node *corev1.Node) {
		condition := corev1.NodeCondition{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.Now()}
		if old := node.Status.Conditions; status == corev1.ConditionUnknown && len(old) > 0 {
			condition.LastHeartbeatTime = old[0].LastHeartbeatTime
		}
		node.Status.Conditions = []corev1.NodeCondition{condition}
	})
}

// stopKubelets stops the reports of kubelets.
func (r *rig) stopKubelets(names ...string) {
	r.Helper()
	for _, name := range names {
		r.report(name, corev1.ConditionUnknown)
	}
}

// deleteMachines deletes the machines of Nodes, whose kubelets stop.
func (r *rig) deleteMachines(names ...string) {
	r.Helper()
	for _, name := range names {
		r.fakeCloud.machine(name, cloud.MachineGone)
	}
	r.stopKubelets(names...)
}

// names are the existing Nodes.
func (r *rig) names() string {
	var names []string
	for _, node := range r.cluster.Nodes() {
		names = append(names, node.Name)
	}
	return strings.Join(names, " ")
}

// tainted are the Nodes with the shutdown taint.
func (r *rig) tainted() string {
	var names []string
	for _, node := range r.cluster.Nodes() {
		if hasShutdownTaint(node) {
			names = append(names, node.Name)
		}
	}
	return strings.Join(names, " ")
}

// events returns the events since the last call, as "Type Reason Message".
func (r *rig) events() []string { return r.process.Events() }

// requireEvent checks that there was exactly one such event since the last call.
func (r *rig) requireEvent(parts ...string) {
	r.Helper()
	events := r.events()
	like := slices.DeleteFunc(slices.Clone(events), func(event string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(event, part) })
	})
	if len(like) != 1 {
		r.Errorf("%d events like %q, want 1; all: %q", len(like), parts, events)
	}
}

// value is that of a metric with one label.
func (r *rig) value(metric interface {
	WithLabelValues(...string) prometheus.Gauge
}, label string) float64 {
	return testutil.ToFloat64(metric.WithLabelValues(label))
}

// blocked is the number of Nodes that the reason blocks now.
func (r *rig) blocked(why reason) float64 {
	return r.value(r.controller.metrics.waiting, string(why))
}

func (r *rig) want(what string, got, want any) {
	r.Helper()
	if got != want {
		r.Errorf("%s: got %v, want %v", what, got, want)
	}
}
