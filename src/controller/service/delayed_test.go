package service

import (
	"context"
	"errors"
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

// watchDelay is the time after which the watches of a delayedCluster report a change. A retry after five seconds comes
// after the next change and before the one after that.
const watchDelay = 3 * time.Second

// delayedCluster is a cluster with resource versions, whose watches report each change late. A controller with one
// worker runs on it.
type delayedCluster struct {
	*testing.T
	cluster *cluster.Cluster
	cloud   *fakeCloud
	process *workerpooltest.Process
	// beforePatch is called before each patch. With an error, the patch is not sent.
	beforePatch func() error
	// afterPatch is called after each patch. With an error, its answer is lost.
	afterPatch func() error
}

// inDelayedCluster runs a test in a synctest bubble.
func inDelayedCluster(t *testing.T, test func(*delayedCluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &delayedCluster{T: t, cluster: cluster.New(), cloud: newFakeCloud(), process: workerpooltest.New(t)}
		b.must(b.cluster.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec: corev1.NodeSpec{ProviderID: "plain://vm-a"}}))
		test(b)
		b.process.End()
		workerpooltest.Pass(2 * watchDelay) // until the watches have ended
	})
}

func (b *delayedCluster) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// start starts a process after the previous one has ended.
func (b *delayedCluster) start() {
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
	b.waitForSync()
}

// waitForSync waits until the controller is idle and the caches are up to date.
func (b *delayedCluster) waitForSync() { workerpooltest.Pass(time.Minute) }

// change changes the Service.
func (b *delayedCluster) change(do func(*corev1.Service)) {
	b.Helper()
	b.must(b.cluster.Change(web(), func(object cluster.Object) {
		if service, ok := object.(*corev1.Service); ok {
			do(service)
		}
	}))
}

// current returns the Service in the cluster.
func (b *delayedCluster) current() *corev1.Service { return b.cluster.Services()[0] }

// RoundTrip forwards requests to the cluster.
func (b *delayedCluster) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPatch && b.beforePatch != nil {
		if err := b.beforePatch(); err != nil {
			return nil, err
		}
	}
	response, err := b.cluster.Transport().RoundTrip(request)
	if err == nil && request.Method == http.MethodPatch && b.afterPatch != nil {
		if err := b.afterPatch(); err != nil {
			return nil, errors.Join(err, response.Body.Close())
		}
	}
	if err == nil && request.URL.Query().Get("watch") == "true" {
		response.Body = delayedBody{response.Body}
	}
	return response, err
}

// delayedBody is the body of a watch that returns each change after watchDelay.
type delayedBody struct{ io.ReadCloser }

func (l delayedBody) Read(into []byte) (int, error) {
	n, err := l.ReadCloser.Read(into)
	<-time.After(watchDelay)
	return n, err
}

func makeLoadBalancer(service *corev1.Service) { service.Spec.Type = corev1.ServiceTypeLoadBalancer }
func makeClusterIP(service *corev1.Service)    { service.Spec.Type = corev1.ServiceTypeClusterIP }

// TestTypeChangesBackWhileItIsRemoved: the finalizer stays on a Service that needs a load balancer again just after the
// previous one was deleted. Otherwise the new load balancer would not be deleted with the Service.
func TestTypeChangesBackWhileItIsRemoved(t *testing.T) {
	inDelayedCluster(t, func(b *delayedCluster) {
		service := web()
		makeLoadBalancer(service)
		service.Spec.Ports = []corev1.ServicePort{{Port: 80, NodePort: 30080}}
		b.must(b.cluster.Create(service))
		b.start()
		b.process.Events()
		// During the write of the deletion, and again during the first write for the new version.
		b.cloud.set(func(p *fakeCloud) {
			p.onWrite = func() {
				b.change(makeLoadBalancer)
				b.cloud.onWrite = func() {
					if !helpers.HasLBFinalizer(b.current()) {
						b.Error("something is made of a Service that has no finalizer")
					}
				}
			}
		})
		b.change(makeClusterIP)
		b.waitForSync()
		if service := b.current(); !helpers.HasLBFinalizer(service) || len(service.Status.LoadBalancer.Ingress) == 0 ||
			len(b.cloud.contents()) != 1 {
			t.Errorf("finalizers %q, addresses %v, the cloud has %q", service.Finalizers,
				service.Status.LoadBalancer.Ingress, b.cloud.contents())
		}
		for _, event := range b.process.Events() {
			if strings.Contains(event, "modified") {
				t.Errorf("event %s", event)
			}
		}
	})
}

