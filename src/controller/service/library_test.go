package service

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"
)

// listNodes returns the nodes of the rig.
func (r *rig) listNodes() []*corev1.Node {
	r.Helper()
	list, err := r.cluster.CoreV1().Nodes().List(r.Context(), metav1.ListOptions{})
	if err != nil {
		r.Fatal(err)
	}
	var nodes []*corev1.Node
	for i := range list.Items {
		nodes = append(nodes, &list.Items[i])
	}
	return nodes
}

// TestLibrary: another controller can call the methods of k8s.io/cloud-provider.
func TestLibrary(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.readyAfter = 7 * time.Second
		l, web := NewLibrary(r.cloud, r.behaviour, r.process.Recorder), r.addService("web")
		want(r, "name", l.GetLoadBalancerName(t.Context(), "", web), "auidweb1")
		if err := l.UpdateLoadBalancer(t.Context(), "", web, r.listNodes()); err != nil || len(r.cloud.contents()) > 0 {
			t.Errorf("update of nothing: error %v, made %v", err, r.cloud.contents())
		}
		_, err := l.EnsureLoadBalancer(t.Context(), "", web, r.listNodes())
		if again, asked := errors.AsType[*api.RetryError](err); !asked ||
			again.RetryAfter() != r.behaviour.PollInterval {
			t.Errorf("error %v, want one to come back in %s", err, r.behaviour.PollInterval)
		}
		<-time.After(10 * time.Second)
		if status, err := l.EnsureLoadBalancer(t.Context(), "", web, r.listNodes()); err != nil ||
			status.Ingress[0].IP != "192.0.2.1" {
			t.Errorf("status %v, error %v", status, err)
		}
		if status, exists, err := l.GetLoadBalancer(t.Context(), "", web); err != nil || !exists || status == nil {
			t.Errorf("status %v, exists %v, error %v", status, exists, err)
		}
		r.cloud.takeWrites()

		// An older version of the Service does not revert the change.
		stale := web.DeepCopy()
		web.Spec.Ports[0].Port = 81
		if _, err := l.EnsureLoadBalancer(t.Context(), "", web, r.listNodes()); err != nil {
			t.Fatal(err)
		}
		if err := l.UpdateLoadBalancer(t.Context(), "", stale, r.listNodes()[:1]); err != nil {
			t.Fatal(err)
		}
		want(r, "after an update with a stale Service", r.cloud.contents()["web"], "81/TCP to 30080 on vm-a")
		stale.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		if err := l.UpdateLoadBalancer(t.Context(), "", stale, r.listNodes()); err != nil {
			t.Fatal(err)
		}
		want(r, "after an update of one that is being deleted", r.cloud.contents()["web"], "81/TCP to 30080 on vm-a")

		if err := l.EnsureLoadBalancerDeleted(t.Context(), "", web); err != nil {
			t.Fatal(err)
		}
		if _, exists, err := l.GetLoadBalancer(t.Context(), "", stale); err != nil || exists ||
			len(l.states.all()) > 0 {
			t.Errorf("exists %v, error %v, remembered %d", exists, err, len(l.states.all()))
		}
	})
}
