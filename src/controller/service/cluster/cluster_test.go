package cluster_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
)

const finalizer = "example.com/keep"

// web returns a Service.
func web(finalizers ...string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "first",
		Finalizers: finalizers},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
}

// newCluster returns a cluster with one object, and a client for it.
func newCluster(t *testing.T, object cluster.Object) (*cluster.Cluster, kubernetes.Interface) {
	t.Helper()
	c := cluster.New()
	if err := c.Create(object); err != nil {
		t.Fatal(err)
	}
	client, err := cluster.Client(c.Transport())
	if err != nil {
		t.Fatal(err)
	}
	return c, client
}

// TestWritesOfProcesses: a process cannot make a write that no controller makes, such as the deletion of a Service.
func TestWritesOfProcesses(t *testing.T) {
	c, client := newCluster(t, web())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if err := c.Create(node); err != nil {
		t.Fatal(err)
	}
	core := client.CoreV1()
	if err := core.Services("shop").Delete(t.Context(), "web",
		metav1.DeleteOptions{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("a Service deleted by a process: %v", err)
	}
	if _, err := core.Services("shop").Update(t.Context(), web(),
		metav1.UpdateOptions{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("a Service updated by a process: %v", err)
	}
	if err := core.Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a Node deleted by a process: %v", err)
	}
	if c.Version() != 3 || len(c.Nodes()) != 0 || len(c.Services()) != 1 {
		t.Errorf("version %d, Nodes %v, Services %v", c.Version(), c.Nodes(), c.Services())
	}
}

// TestErrors: what is there is not created, and what is not there is neither changed nor deleted.
func TestErrors(t *testing.T) {
	c, _ := newCluster(t, web())
	if err := c.Create(web()); !apierrors.IsAlreadyExists(err) {
		t.Errorf("another one of its name: %v", err)
	}
	if err := c.ChangeNode("b", func(*corev1.Node) {
		t.Error("a Node that is not there is changed")
	}); !apierrors.IsNotFound(err) {
		t.Errorf("one that is not there is changed: %v", err)
	}
	if err := c.Delete(&corev1.Node{}); !apierrors.IsNotFound(err) {
		t.Errorf("one that is not there is deleted: %v", err)
	}
}

// TestInformersReceiveAllChanges: informers receive all changes in order, and stop with their context.
func TestInformersReceiveAllChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := newCluster(t, web(finalizer))
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
		factory := informers.NewSharedInformerFactory(client, 0)
		var seen []string
		record := func(what string, object any) {
			if service, ok := object.(*corev1.Service); ok {
				seen = append(seen, what+" "+string(service.UID)+" "+service.Labels["step"])
			}
		}
		_, err := factory.Core().V1().Services().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { record("add", object) },
			UpdateFunc: func(_, object any) { record("update", object) },
			DeleteFunc: func(object any) { record("delete", object) },
		})
		if err != nil {
			t.Fatal(err)
		}
		factory.StartWithContext(ctx)
		synctest.Wait()
		relabel := func(object cluster.Object) { object.SetLabels(map[string]string{"step": "two"}) }
		if err := c.Change(web(), relabel); err != nil {
			t.Fatal(err)
		}
		another := web()
		another.UID = "second"
		for _, do := range []func() error{func() error {
			return c.Replace(another)
		}, func() error { return c.Delete(web()) }} {
			synctest.Wait()
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		cancel()
		factory.Shutdown()
		want := []string{"add first ", "update first two", "delete first two", "add second ", "delete second "}
		if !slices.Equal(seen, want) {
			t.Errorf("seen %q, want %q", seen, want)
		}
	})
}

func TestFieldsThatChangeDoesNotModify(t *testing.T) {
	c, _ := newCluster(t, web())
	err := c.Change(web(), func(object cluster.Object) {
		object.SetUID("second")
		object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	})
	if one := c.Services()[0]; err != nil || one.UID != "first" || one.DeletionTimestamp != nil {
		t.Errorf("changed to %v, %v", one, err)
	}
}

// TestOtherTypes: a Service that becomes one of another type loses its class and its addresses.
func TestOtherTypes(t *testing.T) {
	class, service := "example.com/class", web()
	service.Spec.LoadBalancerClass = &class
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	c, _ := newCluster(t, service)
	err := c.Change(service, func(object cluster.Object) {
		if changed, ok := object.(*corev1.Service); ok {
			changed.Spec.Type = corev1.ServiceTypeClusterIP
		}
	})
	if one := c.Services()[0]; err != nil || one.Spec.LoadBalancerClass != nil ||
		len(one.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("changed to %v, %v", one, err)
	}
}
