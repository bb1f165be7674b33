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

	cloud "github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// lifeRig is a cluster on a sky, in virtual time, with a Controller.
type lifeRig struct {
	*testing.T
	sky        *sky
	provider   cloud.Provider // the sky, unless a test has another one
	cluster    *cluster.Cluster
	behaviour  cloud.Behaviour
	process    *workerpooltest.Process
	controller *Controller
	made       int
	// network is between the controller and the API server; nil changes nothing.
	network atomic.Pointer[exchange]
}

const (
	lifePeriod = 5 * time.Second
	lifeGrace  = time.Minute
	// lifeSoon is within which a Node goes whose machine is gone, as promised: a grace period and two passes.
	lifeSoon = lifeGrace + 2*lifePeriod + time.Second
)

// inLife runs a test in a synctest bubble with Nodes that are ready, on machines that run, and a controller that knows them.
func inLife(t *testing.T, names []string, test func(*lifeRig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &lifeRig{T: t, sky: newSky(), cluster: cluster.New(), process: workerpooltest.New(t),
			behaviour: cloud.Behaviour{Domain: "example.com", Lists: true, GracePeriod: lifeGrace, MaxRemovals: 20, RemovalWindow: 10 * time.Minute}}
		r.provider = r.sky
		for _, name := range names {
			r.join(name)
		}
		r.start()
		r.told()
		r.sky.calls()
		test(r)
	})
}

// start begins a process, after the one before has ended, and lets it make a pass.
func (r *lifeRig) start() {
	r.Helper()
	client, err := cluster.Client(r)
	if err != nil {
		r.Fatal(err)
	}
	r.process.Begin(client, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		r.sky.set(func(c *sky) { c.listed = nil }) // what the one before knew
		r.controller, err = New(Options{Provider: r.provider, Behaviour: r.behaviour, Client: client, Nodes: factory.Core().V1().Nodes(),
			Period: lifePeriod, Workers: 1, Recorder: r.process.Recorder})
		return r.controller.Run, err
	})
	r.pass(2 * time.Second)
}

// exchange makes an answer of a request, perhaps by handing it on.
type exchange func(next http.RoundTripper, request *http.Request) (*http.Response, error)

// between puts something between the controller and the API server; nil takes it away.
func (r *lifeRig) between(network exchange) { r.network.Store(&network) }

// RoundTrip is between the controller and the API server.
func (r *lifeRig) RoundTrip(request *http.Request) (*http.Response, error) {
	if network := r.network.Load(); network != nil && *network != nil {
		return (*network)(r.cluster.Transport(), request)
	}
	return r.cluster.Transport().RoundTrip(request)
}

// settle lets the first window of the process pass, in which only one Node may go.
func (r *lifeRig) settle() {
	r.pass(r.behaviour.RemovalWindow)
	r.told()
	r.sky.calls()
}

// pass lets time pass.
func (r *lifeRig) pass(d time.Duration) { workerpooltest.Pass(d) }

func skyNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: skyScheme + name}}
}

// join starts a machine, whose Node is ready.
func (r *lifeRig) join(name string) {
	r.Helper()
	r.sky.machine(name, cloud.Running)
	r.register(skyNode(name))
}

// register makes a Node, that is ready.
func (r *lifeRig) register(node *corev1.Node) {
	r.Helper()
	r.made++
	node.UID = types.UID(fmt.Sprintf("uid-%d", r.made))
	if err := r.cluster.Create(node); err != nil {
		r.Fatal(err)
	}
	r.report(node.Name, corev1.ConditionTrue)
}

// change changes a Node.
func (r *lifeRig) change(name string, change func(*corev1.Node)) {
	r.Helper()
	if err := r.cluster.ChangeNode(name, change); err != nil {
		r.Fatal(err)
	}
}

// report is what the kubelet, or for Unknown kube-controller-manager, does.
func (r *lifeRig) report(name string, status corev1.ConditionStatus) {
	r.Helper()
	r.change(name, func(node *corev1.Node) {
		condition := corev1.NodeCondition{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.Now()}
		if old := node.Status.Conditions; status == corev1.ConditionUnknown && len(old) > 0 {
			condition.LastHeartbeatTime = old[0].LastHeartbeatTime
		}
		node.Status.Conditions = []corev1.NodeCondition{condition}
	})
}

// silence lets the kubelets of Nodes fall silent.
func (r *lifeRig) silence(names ...string) {
	r.Helper()
	for _, name := range names {
		r.report(name, corev1.ConditionUnknown)
	}
}

// lose deletes the machines of Nodes, whose kubelets fall silent.
func (r *lifeRig) lose(names ...string) {
	r.Helper()
	for _, name := range names {
		r.sky.machine(name, cloud.Gone)
	}
	r.silence(names...)
}

// names are the Nodes that there are.
func (r *lifeRig) names() string {
	var names []string
	for _, node := range r.cluster.Nodes() {
		names = append(names, node.Name)
	}
	return strings.Join(names, " ")
}

// tainted are the Nodes with the shutdown taint.
func (r *lifeRig) tainted() string {
	var names []string
	for _, node := range r.cluster.Nodes() {
		if hasShutdownTaint(node) {
			names = append(names, node.Name)
		}
	}
	return strings.Join(names, " ")
}

// told returns the events since the last time, as "Type Reason Message".
func (r *lifeRig) told() []string { return r.process.Told() }

// toldOnce checks that there was one event like that since the last time, and forgets all.
func (r *lifeRig) toldOnce(parts ...string) {
	r.Helper()
	told := r.told()
	like := slices.DeleteFunc(slices.Clone(told), func(event string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(event, part) })
	})
	if len(like) != 1 {
		r.Errorf("%d events like %q, want 1; all: %q", len(like), parts, told)
	}
}

// value is that of a metric with one label.
func (r *lifeRig) value(metric interface {
	WithLabelValues(...string) prometheus.Gauge
}, label string) float64 {
	return testutil.ToFloat64(metric.WithLabelValues(label))
}

// blocked is for how many Nodes the reason stands in the way now.
func (r *lifeRig) blocked(why reason) float64 {
	return r.value(r.controller.metrics.waiting, string(why))
}

func (r *lifeRig) want(what string, got, want any) {
	r.Helper()
	if got != want {
		r.Errorf("%s: got %v, want %v", what, got, want)
	}
}
