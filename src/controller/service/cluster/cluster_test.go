package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
)

// web returns a Service.
func web() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
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