// TestTypeChangesBeforeAWrite: the type changes just before the controller writes to the Service. The watch reports the
// type first, so that the Service seems to have nothing of this controller, and then what was written.
func TestTypeChangesBeforeAWrite(t *testing.T) {
	for name, fails := range map[string]func(b *delayedCluster, patch int) (before, after error){
		"conditions, which the first write does not remove": func(b *delayedCluster, patch int) (before, after error) {
			switch patch {
			case 1: // the finalizer
				b.change(makeClusterIP)
				return io.ErrUnexpectedEOF, nil
			case 3: // the removal of the conditions that the second patch wrote
				return io.ErrUnexpectedEOF, nil
			}
			return nil, nil
		},
		"finalizer, whose answer is lost": func(b *delayedCluster, patch int) (before, after error) {
			switch patch {
			case 1: // the finalizer
				b.change(makeClusterIP)
				return nil, io.ErrUnexpectedEOF
			case 2: // the conditions
				return io.ErrUnexpectedEOF, nil
			}
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			inDelayedCluster(t, func(b *delayedCluster) {
				b.start()
				patches := 0
				var after error
				b.beforePatch = func() (before error) {
					patches++
					before, after = fails(b, patches)
					return before
				}
				b.afterPatch = func() error { return after }
				service := web()
				makeLoadBalancer(service)
				b.must(b.cluster.Create(service))
				b.waitForSync()
				service = b.current()
				if helpers.HasLBFinalizer(service) || len(service.Status.Conditions) > 0 {
					t.Errorf("after %d patches: finalizers %q, conditions %v; want none", patches, service.Finalizers,
						service.Status.Conditions)
				}
			})
		})
	}
}

// TestNoWriteIsRepeated: no write is repeated while the cache contains an older version, and each is made once.
func TestNoWriteIsRepeated(t *testing.T) {
	inDelayedCluster(t, func(b *delayedCluster) {
		b.cloud.readyAfter = 20 * time.Second
		b.start()
		patches := 0
		b.beforePatch = func() error { patches++; return nil }
		service := web()
		service.Spec.Ports = []corev1.ServicePort{{Port: 80, NodePort: 30080}}
		b.must(b.cluster.Create(service))
		b.waitForSync()
		if service = b.current(); !helpers.HasLBFinalizer(service) || len(service.Status.LoadBalancer.Ingress) != 1 ||
			patches != 3 {
			t.Errorf("%d patches, finalizers %q, addresses %v; want patches for the finalizer, that it waits, and an "+
				"address", patches, service.Finalizers, service.Status.LoadBalancer.Ingress)
		}
		b.must(b.cluster.Delete(service))
		b.waitForSync()
		if service = b.current(); patches != 4 || len(service.Finalizers) != 1 || hasConditions(service) ||
			len(service.Status.LoadBalancer.Ingress) > 0 {
			t.Errorf("after %d patches, finalizers %q, status %v; want that of the other program, and none", patches,
				service.Finalizers, service.Status)
		}
	})
}

// TestWritesCheckTheUID: a write for one Service does not change another Service with the same name.
func TestWritesCheckTheUID(t *testing.T) {
	inDelayedCluster(t, func(b *delayedCluster) {
		b.start()
		patches := 0
		b.beforePatch = func() error {
			if patches++; patches > 1 {
				return nil
			}
			other := web()
			makeClusterIP(other)
			return b.cluster.Replace(other)
		}
		service := web()
		service.Spec.Ports = []corev1.ServicePort{{Port: 80, NodePort: 30080}}
		b.must(b.cluster.Create(service))
		b.waitForSync()
		if service = b.current(); patches == 0 || len(service.Finalizers) != 1 || hasConditions(service) {
			t.Errorf("after %d patches, finalizers %q, conditions %v", patches, service.Finalizers,
				service.Status.Conditions)
		}
		if events := strings.Join(b.process.Events(), "\n"); !strings.Contains(events,
			"adding the finalizer that keeps Service shop/web") {
			t.Errorf("events %s", events)
		}
	})
}

// TestConditionsOfAServiceThatNeverHadTheFinalizer: conditions are removed when the type changes, also by the next
// process.
func TestConditionsOfAServiceThatNeverHadTheFinalizer(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		inDelayedCluster(t, func(b *delayedCluster) {
			b.start()
			service := web()
			makeLoadBalancer(service)
			b.beforePatch = func() error {
				b.beforePatch = nil
				return io.ErrUnexpectedEOF
			}
			b.must(b.cluster.Create(service))
			workerpooltest.Pass(watchDelay + time.Second)
			if len(b.current().Status.Conditions) == 0 || helpers.HasLBFinalizer(b.current()) {
				t.Fatalf("conditions %v, finalizers %q; want some, and none of ours", b.current().Status.Conditions,
					b.current().Finalizers)
			}
			if restarts {
				b.process.End()
			}
			b.change(makeClusterIP)
			if restarts {
				b.start()
			}
			b.waitForSync()
			if left := b.current().Status.Conditions; len(left) > 0 {
				t.Errorf("restarted: %t: its conditions are %v", restarts, left)
			}
		})
	}
}
