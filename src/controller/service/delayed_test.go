package service

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// watchDelay is by how much the caches of a behind are behind.
const watchDelay = time.Second

// behind is a cluster with resource versions, whose watches report each change late. A controller with one worker reads
// from it.
type behind struct {
	*testing.T
	cluster *cluster.Cluster
	cloud   *plain
	process *workerpooltest.Process
	refuses bool // the API server refuses to add finalizers
}

// inBehind runs a test in a synctest bubble.
func inBehind(t *testing.T, test func(*behind)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &behind{T: t, cluster: cluster.New(), cloud: newPlain(), process: workerpooltest.New(t)}
		b.must(b.cluster.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec: corev1.NodeSpec{ProviderID: "plain://vm-a"}}))
		test(b)
		b.process.End()
		workerpooltest.Pass(2 * watchDelay) // until the watches have ended
	})
}

func (b *behind) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// start begins a process, after the one before has ended.
func (b *behind) start() {
	b.Helper()
	client, err := cluster.Client(b)
	b.must(err)
	b.process.Begin(client, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		controller, err := New(Options{
			Provider: b.cloud, Client: client, Recorder: b.process.Recorder,
			Behaviour: cloud.LoadBalancerBehaviour{PollInterval: 5 * time.Second, SlowAfter: time.Hour},
			Services:  factory.Core().V1().Services(), Nodes: factory.Core().V1().Nodes(),
			EndpointSlices: factory.Discovery().V1().EndpointSlices(),
		})
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) { controller.Run(ctx, 1) }, nil
	})
	b.settle()
}

// settle waits until what is to be done is done, and the caches show it.
func (b *behind) settle() { workerpooltest.Pass(time.Minute) }

// change changes the Service.
func (b *behind) change(do func(*corev1.Service)) {
	b.Helper()
	b.must(b.cluster.Change(web(), func(object cluster.Object) {
		if service, ok := object.(*corev1.Service); ok {
			do(service)
		}
	}))
}

// is the Service as it is now.
func (b *behind) is() *corev1.Service { return b.cluster.Services()[0] }

// RoundTrip is the way to the API server.
func (b *behind) RoundTrip(request *http.Request) (*http.Response, error) {
	if b.refuses && request.Method == http.MethodPatch && !helpers.HasLBFinalizer(b.is()) {
		b.refuses = false
		return nil, io.ErrUnexpectedEOF
	}
	response, err := b.cluster.Transport().RoundTrip(request)
	if err == nil && request.URL.Query().Get("watch") == "true" {
		response.Body = late{response.Body}
	}
	return response, err
}

// late is a watch that reports what it reads after watchDelay.
type late struct{ io.ReadCloser }

func (l late) Read(into []byte) (int, error) {
	n, err := l.ReadCloser.Read(into)
	<-time.After(watchDelay)
	return n, err
}

func balanced(service *corev1.Service) { service.Spec.Type = corev1.ServiceTypeLoadBalancer }
func within(service *corev1.Service)   { service.Spec.Type = corev1.ServiceTypeClusterIP }

// TestTypeChangesBackWhileItIsRemoved keeps the finalizer on a Service that asks for a load balancer again when the
// former one has just been removed. Without the finalizer the new one would be left behind when the Service is deleted.
func TestTypeChangesBackWhileItIsRemoved(t *testing.T) {
	inBehind(t, func(b *behind) {
		service := web()
		balanced(service)
		service.Spec.Ports = []corev1.ServicePort{{Port: 80, NodePort: 30080}}
		b.must(b.cluster.Create(service))
		b.start()
		b.process.Told()
		// With the removal's write, and again with the first write for the Service as it is then.
		b.cloud.set(func(p *plain) {
			p.during = func() {
				b.change(balanced)
				b.cloud.during = func() {
					if !helpers.HasLBFinalizer(b.is()) {
						b.Error("something is made of a Service that has no finalizer")
					}
				}
			}
		})
		b.change(within)
		b.settle()
		if service := b.is(); !helpers.HasLBFinalizer(service) || len(service.Status.LoadBalancer.Ingress) == 0 ||
			len(b.cloud.has()) != 1 {
			t.Errorf("finalizers %q, addresses %v, the cloud has %q", service.Finalizers,
				service.Status.LoadBalancer.Ingress, b.cloud.has())
		}
		for _, event := range b.process.Told() {
			if strings.Contains(event, "modified") {
				t.Errorf("event %s", event)
			}
		}
	})
}

// TestConditionsOfAServiceThatNeverHadTheFinalizer are removed when its type changes, also by the next process.
func TestConditionsOfAServiceThatNeverHadTheFinalizer(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		inBehind(t, func(b *behind) {
			b.start()
			service := web()
			balanced(service)
			b.refuses = true
			b.must(b.cluster.Create(service))
			workerpooltest.Pass(watchDelay + time.Second)
			if len(b.is().Status.Conditions) == 0 || helpers.HasLBFinalizer(b.is()) {
				t.Fatalf("conditions %v, finalizers %q; want some, and none of ours", b.is().Status.Conditions,
					b.is().Finalizers)
			}
			if restarts {
				b.process.End()
			}
			b.change(within)
			if restarts {
				b.start()
			}
			b.settle()
			if left := b.is().Status.Conditions; len(left) > 0 {
				t.Errorf("restarted: %t: its conditions are %v", restarts, left)
			}
		})
	}
}
