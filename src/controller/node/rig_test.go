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
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// ground is a cloud whose machines are called like their Nodes.
type ground struct {
	Provider // what a Controller never calls
	mu       sync.Mutex
	machines map[string]Machine
	err      func(name string) error // instead of an answer; nil: there is one
	finds    int
	since    map[string]time.Time // how old the answer for a Node might be at most
}

const groundScheme = "ground://"

func (g *ground) Owns(id string) bool { return strings.HasPrefix(id, groundScheme) }

// Find implements Provider.
func (g *ground) Find(_ context.Context, node *corev1.Node, notBefore time.Time) (Machine, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.finds++
	if g.since == nil {
		g.since = map[string]time.Time{}
	}
	g.since[node.Name] = notBefore
	if g.err != nil {
		if err := g.err(node.Name); err != nil {
			return Machine{}, err
		}
	}
	machine, exists := g.machines[node.Name]
	if !exists {
		return Machine{}, &Problem{Reason: MachineNotFound, Message: "no machine " + node.Name}
	}
	return machine, nil
}

// set changes it while nobody asks.
func (g *ground) set(change func(*ground)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(g)
}

// keepRig is a cluster on the ground, in virtual time, with a Controller.
type keepRig struct {
	*testing.T
	ground     *ground
	cluster    *cluster.Cluster
	process    *workerpooltest.Process
	controller *Controller
	made       int

	mu      sync.Mutex
	patches []string // "a status", "a"
	// refuse answers a patch instead of the API server; nil lets all through.
	refuse func(what string) *http.Response
}

const keepPeriod = 5 * time.Minute

// inKeep runs a test in a synctest bubble.
func inKeep(t *testing.T, test func(*keepRig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &keepRig{T: t, ground: &ground{machines: map[string]Machine{}}, cluster: cluster.New(), process: workerpooltest.New(t)}
		test(r)
	})
}

// start begins a process, after the one before has ended.
func (r *keepRig) start() {
	r.Helper()
	r.startWith(r.ground, 1)
}

func (r *keepRig) startWith(provider Provider, workers int) {
	r.Helper()
	client, err := cluster.Client(r)
	if err != nil {
		r.Fatal(err)
	}
	r.process.Begin(client, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		r.controller, err = New(Options{Provider: provider, Behaviour: Behaviour{Domain: testDomain}, Client: client, Nodes: factory.Core().V1().Nodes(),
			Period: keepPeriod, Workers: workers, Lookers: workers, Recorder: r.process.Recorder})
		return r.controller.Run, err
	})
	r.pass(500 * time.Millisecond)
}

// RoundTrip is between the controller and the API server.
func (r *keepRig) RoundTrip(request *http.Request) (*http.Response, error) {
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

// refusing answers patches with that status, and its reason.
func (r *keepRig) refusing(status int, reason metav1.StatusReason) {
	text := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"as the test wants","reason":%q,"code":%d}`, reason, status)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = func(string) *http.Response {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text))}
	}
}

// accepting lets patches through again.
func (r *keepRig) accepting() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = nil
}

// pass lets time pass.
func (r *keepRig) pass(d time.Duration) { workerpooltest.Pass(d) }

// machine makes a machine, or changes it.
func (r *keepRig) machine(name string, change func(*Machine)) {
	r.Helper()
	r.ground.set(func(g *ground) {
		m, exists := g.machines[name]
		if !exists {
			m = Machine{ProviderID: groundScheme + name, Addresses: addresses("host " + name + ", in 10.0.0." + fmt.Sprint(len(g.machines)+1)),
				Type: "small", Zone: "z1", Region: "r1"}
		}
		if change != nil {
			change(&m)
		}
		g.machines[name] = m
	})
}

// register makes a Node as its kubelet does.
func (r *keepRig) register(name string, change func(*corev1.Node)) {
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

// join makes a machine and its Node.
func (r *keepRig) join(names ...string) {
	r.Helper()
	for _, name := range names {
		r.machine(name, nil)
		r.register(name, nil)
	}
}

// change changes a Node.
func (r *keepRig) change(name string, change func(*corev1.Node)) {
	r.Helper()
	if err := r.cluster.ChangeNode(name, change); err != nil {
		r.Fatal(err)
	}
}

// node is a Node as it is.
func (r *keepRig) node(name string) *corev1.Node {
	r.Helper()
	for _, node := range r.cluster.Nodes() {
		if node.Name == name {
			return node
		}
	}
	r.Fatalf("there is no Node %s", name)
	return nil
}

// written are the patches since the last time.
func (r *keepRig) written() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := strings.Join(r.patches, ", ")
	r.patches = nil
	return all
}

// told returns the events since the last time, as "Type Reason Message".
func (r *keepRig) told() []string { return r.process.Told() }

// toldOf counts the events since the last time by their reasons: "2 MachineNotFound".
func (r *keepRig) toldOf() string {
	count, order := map[string]int{}, []string{}
	for _, event := range r.told() {
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

func (r *keepRig) want(what string, got, want any) {
	r.Helper()
	if got != want {
		r.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// initialised wants a Node to say all of its machine.
func (r *keepRig) initialised(names ...string) {
	r.Helper()
	for _, name := range names {
		node := r.node(name)
		r.ground.mu.Lock()
		d, problem := compare(node, r.ground.machines[name], testDomain)
		r.ground.mu.Unlock()
		if waiting(node) || problem != nil || !d.none() || node.Spec.ProviderID != groundScheme+name {
			r.Errorf("Node %s is not initialised: %+v, %v; %+v", name, d, problem, node.Spec)
		}
	}
}

// handsOff removes the taint of Nodes that are not initialised, as people do.
func handsOff(node *corev1.Node) {
	node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
}

// withNodeIP is what a kubelet with --node-ip does.
func withNodeIP(ip string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Annotations = map[string]string{api.AnnotationAlphaProvidedIPAddr: ip} }
}
