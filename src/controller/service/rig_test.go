package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// rig is a cluster, in virtual time, whose Services a controller serves from a plain cloud.
type rig struct {
	*testing.T
	cloud      *plain
	cluster    *fake.Clientset
	behaviour  cloud.LoadBalancerBehaviour
	process    *workerpooltest.Process
	controller *Controller
	generation int
	recorder   bool // events go to the cluster
}

// driftPeriod is the one of the tests.
const driftPeriod = 5 * time.Minute

// inRig runs a test with nodes a and b, in a synctest bubble.
func inRig(t *testing.T, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, cloud: newPlain(), cluster: fake.NewClientset(), process: workerpooltest.New(t),
			behaviour: cloud.LoadBalancerBehaviour{PollInterval: 5 * time.Second, SlowAfter: 5 * time.Minute,
				DriftPeriod: driftPeriod, Drift: cloud.Repair}}
		r.addNode("a")
		r.addNode("b")
		test(r)
	})
}

// start begins a process with so many workers, after the one before has ended.
func (r *rig) start(workers int) {
	r.Helper()
	r.startWith(r.cloud, workers)
}

func (r *rig) startWith(provider cloud.LoadBalancers, workers int) {
	r.Helper()
	var recorder record.EventRecorder = r.process.Recorder
	if r.recorder {
		recorder = nil
	}
	r.process.Begin(r.cluster, func(factory informers.SharedInformerFactory) (run func(context.Context), err error) {
		// The library's own handler of errors sleeps until the present, which in virtual time is decades away.
		quiet := func(context.Context, *cache.Reflector, error) {}
		if err := factory.Discovery().V1().EndpointSlices().Informer().
			SetWatchErrorHandlerWithContext(quiet); err != nil {
			return nil, err
		}
		r.controller, err = New(Options{Provider: provider, Behaviour: r.behaviour, Client: r.cluster,
			Recorder: recorder,
			Services: factory.Core().V1().Services(), Nodes: factory.Core().V1().Nodes(),
			EndpointSlices: factory.Discovery().V1().EndpointSlices()})
		return func(ctx context.Context) { r.controller.Run(ctx, workers) }, err
	})
	r.settle()
}

// stop ends the process.
func (r *rig) stop() { r.process.End() }

// serve begins a process with a Service that is served when it returns, and forgets what was told meanwhile.
func (r *rig) serve(workers int) *corev1.Service {
	r.Helper()
	r.start(workers)
	web := r.addService("web")
	r.settle()
	r.told()
	return web
}

// settle waits until all that can be done within a few seconds is done.
func (r *rig) settle() { workerpooltest.Pass(3 * time.Second) }

// addNode lets a node join.
func (r *rig) addNode(name string) {
	r.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "plain://vm-" +
		name}}
	if _, err := r.cluster.CoreV1().Nodes().Create(r.Context(), node, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// changeNode changes a node.
func (r *rig) changeNode(name string, change func(*corev1.Node)) {
	r.Helper()
	workerpooltest.ChangeNode(r, r.cluster, name, change)
}

func (r *rig) deleteNode(name string) {
	r.Helper()
	workerpooltest.DeleteNode(r, r.cluster, name)
}

// addService creates a Service of type LoadBalancer with port 80.
func (r *rig) addService(name string, changes ...func(*corev1.Service)) *corev1.Service {
	r.Helper()
	r.generation++
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name,
			UID: types.UID(fmt.Sprintf("uid-%s-%d", name, r.generation))},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}}},
	}
	for _, change := range changes {
		change(service)
	}
	created, err := r.cluster.CoreV1().Services("shop").Create(r.Context(), service, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return created
}

// service is a Service as the cluster has it.
func (r *rig) service(name string) *corev1.Service {
	r.Helper()
	service, err := r.cluster.CoreV1().Services("shop").Get(r.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return service
}

// changeService changes a Service.
func (r *rig) changeService(name string, change func(*corev1.Service)) {
	r.Helper()
	service := r.service(name)
	change(service)
	if _, err := r.cluster.CoreV1().Services("shop").Update(r.Context(), service, metav1.UpdateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// deleteService deletes a Service as the API server does: one with finalizers is only marked.
func (r *rig) deleteService(name string) {
	r.Helper()
	if len(r.service(name).Finalizers) > 0 {
		r.changeService(name, func(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		return
	}
	if err := r.cluster.CoreV1().Services("shop").Delete(r.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
}

// strip deletes a Service without regard to finalizers, as somebody does who took them away.
func (r *rig) strip(name string) {
	r.Helper()
	if err := r.cluster.CoreV1().Services("shop").Delete(r.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
}

// setEndpoints makes the ready endpoints of a Service be on these nodes.
func (r *rig) setEndpoints(name string, nodes ...string) {
	r.Helper()
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name + "-1",
		Labels: map[string]string{discoveryv1.LabelServiceName: name}}}
	for _, node := range nodes {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.1.0.1"},
			NodeName: &node})
	}
	client := r.cluster.DiscoveryV1().EndpointSlices("shop")
	_, err := client.Create(r.Context(), slice, metav1.CreateOptions{})
	if err != nil {
		_, err = client.Update(r.Context(), slice, metav1.UpdateOptions{})
	}
	if err != nil {
		r.Fatal(err)
	}
}

// told returns the events since the last time, as "Type Reason" with the messages cut off.
func (r *rig) told() []string {
	told := r.toldInFull()
	for i, event := range told {
		told[i] = strings.Join(strings.SplitN(event, " ", 3)[:2], " ")
	}
	return told
}

// toldInFull returns the events since the last time, as "Type Reason Message".
func (r *rig) toldInFull() []string { return r.process.Told() }

// looks is how often the cloud was compared with.
func (r *rig) looks() (looks int) {
	r.cloud.set(func(p *plain) { looks = p.looks })
	return looks
}

// condition is a condition of a Service as "Status Reason", "" without.
func (r *rig) condition(name, kind string) string {
	r.Helper()
	condition, found := find(r.service(name).Status.Conditions, kind)
	if !found {
		return ""
	}
	return string(condition.Status) + " " + condition.Reason
}

// kubernetesWrites are the writes of the controller to the cluster since the last time.
func (r *rig) kubernetesWrites() []string {
	var writes []string
	for _, action := range r.cluster.Actions() {
		if action.GetVerb() == "patch" {
			writes = append(writes, action.GetVerb()+" "+action.GetResource().Resource+"/"+action.GetSubresource())
		}
	}
	r.cluster.ClearActions()
	return writes
}

// want compares.
func want[T comparable](r *rig, what string, got, wanted T) {
	r.Helper()
	if got != wanted {
		r.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

// wantList compares lists.
func wantList(r *rig, what string, got []string, wanted ...string) {
	r.Helper()
	if !slices.Equal(got, wanted) {
		r.Errorf("%s: got\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(wanted, "\n\t"))
	}
}

// addressesOf are the addresses of a status, each with its hostname, if it has one.
func addressesOf(status corev1.LoadBalancerStatus) []string {
	addresses := make([]string, 0, len(status.Ingress))
	for _, ingress := range status.Ingress {
		addresses = append(addresses, strings.TrimSpace(ingress.IP+" "+ingress.Hostname))
	}
	return addresses
}
