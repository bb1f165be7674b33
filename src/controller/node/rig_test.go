package node

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// fakeCloud is a cloud whose machines have the names of their Nodes.
type fakeCloud struct {
	cloud.Machines // methods that a Controller never calls
	mu             sync.Mutex
	machines       map[string]cloud.Machine
	err            func(name string) error // the error of Find; nil: it answers
	finds          int
	since          map[string]time.Time // the permitted age of the answer for each Node
}

const fakeScheme = "ground://"

func (c *fakeCloud) Owns(id string) bool { return strings.HasPrefix(id, fakeScheme) }

// Find implements cloud.Machines.
func (c *fakeCloud) Find(_ context.Context, node *corev1.Node, notBefore time.Time) (cloud.Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finds++
	if c.since == nil {
		c.since = map[string]time.Time{}
	}
	c.since[node.Name] = notBefore
	if c.err != nil {
		if err := c.err(node.Name); err != nil {
			return cloud.Machine{}, err
		}
	}
	machine, exists := c.machines[node.Name]
	if !exists {
		return cloud.Machine{}, &cloud.MachineProblem{Reason: cloud.MachineNotFound, Message: "no machine " + node.Name}
	}
	return machine, nil
}

// set changes it between calls.
func (c *fakeCloud) set(change func(*fakeCloud)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// rig is a cluster on a fake cloud, in virtual time, with a Controller.
type rig struct {
	*testing.T
	fakeCloud  *fakeCloud
	cluster    *cluster.Cluster
	process    *workerpooltest.Process
	controller *Controller
	made       int

	mu      sync.Mutex
	patches []string // "a status", "a"
	// refuse answers a patch instead of the API server; nil passes all on.
	refuse func(what string) *http.Response
}

const resyncPeriod = 5 * time.Minute

// inBubble runs a test in a synctest bubble.
func inBubble(t *testing.T, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, fakeCloud: &fakeCloud{machines: map[string]cloud.Machine{}}, cluster: cluster.New(),
			process: workerpooltest.New(t)}
		test(r)
	})
}

// start starts a process, after the one before has ended.
func (r *rig) start() {
	r.Helper()
	r.startWith(r.fakeCloud, 1)
}

func (r *rig) startWith(provider cloud.Machines, workers int) {
	r.Helper()
	client, err := cluster.Client(r)
	if err != nil {
		r.Fatal(err)
	}
	r.process.Begin(client, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		r.controller, err = New(Options{Provider: provider, Behaviour: cloud.MachineBehaviour{Domain: testDomain},
			Client: client, Nodes: factory.Core().V1().Nodes(),
			Period: resyncPeriod, Workers: workers, ResyncWorkers: workers, Recorder: r.process.Recorder})
		return r.controller.Run, err
	})
	r.pass(500 * time.Millisecond)
}

// RoundTrip passes requests of the controller on to the API server.
func (r *rig) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPatch {
		what := strings.ReplaceAll(strings.TrimPrefix(request.URL.Path, "/api/v1/nodes/"), "/", " ")
		r.mu.Lock()
		r.patches = append(r.patches, what)
		refuse := r.refuse
		r.mu.Unlock()
		if refuse != nil {
			if response := refuse(what); response != nil {
				response.Request = request
				return response, request.Body.Close()
			}
		}
	}
	return r.cluster.Transport().RoundTrip(request)
}

// refusing answers patches with that status and its reason.
func (r *rig) refusing(status int, reason metav1.StatusReason) {
	text := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure",`+
		`"message":"as the test requires","reason":%q,"code":%d}`, reason, status)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = func(string) *http.Response {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(text))}
	}
}

// accepting passes patches on again.
func (r *rig) accepting() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = nil
}

// pass lets time pass.
func (r *rig) pass(d time.Duration) { workerpooltest.Pass(d) }

// machine creates or changes a machine.
func (r *rig) machine(name string, change func(*cloud.Machine)) {
	r.Helper()
	r.fakeCloud.set(func(c *fakeCloud) {
		m, exists := c.machines[name]
		if !exists {
			m = cloud.Machine{ProviderID: fakeScheme + name, Addresses: addresses("host " + name + ", in 10.0.0." +
				fmt.Sprint(len(c.machines)+1)),
				Type: "small", Zone: "z1", Region: "r1"}
		}
		if change != nil {
			change(&m)
		}
		c.machines[name] = m
	})
}

// register creates a Node as its kubelet does.
func (r *rig) register(name string, change func(*corev1.Node)) {
	r.Helper()
	r.made++
	node := fresh()
	node.Name, node.UID, node.ResourceVersion = name, types.UID(fmt.Sprintf("uid-%d", r.made)), ""
	node.Status.Addresses = addresses("host " + name)
	if change != nil {
		change(node)
	}
	if err := r.cluster.Create(node); err != nil {
		r.Fatal(err)
	}
}

// join creates a machine and its Node.
func (r *rig) join(names ...string) {
	r.Helper()
	for _, name := range names {
		r.machine(name, nil)
		r.register(name, nil)
	}
}

// change changes a Node.
func (r *rig) change(name string, change func(*corev1.Node)) {
	r.Helper()
	if err := r.cluster.ChangeNode(name, change); err != nil {
		r.Fatal(err)
	}
}

// node returns the Node in the API server.
func (r *rig) node(name string) *corev1.Node {
	r.Helper()
	for _, node := range r.cluster.Nodes() {
		if node.Name == name {
			return node
		}
	}
	r.Fatalf("there is no Node %s", name)
	return nil
}

// written are the patches since the last call.
func (r *rig) written() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := strings.Join(r.patches, ", ")
	r.patches = nil
	return all
}

// warnings returns the events since the last call, as "Type Reason Message".
func (r *rig) warnings() []string { return r.process.Events() }

// eventReasons counts the events since the last call by their reasons: "2 MachineNotFound".
func (r *rig) eventReasons() string {
	count, order := map[string]int{}, []string{}
	for _, event := range r.warnings() {
		reason := strings.Fields(event)[1]
		if count[reason]++; count[reason] == 1 {
			order = append(order, reason)
		}
	}
	for i, reason := range order {
		order[i] = fmt.Sprintf("%d %s", count[reason], reason)
	}
	return strings.Join(order, ", ")
}

func (r *rig) want(what string, got, want any) {
	r.Helper()
	if got != want {
		r.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// initialised checks that Nodes have everything of their machines.
func (r *rig) initialised(names ...string) {
	r.Helper()
	for _, name := range names {
		node := r.node(name)
		r.fakeCloud.mu.Lock()
		d, problem := compare(node, r.fakeCloud.machines[name], testDomain)
		r.fakeCloud.mu.Unlock()
		if cloud.Uninitialised(node) || problem != nil || !d.none() || node.Spec.ProviderID != fakeScheme+name {
			r.Errorf("Node %s is not initialised: %+v, %v; %+v", name, d, problem, node.Spec)
		}
	}
}

// withoutTaint removes the taint of uninitialised Nodes, as users do.
func withoutTaint(node *corev1.Node) {
	node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
}
