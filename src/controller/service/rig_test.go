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

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// rig is a cluster in virtual time, with a controller and a fakeCloud.
type rig struct {
	*testing.T
	cloud      *fakeCloud
	cluster    *fake.Clientset
	behaviour  cloud.LoadBalancerBehaviour
	changes    cloud.Changes // of the cloud; may be nil
	identity   cloud.ClusterIdentity
	process    *workerpooltest.Process
	controller *Controller
	generation int
}

// driftPeriod is the drift period in tests.
const driftPeriod = 5 * time.Minute

// inRig runs a test with the nodes a and b, in a synctest bubble.
func inRig(t *testing.T, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, cloud: newFakeCloud(), cluster: workerpooltest.NewClient(), process: workerpooltest.New(t),
			behaviour: cloud.LoadBalancerBehaviour{PollInterval: 5 * time.Second, SlowAfter: 5 * time.Minute,
				DriftPeriod: driftPeriod, Drift: cloud.Repair}}
		r.addNode("a")
		r.addNode("b")
		test(r)
	})
}

// start starts a process with the given number of workers, after the previous one has ended.
func (r *rig) start(workers int) {
	r.Helper()
	r.startWith(r.cloud, workers)
}

func (r *rig) startWith(provider cloud.LoadBalancers, workers int) {
	r.Helper()
	r.process.Begin(r.cluster, func(factory informers.SharedInformerFactory) (run func(context.Context), err error) {
		// The default handler sleeps until the current time, which is decades away in virtual time.
		ignore := func(context.Context, *cache.Reflector, error) {}
		if err := factory.Discovery().V1().EndpointSlices().Informer().
			SetWatchErrorHandlerWithContext(ignore); err != nil {
			return nil, err
		}
		r.controller, err = New(Options{Provider: provider, Behaviour: r.behaviour, Changes: r.changes,
			Identity: r.identity, Client: r.cluster, Recorder: r.process.Recorder,
			Services: factory.Core().V1().Services(), Nodes: factory.Core().V1().Nodes(),
			EndpointSlices: factory.Discovery().V1().EndpointSlices()})
		return func(ctx context.Context) { r.controller.Run(ctx, workers) }, err
	})
	r.waitForSync()
}

// stop ends the process.
func (r *rig) stop() { r.process.End() }

// startWithService starts a process, creates a Service, waits until its load balancer is ready, and discards the
// events.
func (r *rig) startWithService(workers int) *corev1.Service {
	r.Helper()
	r.start(workers)
	web := r.addService("web")
	r.waitForSync()
	r.events()
	return web
}

// waitForSync waits a few seconds, after which the controller is idle.
func (r *rig) waitForSync() { workerpooltest.Pass(3 * time.Second) }

// addNode creates a node.
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

// service returns a Service in the cluster.
func (r *rig) service(name string) *corev1.Service {
	r.Helper()
	service, err := r.cluster.CoreV1().Services("shop").Get(r.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return service
}

// changeService changes a Service as the API server does: a Service of another type has neither class nor addresses.
func (r *rig) changeService(name string, change func(*corev1.Service)) {
	r.Helper()
	service := r.service(name)
	change(service)
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		service.Spec.LoadBalancerClass, service.Status.LoadBalancer = nil, corev1.LoadBalancerStatus{}
	}
	if _, err := r.cluster.CoreV1().Services("shop").Update(r.Context(), service, metav1.UpdateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// deleteService deletes a Service as the API server does: a Service with finalizers gets a deletion timestamp.
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

// deleteIgnoringFinalizers deletes a Service as if its finalizers had been removed.
func (r *rig) deleteIgnoringFinalizers(name string) {
	r.Helper()
	if err := r.cluster.CoreV1().Services("shop").Delete(r.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
}

// setEndpoints sets the nodes of the ready endpoints of a Service.
func (r *rig) setEndpoints(name string, nodes ...string) {
	r.Helper()
	var all []discoveryv1.Endpoint
	for _, node := range nodes {
		all = append(all, endpoint(node, ""))
	}
	r.setSlice(name, all...)
}

// setSlice sets the endpoints of a Service.
func (r *rig) setSlice(name string, all ...discoveryv1.Endpoint) {
	r.Helper()
	slice := sliceOf(name+"-1", name, all...)
	client := r.cluster.DiscoveryV1().EndpointSlices("shop")
	_, err := client.Create(r.Context(), slice, metav1.CreateOptions{})
	if err != nil {
		_, err = client.Update(r.Context(), slice, metav1.UpdateOptions{})
	}
	if err != nil {
		r.Fatal(err)
	}
}

// events returns the events since the last call, as "Type Reason".
func (r *rig) events() []string {
	events := r.fullEvents()
	for i, event := range events {
		events[i] = strings.Join(strings.SplitN(event, " ", 3)[:2], " ")
	}
	return events
}

// fullEvents returns the events since the last call, as "Type Reason Message".
func (r *rig) fullEvents() []string { return r.process.Events() }

// warnings returns the warnings among the events since the last call, as "Warning Reason Message".
func (r *rig) warnings() []string {
	return slices.DeleteFunc(r.fullEvents(), func(event string) bool {
		return !strings.HasPrefix(event, corev1.EventTypeWarning)
	})
}

// comparisons returns the number of diffs.
func (r *rig) comparisons() (comparisons int) {
	r.cloud.set(func(p *fakeCloud) { comparisons = p.comparisons })
	return comparisons
}

// condition returns a condition of a Service as "Status Reason", or "" if there is none.
func (r *rig) condition(name, kind string) string {
	r.Helper()
	condition, found := findCondition(r.service(name).Status.Conditions, kind)
	if !found {
		return ""
	}
	return string(condition.Status) + " " + condition.Reason
}

// takeKubernetesWrites returns the writes of the controller to the cluster since the last call.
func (r *rig) takeKubernetesWrites() []string {
	var writes []string
	for _, action := range r.cluster.Actions() {
		if action.GetVerb() == "patch" {
			writes = append(writes, action.GetVerb()+" "+action.GetResource().Resource+"/"+action.GetSubresource())
		}
	}
	r.cluster.ClearActions()
	return writes
}

// want fails the test unless the values are equal.
func want[T comparable](r *rig, what string, got, wanted T) {
	r.Helper()
	if got != wanted {
		r.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

// wantList fails the test unless the lists are equal.
func wantList(r *rig, what string, got []string, wanted ...string) {
	r.Helper()
	if !slices.Equal(got, wanted) {
		r.Errorf("%s: got\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(wanted, "\n\t"))
	}
}

// addressesOf returns the addresses in a status, each with its hostname if it has one.
func addressesOf(status corev1.LoadBalancerStatus) []string {
	addresses := make([]string, 0, len(status.Ingress))
	for _, ingress := range status.Ingress {
		addresses = append(addresses, strings.TrimSpace(ingress.IP+" "+ingress.Hostname))
	}
	return addresses
}
