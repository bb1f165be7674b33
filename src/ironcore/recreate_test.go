package ironcore

import (
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// edit changes the Service, and waits for the controllers.
func (c *wholeCluster) edit(change func(*corev1.Service)) {
	c.t.Helper()
	c.changeService(change)
	pass(time.Second)
}

// createInternal creates another internal Service, and waits for its address.
func (c *wholeCluster) createInternal(number int) {
	c.t.Helper()
	one := numbered(number)
	internalService("true")(one)
	c.create(one)
	pass(time.Minute)
}

// addresses returns the addresses of all load balancers, sorted.
func (u *userView) addresses() (all []string) {
	for _, one := range u.server.LoadBalancers() {
		for _, ip := range one.Status.IPs {
			all = append(all, ip.String())
		}
	}
	slices.Sort(all)
	return all
}

// TestTypeChanges: the network refuses another type of a load balancer that exists. It is deleted and created again:
// one event announces that the address changes, another one has both addresses, and what changes later is carried out.
// The address of another Service is never used, however long a finalizer keeps the load balancer.
func TestTypeChanges(t *testing.T) {
	const deletion = 5 * time.Minute
	for title, tt := range map[string]struct {
		before, after   string // the annotation
		address, become string
		kind            networkingv1alpha1.LoadBalancerType
	}{
		"becomes internal": {"false", "true", "192.0.2.1", "10.250.0.2", networkingv1alpha1.LoadBalancerTypeInternal},
		"becomes public":   {"true", "false", "10.250.0.1", "192.0.2.1", networkingv1alpha1.LoadBalancerTypePublic},
	} {
		t.Run(title, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.server = simulator.New(simulator.Options{Namespace: testNamespace, Network: testNetwork,
					Provision: provision, Deletion: deletion})
				r.addMachine("a")
				c := r.withControllers(node("a"))
				c.addService(internalService(tt.before))
				want(r, "address", firstAddress(c.web().Status.LoadBalancer), tt.address)
				c.edit(internalService(tt.after))
				before := strings.Join(c.events(), "\n")
				wantText(r, "events", before, "Warning ImmutableSetting", "created again with another address",
					"Ensuring load balancer: delete LoadBalancer "+serviceName+": type")
				c.createInternal(1) // while the former load balancer is being deleted
				requests := r.reads() + len(r.server.Writes())
				pass(deletion / 2)
				want(r, "requests while it is deleted", r.reads()+len(r.server.Writes()), requests)
				pass(deletion)
				c.createInternal(2)
				c.edit(func(s *corev1.Service) { s.Spec.Ports[0].Port = 8080 })
				pass(time.Minute)
				want(r, "address", firstAddress(c.web().Status.LoadBalancer), tt.become)
				all := r.addresses()
				want(r, "different addresses", len(slices.Compact(slices.Clone(all))), 3)
				carried, complete := r.server.CarriedOut(serviceName)
				want(r, "type", carried.Type, tt.kind)
				want(r, "port", carried.Ports[0].Port, 8080)
				want(r, "all is carried out", complete, true)
				want(r, "destinations", r.destinations(serviceName), "10.0.0.1")
				later := strings.Join(c.events(), "\n")
				wantText(r, "events", later, "LoadBalancerRepaired", "changed from "+tt.address+" to "+tt.become)
				want(r, "announced again", strings.Contains(later, "ImmutableSetting"), false)
				want(r, "reports of drift", strings.Contains(before+later, "LoadBalancerDrifted"), false)
			})
		})
	}
}

// TestAddressIsCorrected: an address in spec.loadBalancerIP that no Prefix has can be corrected. Each correction needs
// another load balancer, because IronCore never replaces the Prefix that it has generated.
func TestAddressIsCorrected(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.withControllers(node("a"))
		c.addService(internalService("true"), func(s *corev1.Service) { s.Spec.LoadBalancerIP = "10.9.9.9" })
		want(r, "address outside of the Prefix", firstAddress(c.web().Status.LoadBalancer), "")
		c.edit(func(s *corev1.Service) { s.Spec.LoadBalancerIP = "10.250.0.9" })
		pass(2 * time.Minute)
		want(r, "corrected address", firstAddress(c.web().Status.LoadBalancer), "10.250.0.9")
		want(r, "owner", label.OwnerOf(r.balancer()).UID, serviceUID)
		want(r, "deletions of load balancers", strings.Count(r.deletions(), "loadbalancers/"), 1)
	})
}
