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

// fakeProvider is a cloud that implements only the interface of k8s.io/cloud-provider.
type fakeProvider struct {
	mu        sync.Mutex
	calls     []string
	exists    map[string]bool
	ensureErr error // the error of EnsureLoadBalancer
	getErr    error // the error of GetLoadBalancer
	noStatus  bool  // EnsureLoadBalancer returns no status
}

func (l *fakeProvider) GetLoadBalancer(_ context.Context, _ string,
	service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &corev1.LoadBalancerStatus{}, l.exists[service.Name], l.getErr
}

func (l *fakeProvider) GetLoadBalancerName(_ context.Context, _ string, service *corev1.Service) string {
	return service.Name
}

func (l *fakeProvider) EnsureLoadBalancer(_ context.Context, cluster string, service *corev1.Service,
	nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, fmt.Sprintf("ensure %s of %s on %s", service.Name, cluster, nodeNames(nodes)))
	if l.ensureErr != nil || l.noStatus {
		return nil, l.ensureErr
	}
	l.exists[service.Name] = true
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}, nil
}

func (l *fakeProvider) UpdateLoadBalancer(_ context.Context, _ string, service *corev1.Service,
	nodes []*corev1.Node) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, fmt.Sprintf("update %s on %s", service.Name, nodeNames(nodes)))
	return nil
}

func (l *fakeProvider) EnsureLoadBalancerDeleted(_ context.Context, _ string, service *corev1.Service) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, "delete "+service.Name)
	delete(l.exists, service.Name)
	return nil
}

// set changes the fake.
func (l *fakeProvider) set(change func(*fakeProvider)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// recordedCalls returns all calls.
func (l *fakeProvider) recordedCalls() []string {
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

// startAdapter starts a process with the adapter of a fake.
func (r *rig) startAdapter(provided *fakeProvider) {
	r.Helper()
	factory := informers.NewSharedInformerFactory(r.cluster, 0)
	lister := factory.Core().V1().Nodes().Lister()
	factory.StartWithContext(r.Context())
	factory.WaitForCacheSyncWithContext(r.Context())
	r.behaviour = cloud.LoadBalancerBehaviour{PollInterval: 5 * time.Second, SlowAfter: 5 * time.Minute,
		Drift: cloud.Repair}
	nodes := func() corelisters.NodeLister { return lister }
	r.startWith(adapter.LoadBalancers("plain", provided, "kubernetes", nodes), 2)
}

// TestAdapterCalls: the adapter calls the provider for changes only.
func TestAdapterCalls(t *testing.T) {
	inRig(t, func(r *rig) {
		provided := &fakeProvider{exists: map[string]bool{}}
		r.startAdapter(provided)
		r.addService("web")
		r.waitForSync()
		want(r, "address", fmt.Sprint(addressesOf(r.service("web").Status.LoadBalancer)), "[192.0.2.1]")
		<-time.After(time.Hour)
		r.addNode("c")
		r.waitForSync()
		r.changeService("web", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
		r.waitForSync()
		r.deleteService("web")
		r.waitForSync()
		wantList(r, "calls", provided.recordedCalls(), "ensure web of kubernetes on ab", "update web on abc",
			"ensure web of kubernetes on abc", "delete web")
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), false)
	})
}

// TestAdapterNodeGetsProviderID: a node that gets its provider ID after it was added causes another call, because the
// provider may have ignored it before.
func TestAdapterNodeGetsProviderID(t *testing.T) {
	inRig(t, func(r *rig) {
		provided := &fakeProvider{exists: map[string]bool{}}
		r.changeNode("b", func(n *corev1.Node) { n.Spec.ProviderID = "" })
		r.startAdapter(provided)
		r.addService("web")
		r.waitForSync()
		r.changeNode("b", func(n *corev1.Node) { n.Spec.ProviderID = "plain://vm-b" })
		r.waitForSync()
		wantList(r, "calls", provided.recordedCalls(), "ensure web of kubernetes on ab", "update web on ab")
	})
}

// TestAdapterRetryError: the time in a RetryError is respected, and no failure is reported.
func TestAdapterRetryError(t *testing.T) {
	inRig(t, func(r *rig) {
		provided := &fakeProvider{exists: map[string]bool{}, ensureErr: api.NewRetryError("not yet", time.Minute)}
		r.startAdapter(provided)
		r.addService("web")
		<-time.After(150 * time.Second)
		want(r, "calls", len(provided.recordedCalls()), 3)
		want(r, "condition", r.condition("web", conditionProvisioned), "False Waiting")
		for _, event := range r.events() {
			if event == "Warning SyncLoadBalancerFailed" {
				t.Error("waiting is reported as a failure")
			}
		}
		provided.set(func(l *fakeProvider) { l.ensureErr = nil })
		<-time.After(time.Minute)
		want(r, "condition", r.condition("web", conditionProvisioned), "True Provisioned")
	})
}

// TestAdapterImplementedElsewhere: a Service whose load balancer another program implements is not changed, and keeps a
// finalizer that it had.
func TestAdapterImplementedElsewhere(t *testing.T) {
	for _, had := range []bool{false, true} {
		inRig(t, func(r *rig) {
			provided := &fakeProvider{exists: map[string]bool{}, ensureErr: cloudprovider.ImplementedElsewhere}
			r.startAdapter(provided)
			r.addService("web", func(s *corev1.Service) {
				if had {
					s.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
				}
			})
			<-time.After(time.Hour)
			wantList(r, "calls", provided.recordedCalls(), "ensure web of kubernetes on ab")
			want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), had)
			want(r, "conditions", hasConditions(r.service("web")), false)
		})
	}
}

// TestAdapterFails: if the provider returns an error, nothing is deleted and the finalizer stays. A missing status is
// reported as an error.
func TestAdapterFails(t *testing.T) {
	inRig(t, func(r *rig) {
		provided := &fakeProvider{exists: map[string]bool{}, noStatus: true}
		r.startAdapter(provided)
		r.addService("web")
		r.waitForSync()
		want(r, "condition", r.condition("web", conditionProvisioned), "False Failed")
		provided.set(func(l *fakeProvider) { l.noStatus, l.getErr = false, errors.New("it is dark") })
		r.deleteService("web")
		<-time.After(time.Minute)
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), true)
		provided.set(func(l *fakeProvider) { l.getErr = nil })
		<-time.After(5 * time.Minute)
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), false)
	})
}
