package service

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// publishes sets the address in the status of a Service, as another program does; "" removes it.
func (r *rig) publishes(name, address string) {
	r.Helper()
	r.changeService(name, func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = nil
		if address != "" {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
		}
	})
}

// TestChangedAddresses: an event about addresses that changed reports whether the load balancer or the status changed,
// as far as it is known. In the end, the status has the address of the load balancer.
func TestChangedAddresses(t *testing.T) {
	const other = "198.51.100.7"
	tests := map[string]struct {
		change func(*rig, *corev1.Service)
		event  string // its beginning
	}{
		"the load balancer has another one": {func(r *rig, web *corev1.Service) { r.moves(web) },
			"Warning LoadBalancerRepaired The addresses of the load balancer changed from 192.0.2.1 to 192.0.2.9. "},
		"the load balancer was replaced by another one": {func(r *rig, web *corev1.Service) {
			r.cloud.set(func(p *fakeCloud) { delete(p.balancers, web.UID) })
		}, "Warning LoadBalancerRepaired The addresses of the load balancer changed from 192.0.2.1 to 192.0.2.2. "},
		"another program wrote the status": {func(r *rig, _ *corev1.Service) { r.publishes("web", other) },
			"Warning StatusOverwritten Another program wrote the addresses " + other + " into the status of this " +
				"Service. The load balancer still has 192.0.2.1, "},
		"both": {func(r *rig, web *corev1.Service) { r.moves(web); r.publishes("web", other) },
			"Warning LoadBalancerRepaired The addresses of the load balancer changed from 192.0.2.1 to 192.0.2.9. "},
		"one of both while no process ran": {func(r *rig, _ *corev1.Service) {
			r.stop()
			r.publishes("web", other)
			r.start(1)
		}, "Warning LoadBalancerRepaired The status of this Service had the addresses " + other + ", and the load " +
			"balancer has 192.0.2.1, "},
		"another program removed it": {func(r *rig, _ *corev1.Service) { r.publishes("web", "") }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				tt.change(r, r.startWithService(1))
				<-time.After(2 * driftPeriod)
				var events []string
				for _, event := range r.fullEvents() {
					if !strings.HasPrefix(event, "Warning LoadBalancerDrifted") {
						events = append(events, event)
					}
				}
				got := strings.Join(events, "\n")
				if !strings.HasPrefix(got, tt.event) || (tt.event == "") != (got == "") || len(events) > 1 {
					t.Errorf("events %q, want one: %q", events, tt.event)
				}
				status := r.service("web").Status.LoadBalancer
				r.cloud.set(func(p *fakeCloud) {
					for _, balancer := range p.balancers {
						want(r, "published", strings.Join(addressesOf(status), " "), balancer.address)
					}
				})
			})
		})
	}
}

// moves gives a load balancer another address.
func (r *rig) moves(service *corev1.Service) {
	r.cloud.set(func(p *fakeCloud) { p.balancers[service.UID].address = "192.0.2.9" })
}

// TestRefusedStatusIsNotOverwritten: as long as the API server refuses a new address, no other program is blamed for
// the old one.
func TestRefusedStatusIsNotOverwritten(t *testing.T) {
	inRig(t, func(r *rig) {
		web := r.startWithService(1)
		var allowed atomic.Bool
		r.cluster.PrependReactor("patch", "services", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if allowed.Load() {
				return false, nil, nil
			}
			return forbid(action)
		})
		r.moves(web)
		<-time.After(2 * driftPeriod)
		allowed.Store(true)
		<-time.After(2 * driftPeriod)
		for _, event := range r.fullEvents() {
			if strings.HasPrefix(event, "Warning StatusOverwritten") {
				t.Errorf("event %q", event)
			}
		}
		want(r, "published", strings.Join(addressesOf(r.service("web").Status.LoadBalancer), " "), "192.0.2.9")
	})
}
