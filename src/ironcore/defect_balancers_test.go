package ironcore

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// planDelete returns what deletes the load balancer of a Service.
func (r *rig) planDelete(c *Cloud, service *corev1.Service, written bool) cloud.Comparison {
	r.Helper()
	found, err := c.balancers.PlanDelete(r.ctx, service, written)
	if err != nil {
		r.Fatal(err)
	}
	return found
}

// balancer returns the load balancer of the Service.
func (r *rig) balancer() *networkingv1alpha1.LoadBalancer {
	r.Helper()
	one, exists := r.server.LoadBalancer(serviceName)
	if !exists {
		r.Fatalf("there is no load balancer %s", serviceName)
	}
	return one
}

// TestDefect02_NoLoadBalancer: the finalizer of a Service without a load balancer can be removed.
func TestDefect02_NoLoadBalancer(t *testing.T) {
	inBubble(t, func(r *rig) {
		found := r.planDelete(r.start(), service(), false)
		want(r, "exists", found.Exists, false)
		want(r, "plan", found.Plan.String(), "")
	})
}

// TestDefect03_NoAddressIsNoSuccess: a load balancer without an address has to be waited for, also before the watch has
// reported it. When it has an address, the Service is reported.
func TestDefect03_NoAddressIsNoSuccess(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.start()
		r.server.DelayEvents(time.Second)
		found := r.reconcile(c, service(), "a")
		want(r, "exists", found.Exists, true)
		want(r, "has to be waited for", found.Wait != nil, true)
		want(r, "addresses", len(found.Balancer.Status.Ingress), 0)
		var changes atomic.Int32
		go c.store.Changes(r.ctx, func(change cloud.Change) {
			if change.Service == serviceOf("shop/web") {
				changes.Add(1)
			}
		})
		pass(provision - time.Second)
		early := changes.Load()
		pass(3 * time.Second)
		want(r, "the Service is reported", changes.Load() > early, true)
		found = r.diff(c, service(), "a")
		want(r, "has to be waited for", found.Wait != nil, false)
		want(r, "address", firstAddress(found.Balancer.Status), "192.0.2.1")
	})
}

// TestDefect04_DeletionIsFollowed: a load balancer exists until IronCore has removed it, and while that is not known.
func TestDefect04_DeletionIsFollowed(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.start()
		r.reconcile(c, service(), "a")
		pass(time.Minute)
		r.apply(c, service(), r.planDelete(c, service(), false).Plan)
		found := r.planDelete(c, service(), true)
		want(r, "exists with a finalizer", found.Exists, true)
		want(r, "has to be waited for", found.Wait != nil && found.Wait.Deleting, true)
		pass(provision + 2*time.Minute) // longer than the process remembers that the watch has reported the deletion
		r.server.Fail(func(request simulator.Request) *metav1.Status {
			return simulator.Fault(simulator.Unreachable)
		})
		_, err := c.balancers.PlanDelete(r.ctx, service(), true)
		want(r, "an error if it cannot be read", err != nil, true)
		r.server.Fail(nil)
		want(r, "exists", r.planDelete(c, service(), true).Exists, false)
		want(r, "load balancers", len(r.server.LoadBalancers()), 0)
	})
}

// TestDefect18_LegacyNameOfAnother: a load balancer with the earlier form of the name belongs to the Service only if
// its annotations do not name another one.
func TestDefect18_LegacyNameOfAnother(t *testing.T) {
	legacy := testCluster + "-web-0a1b2c3d"
	inBubble(t, func(r *rig) {
		other := label.Owner{Cluster: "green", Service: serviceOf("shop/web"), UID: "0a1b2c3d-9999"}
		r.server.Add(&networkingv1alpha1.LoadBalancer{
			ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: legacy, Annotations: other.Annotations()},
			Spec: networkingv1alpha1.LoadBalancerSpec{Type: networkingv1alpha1.LoadBalancerTypePublic,
				NetworkRef: corev1.LocalObjectReference{Name: testNetwork}}})
		c := r.start()
		want(r, "exists", r.diff(c, service()).Exists, false)
		found := r.planDelete(c, service(), false)
		want(r, "exists", found.Exists, false)
		want(r, "plan to delete", found.Plan.String(), "")
		r.reconcile(c, service())
		foreign, _ := r.server.LoadBalancer(legacy)
		want(r, "owner of the other one", label.OwnerOf(foreign), other)
		_, made := r.server.LoadBalancer(serviceName)
		want(r, "the Service has its own", made, true)
	})
}

// TestDefect21_SameAddressAgain: a load balancer that somebody has created again with the same address is ready at
// once.
func TestDefect21_SameAddressAgain(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.start()
		published := service()
		published.Status.LoadBalancer = r.ready(c, "a")
		again := r.balancer()
		r.server.Delete("LoadBalancer", serviceName)
		pass(time.Minute)
		again.UID, again.ResourceVersion = "", ""
		want(r, "added", r.server.Add(again), true)
		r.server.ChangeLoadBalancer(serviceName, func(l *networkingv1alpha1.LoadBalancer) {
			l.Status.IPs = []commonv1alpha1.IP{commonv1alpha1.MustParseIP("192.0.2.1")}
		})
		synctest.Wait()
		started := time.Now()
		found := r.reconcile(c, published, "a")
		want(r, "has to be waited for", found.Wait != nil, false)
		want(r, "address", firstAddress(found.Balancer.Status), firstAddress(published.Status.LoadBalancer))
		want(r, "time", time.Since(started), 0)
	})
}

// ready creates the load balancer of the Service, and returns its addresses.
func (r *rig) ready(c *Cloud, nodes ...string) corev1.LoadBalancerStatus {
	r.Helper()
	r.reconcile(c, service(), nodes...)
	pass(time.Minute)
	return r.diff(c, service(), nodes...).Balancer.Status
}

// TestDefect27_NothingWaits: no call waits for IronCore, however long that takes. A worker is free for other Services.
func TestDefect27_NothingWaits(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.start()
		started := time.Now()
		r.reconcile(c, service(), "a")
		want(r, "writes", len(r.server.Writes()), 2) // one plan is enough
		r.apply(c, service(), r.planDelete(c, service(), false).Plan)
		want(r, "exists", r.planDelete(c, service(), true).Exists, true)
		want(r, "time", time.Since(started), 0)
	})
}
