package ironcore

import (
	"errors"
	"testing"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// existing adds a load balancer with the name of the Service's.
func (r *rig) existing(owner label.Owner, network string) {
	r.Helper()
	if !r.server.Add(&networkingv1alpha1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: serviceName, Annotations: owner.Annotations()},
		Spec: networkingv1alpha1.LoadBalancerSpec{Type: networkingv1alpha1.LoadBalancerTypePublic,
			IPFamilies: service().Spec.IPFamilies, NetworkRef: corev1.LocalObjectReference{Name: network}}}) {
		r.Fatal("the load balancer was not added")
	}
}

// TestEvents: a notice, a refusal, an error, a long wait and a machine that cannot be a target become events with the
// reasons that the guide names, and with what to do. Tables of the package balancer have all notices.
func TestEvents(t *testing.T) {
	own := label.Owner{Cluster: testCluster, Service: serviceOf("shop/web"), UID: serviceUID}
	other := label.Owner{Cluster: "green", Service: serviceOf("shop/api"), UID: "4a1e8c5e"}
	for title, tt := range map[string]struct {
		prepare func(*rig)
		service func(*corev1.Service)
		reason  string
		message []string
		created bool // there is a load balancer with the port of the Service
	}{
		"source ranges": {service: func(s *corev1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
		},
			reason: "UnsupportedSetting", message: []string{"Use a NetworkPolicy"}, created: true},
		"an invalid annotation": {service: internalService("yes"), reason: "InvalidAnnotation",
			message: []string{label.Internal, "true or false", "is not created"}},
		"another network": {prepare: func(r *rig) { r.existing(own, "before") }, reason: "SyncLoadBalancerFailed",
			message: []string{"is in network before", "delete the Service and create it again"}},
		"another owner": {prepare: func(r *rig) { r.existing(other, testNetwork) }, reason: "SyncLoadBalancerFailed",
			message: []string{"shop/api", "delete it in IronCore if nothing uses it"}},
		"no address": {prepare: func(r *rig) {
			r.server = simulator.New(simulator.Options{Namespace: testNamespace, Network: testNetwork,
				Provision: time.Hour})
			r.addMachine("a")
		}, reason: "LoadBalancerSlow", message: []string{`is still "creating" after 5m0s`}, created: true},
		"no network interface": {prepare: func(r *rig) { r.server.Delete("NetworkInterface", interfaceOf("a")) },
			reason: "NoNetworkInterface", message: []string{"Attach one"}, created: true},
	} {
		t.Run(title, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.addMachine("a")
				if tt.prepare != nil {
					tt.prepare(r)
				}
				if tt.service == nil {
					tt.service = func(*corev1.Service) {}
				}
				without := node("a") // routes have events of their own
				without.Annotations = map[string]string{labelDomain + "/exclude-from-routes": "true"}
				c := r.withControllers(without)
				c.addService(tt.service)
				pass(10 * time.Minute)
				warnings := c.eventsWith(tt.reason)
				if len(warnings) == 0 {
					r.Fatal("there is no warning")
				}
				for _, warning := range warnings {
					wantText(r, "warning", warning, append(tt.message, "Warning ")...)
				}
				made, exists := r.server.LoadBalancer(serviceName)
				want(r, "is created", exists && len(made.Spec.Ports) == 1, tt.created)
			})
		})
	}
}

// TestEventOfForeignField: if somebody else has set a field in IronCore, the event names it.
func TestEventOfForeignField(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.withControllers(node("a"))
		c.addService()
		c.events()
		r.edit(`{"spec":{"ports":[{"port":8080,"protocol":"TCP"}]}}`)
		pass(time.Minute)
		events := c.eventsWith("LoadBalancerNotRepaired")
		if len(events) != 1 {
			t.Fatalf("got the events %q, want one", events)
		}
		wantText(r, "event", events[0], "spec.ports", "kubectl-edit", "set it back")
	})
}

// refuse lets IronCore refuse all writes of a resource, for the reason.
func (r *rig) refuse(resource, reason string) {
	r.server.Fail(func(request simulator.Request) *metav1.Status {
		if request.Resource != resource || !request.IsWrite() {
			return nil
		}
		return statusOf(apierrors.NewForbidden(schema.GroupResource{Group: "networking.ironcore.dev",
			Resource: resource}, request.Name, errors.New(reason)))
	})
}

// TestRefusedLoadBalancer: if IronCore does not permit the load balancer, an event on the Service has its answer. When
// it does, the load balancer is created without a change of the Service. A quota is never the reason: IronCore counts
// machines, volumes and buckets, and refuses a ResourceQuota with the name of another resource, such as
// count/loadbalancers.networking.ironcore.dev ("must be a valid resource name").
func TestRefusedLoadBalancer(t *testing.T) {
	const reason = `User "ccm" cannot patch resource "loadbalancers"`
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.withControllers(node("a"))
		r.refuse("loadbalancers", reason)
		c.addService()
		want(r, "load balancers", len(r.server.LoadBalancers()), 0)
		events := c.eventsWith("SyncLoadBalancerFailed")
		if len(events) == 0 || len(events) > 5 {
			t.Fatalf("got %d events, want one for each step of the back-off: %q", len(events), events)
		}
		wantText(r, "event", events[0], "Warning", reason)
		r.server.Fail(nil)
		pass(10 * time.Minute)
		want(r, "address", firstAddress(c.web().Status.LoadBalancer), "192.0.2.1")
	})
}
