package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/adapter"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// library is a cloud with nothing but the interface of k8s.io/cloud-provider.
type library struct {
	mu      sync.Mutex
	calls   []string
	there   map[string]bool
	ensure  error // what EnsureLoadBalancer ends with
	unknown error // what GetLoadBalancer ends with
	nothing bool  // EnsureLoadBalancer returns no status
}

func (l *library) GetLoadBalancer(_ context.Context, _ string,
	service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &corev1.LoadBalancerStatus{}, l.there[service.Name], l.unknown
}

func (l *library) GetLoadBalancerName(_ context.Context, _ string, service *corev1.Service) string {
	return service.Name
}

func (l *library) EnsureLoadBalancer(_ context.Context, cluster string, service *corev1.Service,
	nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, fmt.Sprintf("ensure %s of %s on %s", service.Name, cluster, nodeNames(nodes)))
	if l.ensure != nil || l.nothing {
		return nil, l.ensure
	}
	l.there[service.Name] = true
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}, nil
}

func (l *library) UpdateLoadBalancer(_ context.Context, _ string, service *corev1.Service, nodes []*corev1.Node) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, fmt.Sprintf("update %s on %s", service.Name, nodeNames(nodes)))
	return nil
}

func (l *library) EnsureLoadBalancerDeleted(_ context.Context, _ string, service *corev1.Service) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, "delete "+service.Name)
	delete(l.there, service.Name)
	return nil
}

// set changes the cloud.
func (l *library) set(change func(*library)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// called are the calls so far.
func (l *library) called() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

func nodeNames(nodes []*corev1.Node) (names string) {
	for _, node := range nodes {
		names += node.Name
	}
	return names
}

// startAdapter begins a process for such a cloud.
func (r *rig) startAdapter(provided *library) {
	r.Helper()
	factory := informers.NewSharedInformerFactory(r.cluster, 0)
	lister := factory.Core().V1().Nodes().Lister()
	factory.StartWithContext(r.Context())
	factory.WaitForCacheSyncWithContext(r.Context())
	r.behaviour = cloud.LoadBalancerBehaviour{PollInterval: 5 * time.Second, SlowAfter: 5 * time.Minute,
		Drift: cloud.Repair}
	r.startWith(adapter.LoadBalancers(provided, "kubernetes", func() corelisters.NodeLister { return lister }), 2)
}

// TestAdapter is called for what has changed, and for nothing else.
func TestAdapter(t *testing.T) {
	inRig(t, func(r *rig) {
		provided := &library{there: map[string]bool{}}
		r.startAdapter(provided)
		r.addService("web")
		r.settle()
		want(r, "address", fmt.Sprint(addressesOf(r.service("web").Status.LoadBalancer)), "[192.0.2.1]")
		<-time.After(time.Hour)
		r.addNode("c")
		r.settle()
		r.changeService("web", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
		r.settle()
		r.deleteService("web")
		r.settle()
		wantList(r, "calls", provided.called(), "ensure web of kubernetes on ab", "update web on abc",
			"ensure web of kubernetes on abc", "delete web")
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), false)
	})
}

// TestAdapterNodeGetsProviderID: a node that says which machine it is only after it joined is handed over once more,
// because the provider may have left it out.
func TestAdapterNodeGetsProviderID(t *testing.T) {
	inRig(t, func(r *rig) {
		provided := &library{there: map[string]bool{}}
		r.changeNode("b", func(n *corev1.Node) { n.Spec.ProviderID = "" })
		r.startAdapter(provided)
		r.addService("web")
		r.settle()
		r.changeNode("b", func(n *corev1.Node) { n.Spec.ProviderID = "plain://vm-b" })
		r.settle()
		wantList(r, "calls", provided.called(), "ensure web of kubernetes on ab", "update web on ab")
	})
}

// TestAdapterIsBusy: its time is heeded, and nobody waits meanwhile.
func TestAdapterIsBusy(t *testing.T) {
	inRig(t, func(r *rig) {
		provided := &library{there: map[string]bool{}, ensure: api.NewRetryError("not yet", time.Minute)}
		r.startAdapter(provided)
		r.addService("web")
		<-time.After(150 * time.Second)
		want(r, "calls", len(provided.called()), 3)
		want(r, "condition", r.condition("web", conditionProvisioned), "False Waiting")
		for _, event := range r.told() {
			if event == "Warning SyncLoadBalancerFailed" {
				t.Error("waiting is told as a failure")
			}
		}
		provided.set(func(l *library) { l.ensure = nil })
		<-time.After(time.Minute)
		want(r, "condition", r.condition("web", conditionProvisioned), "True Provisioned")
	})
}

// TestAdapterImplementedElsewhere: load balancers that somebody else makes are left to them.
func TestAdapterImplementedElsewhere(t *testing.T) {
	inRig(t, func(r *rig) {
		provided := &library{there: map[string]bool{}, ensure: cloudprovider.ImplementedElsewhere}
		r.startAdapter(provided)
		r.addService("web")
		<-time.After(time.Hour)
		wantList(r, "calls", provided.called(), "ensure web of kubernetes on ab")
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), false)
	})
}

// TestAdapterFails: when it cannot say what there is, nothing is deleted and no finalizer dropped; and no status is a
// mistake that is told.
func TestAdapterFails(t *testing.T) {
	inRig(t, func(r *rig) {
		provided := &library{there: map[string]bool{}, nothing: true}
		r.startAdapter(provided)
		r.addService("web")
		r.settle()
		want(r, "condition", r.condition("web", conditionProvisioned), "False Failed")
		provided.set(func(l *library) { l.nothing, l.unknown = false, errors.New("it is dark") })
		r.deleteService("web")
		<-time.After(time.Minute)
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), true)
		provided.set(func(l *library) { l.unknown = nil })
		<-time.After(5 * time.Minute)
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), false)
	})
}
