package cluster_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// patchStatus sends a patch of the status of the Service.
func patchStatus(t *testing.T, client kubernetes.Interface, patch string) error {
	t.Helper()
	_, err := client.CoreV1().Services("shop").Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status")
	return err
}

func TestFinalizersDelayDeletion(t *testing.T) {
	c, client := newCluster(t, web(finalizer))
	for range 2 {
		if err := c.Delete(web()); err != nil {
			t.Fatal(err)
		}
	}
	if left := c.Services(); len(left) != 1 || left[0].DeletionTimestamp == nil {
		t.Fatalf("deleted, with a finalizer: %v", left)
	}
	if err := c.Create(web()); !apierrors.IsAlreadyExists(err) {
		t.Errorf("another one of its name: %v", err)
	}
	if err := patchStatus(t, client, `{"metadata":{"finalizers":["example.com/other"]}}`); !apierrors.IsInvalid(err) {
		t.Errorf("a new finalizer: %v", err)
	}
	if err := patchStatus(t, client,
		`{"metadata":{"$deleteFromPrimitiveList/finalizers":["`+finalizer+`"]}}`); err != nil {
		t.Fatal(err)
	}
	if left := c.Services(); len(left) != 0 {
		t.Errorf("without a finalizer: %v", left)
	}
	if err := c.Delete(web()); !apierrors.IsNotFound(err) {
		t.Errorf("deleted once more: %v", err)
	}
}

func TestStatusPatches(t *testing.T) {
	tests := map[string]struct {
		patch string
		is    func(error) bool
		step  int // of the version
	}{
		"status": {`{"metadata":{"uid":"first"},"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`,
			nil, 1},
		"nothing":         {`{"metadata":{"uid":"first"}}`, nil, 0},
		"finalizer":       {`{"metadata":{"finalizers":["` + finalizer + `"]}}`, nil, 1},
		"spec":            {`{"spec":{"type":"ClusterIP"}}`, nil, 0},
		"another one":     {`{"metadata":{"uid":"second"},"status":{}}`, apierrors.IsConflict, 0},
		"another version": {`{"metadata":{"resourceVersion":"7"},"status":{}}`, apierrors.IsConflict, 0},
		"no patch":        {`[]`, apierrors.IsBadRequest, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, client := newCluster(t, web())
			before := c.Version()
			err := patchStatus(t, client, tt.patch)
			if (tt.is == nil && err != nil) || (tt.is != nil && !tt.is(err)) {
				t.Errorf("error %v", err)
			}
			if got := c.Version() - before; got != tt.step {
				t.Errorf("%d changes, want %d", got, tt.step)
			}
			if kind := c.Services()[0].Spec.Type; kind != corev1.ServiceTypeLoadBalancer {
				t.Errorf("its type is %s", kind)
			}
		})
	}
}

func TestReads(t *testing.T) {
	c, client := newCluster(t, web())
	for _, object := range []cluster.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "web"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-x"}},
	} {
		if err := c.Create(object); err != nil {
			t.Fatal(err)
		}
	}
	services := client.CoreV1().Services
	all, err := services("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 2 || all.ResourceVersion != "4" {
		t.Errorf("all Services: %v, %v", all, err)
	}
	one, err := services("shop").List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=web"})
	if err != nil || len(one.Items) != 1 || one.Items[0].UID != "first" {
		t.Errorf("those of a name: %v, %v", one, err)
	}
	if node, err := client.CoreV1().Nodes().Get(t.Context(), "a", metav1.GetOptions{}); err != nil || node.UID == "" ||
		node.CreationTimestamp.IsZero() {
		t.Errorf("node %v, %v", node, err)
	}
	if _, err := services("shop").Get(t.Context(), "api", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("Pods: %v", err)
	}
	if err := services("shop").Delete(t.Context(), "web",
		metav1.DeleteOptions{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("a Service deleted by a process: %v", err)
	}
	if len(c.Nodes()) != 1 || len(c.EndpointSlices()) != 1 {
		t.Errorf("nodes %v, slices %v", c.Nodes(), c.EndpointSlices())
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
	if err := c.Change(&corev1.Node{}, func(cluster.Object) {}); !apierrors.IsNotFound(err) {
		t.Errorf("one that is not there: %v", err)
	}
}
