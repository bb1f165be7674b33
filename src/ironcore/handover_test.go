package ironcore

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

const legacyName = testCluster + "-web-0a1b2c3d"

func unchanged(*corev1.Service) {}

func setPort(port int32) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Ports[0].Port = port }
}

// handOver is one form in which the former program has written the load balancer of a Service.
type handOver struct {
	name     string
	selector bool
	setting  func(*corev1.Service)
}

// eachHandOver runs a test with all forms. The former program has written everything for the machines a and b.
func eachHandOver(t *testing.T, test func(r *rig, form handOver)) {
	t.Helper()
	for title, form := range map[string]handOver{
		"UID, destinations":              {serviceName, false, unchanged},
		"UID, selector":                  {serviceName, true, unchanged},
		"legacy name, destinations":      {legacyName, false, unchanged},
		"legacy name, selector":          {legacyName, true, unchanged},
		"internal, destinations":         {serviceName, false, internalService("true")},
		"internal, selector":             {serviceName, true, internalService("true")},
		"internal, legacy, destinations": {legacyName, false, internalService("true")},
	} {
		t.Run(title, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.selector = form.selector
				for _, name := range []string{"a", "b"} {
					r.addMachine(name)
					r.former().setLabels(name)
				}
				r.former().ensure(form.name, service(form.setting), "a", "b")
				pass(time.Minute)
				r.server.ForgetRequests()
				test(r, form)
			})
		})
	}
}

// service returns the Service of a hand-over, with the addresses that are published.
func (h handOver) service(r *rig, changes ...func(*corev1.Service)) *corev1.Service {
	r.Helper()
	one := service(append([]func(*corev1.Service){h.setting}, changes...)...)
	existing, _ := r.server.LoadBalancer(h.name)
	for _, ip := range existing.Status.IPs {
		one.Status.LoadBalancer.Ingress = append(one.Status.LoadBalancer.Ingress,
			corev1.LoadBalancerIngress{IP: ip.String()})
	}
	return one
}

// TestHandOverWritesNothing: for a cluster that has not changed, nothing is written, and addresses and destinations
// stay.
func TestHandOverWritesNothing(t *testing.T) {
	eachHandOver(t, func(r *rig, form handOver) {
		c := r.start()
		r.label(c, fake.NewClientset(node("a"), node("b")))
		s := form.service(r)
		found := r.diff(c, s, "a", "b")
		want(r, "plan", found.Plan.String(), "")
		want(r, "has to be waited for", found.Wait != nil, false)
		want(r, "address", firstAddress(found.Balancer.Status), firstAddress(s.Status.LoadBalancer))
		pass(time.Hour)
		want(r, "writes", strings.Join(r.server.Writes(), ", "), "")
		want(r, "load balancers", len(r.server.LoadBalancers()), 1)
		managed, err := c.balancers.ListManaged(r.ctx)
		want(r, "error of ListManaged", err, nil)
		want(r, "managed load balancers", len(managed), 1)
	})
}

// TestHandOverThenChange: a change of the Service is written although the former program owns the field. The object,
// its name and its address stay.
func TestHandOverThenChange(t *testing.T) {
	eachHandOver(t, func(r *rig, form handOver) {
		c := r.start()
		before, _ := r.server.LoadBalancer(form.name)
		r.reconcile(c, form.service(r, setPort(443)), "a", "b")
		pass(time.Minute)
		after, _ := r.server.LoadBalancer(form.name)
		want(r, "UID", after.UID, before.UID)
		want(r, "port", after.Spec.Ports[0].Port, 443)
		want(r, "address", after.Status.IPs[0], before.Status.IPs[0])
		want(r, "destinations", r.destinations(form.name), "10.0.0.1 10.0.0.2")
		want(r, "writes", strings.Join(r.server.Writes(), ", "), "apply loadbalancers/"+form.name)
		r.reconcile(c, form.service(r, setPort(80)), "a", "b")
		want(r, "load balancers", len(r.server.LoadBalancers()), 1)
	})
}

// TestHandOverWithoutClusterName: the former program without --cluster-name has written "kubernetes", in the annotation
// and in legacy names. The load balancer is taken over with its address.
func TestHandOverWithoutClusterName(t *testing.T) {
	for _, name := range []string{serviceName, "kubernetes-web-0a1b2c3d"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.addMachine("a")
				r.former().ensure(name, service(), "a")
				r.server.ChangeLoadBalancer(name, func(l *networkingv1alpha1.LoadBalancer) {
					l.Annotations[label.ClusterName] = label.DefaultCluster
				})
				pass(time.Minute)
				before, _ := r.server.LoadBalancer(name)
				c := r.start()
				r.reconcile(c, service(), "a")
				want(r, "load balancers", len(r.server.LoadBalancers()), 1)
				after, _ := r.server.LoadBalancer(name)
				want(r, "UID", after.UID, before.UID)
				want(r, "address", after.Status.IPs[0], before.Status.IPs[0])
				want(r, "cluster", label.OwnerOf(after).Cluster, testCluster)
				managed, _ := c.balancers.ListManaged(r.ctx)
				want(r, "managed", len(managed), 1)
				r.apply(c, service(), r.planDelete(c, service(), false).Plan)
				pass(time.Minute)
				want(r, "exists after the deletion", r.planDelete(c, service(), true).Exists, false)
				want(r, "load balancers after the deletion", len(r.server.LoadBalancers()), 0)
			})
		})
	}
}

// TestHandOverFromSelector: a cluster in which IronCore has chosen the destinations gets them from this program: the
// selector becomes one that selects nothing, and the routing is taken over. At no time it has no destinations.
func TestHandOverFromSelector(t *testing.T) {
	inBubble(t, func(r *rig) {
		for _, name := range []string{"a", "b"} {
			r.addMachine(name)
			r.former().setLabels(name)
		}
		r.selector = true
		r.former().ensure(serviceName, service())
		pass(time.Minute)
		want(r, "destinations before", r.destinations(serviceName), "10.0.0.1 10.0.0.2")
		r.selector = false
		c := r.start()
		found := r.diff(c, service(), "b")
		want(r, "first plan", found.Plan.String(), "update LoadBalancerRouting "+serviceName+": its destinations "+
			"stay when IronCore does not choose them any more\nupdate LoadBalancer "+serviceName+
			": networkInterfaceSelector kubernetes.io/cluster=blue becomes "+
			"kubernetes.io/cluster,!kubernetes.io/cluster")
		r.apply(c, service(), found.Plan)
		want(r, "destinations between", r.destinations(serviceName), "10.0.0.1 10.0.0.2")
		r.reconcile(c, service(), "b")
		want(r, "destinations", r.destinations(serviceName), "10.0.0.2")
		r.addMachine("c")
		synctest.Wait()
		want(r, "destinations of IronCore", r.destinations(serviceName), "10.0.0.2")
	})
}

// TestHandOverOfUpdatedDestinations: the former program has written destinations as an update when the Nodes changed,
// with another field manager. They are taken over, too.
func TestHandOverOfUpdatedDestinations(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.addMachine("b")
		r.former().ensure(serviceName, service(), "a")
		r.former().update(serviceName, "b", "a")
		pass(time.Minute)
		c := r.start()
		want(r, "plan without a change", r.diff(c, service(), "a", "b").Plan.String(), "")
		r.reconcile(c, service(), "b")
		want(r, "destinations", r.destinations(serviceName), "10.0.0.2")
	})
}

// TestHandOverOfRoutes: prefixes of the former program are recorded as managed. They do not change.
func TestHandOverOfRoutes(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.setPrefixes("a-primary", ephemeral(), static(podsOf(1).Destination))
		c := r.start()
		want(r, "managed before", r.oneRoute(c).Managed, false)
		want(r, "error of Create", c.offer().Routes.Create(r.ctx, testNetwork, podsOf(1)), nil)
		want(r, "prefixes", r.prefixes("a-primary"), "ephemeral 10.244.1.0/24")
		want(r, "managed", r.oneRoute(c).Managed, true)
	})
}
