package ironcore

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// internalService sets the annotation for internal load balancers.
func internalService(value string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations = map[string]string{label.Internal: value} }
}

func families(all ...corev1.IPFamily) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.IPFamilies = all }
}

// serviceOf parses "namespace/name".
func serviceOf(text string) types.NamespacedName {
	namespace, name, _ := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// TestDefect14_InternalFamilies: an internal load balancer has an address of each IP family of its Service.
func TestDefect14_InternalFamilies(t *testing.T) {
	for name, tt := range map[string]struct {
		families  []corev1.IPFamily
		addresses string
	}{
		"IPv6":       {[]corev1.IPFamily{corev1.IPv6Protocol}, "fd00:250::1"},
		"dual-stack": {[]corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}, "fd00:250::1 10.250.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				c := r.start()
				s := service(internalService("true"), families(tt.families...))
				r.reconcile(c, s)
				pass(time.Minute)
				found := r.reconcile(c, s)
				var addresses []string
				for _, one := range found.Balancer.Status.Ingress {
					addresses = append(addresses, one.IP)
				}
				want(r, "addresses", strings.Join(addresses, " "), tt.addresses)
			})
		})
	}
}

// TestDefect15_SelectorFollowsNodes: with a selector, targets are exactly the machines of Nodes that are not excluded.
// The machine of another program, without a Node, is none.
func TestDefect15_SelectorFollowsNodes(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.selector = true
		for _, name := range []string{"a", "b", "c", "no-node"} {
			r.addMachine(name)
		}
		excluded, removed := node("b"), node("c")
		excluded.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
		removed.Spec.Taints = []corev1.Taint{{Key: cloud.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule}}
		cluster := fake.NewClientset(node("a"), excluded, removed)
		c := r.start()
		r.label(c, cluster)
		r.reconcile(c, service(), "a")
		want(r, "destinations", r.destinations(serviceName), "10.0.0.1")
		r.changeNode(cluster, "b", func(n *corev1.Node) { n.Labels = nil })
		want(r, "destinations", r.destinations(serviceName), "10.0.0.1 10.0.0.2")
		r.changeNode(cluster, "a", func(n *corev1.Node) {
			n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
		})
		want(r, "destinations", r.destinations(serviceName), "10.0.0.2")
		local := service(func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		})
		notices := r.diff(c, local, "b").Notices
		want(r, "notices about Local", len(notices), 1)
		wantText(r, "notice", notices[0].Message, "externalTrafficPolicy", "--use-nic-selector=false")
	})
}

// TestDefect16_NoNodes: without Nodes there are no destinations, and a network interface that does not exist concerns
// only its own machine.
func TestDefect16_NoNodes(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.addMachine("b")
		c := r.start()
		r.reconcile(c, service(), "a", "b")
		want(r, "destinations", r.destinations(serviceName), "10.0.0.1 10.0.0.2")
		r.reconcile(c, service())
		want(r, "destinations without Nodes", r.destinations(serviceName), "")
		r.server.Delete("NetworkInterface", interfaceOf("a"))
		synctest.Wait()
		r.reconcile(c, service(), "a", "b")
		want(r, "destinations without one interface", r.destinations(serviceName), "10.0.0.2")
	})
}

// TestDefect17_UsableDestinations: destinations are available, have a provider ID and an IP family of the load
// balancer, and are sorted.
func TestDefect17_UsableDestinations(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.server.AddMachine(simulator.Machine{Name: "dual", Addresses: []netip.Addr{
			netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("fd00::9")}})
		for _, name := range []string{"a", "pending", "not-placed", "deleted"} {
			r.addMachine(name)
		}
		r.changeInterface("pending", func(n *networkingv1alpha1.NetworkInterface) {
			n.Status.State = networkingv1alpha1.NetworkInterfaceStatePending
		})
		r.changeInterface("not-placed", func(n *networkingv1alpha1.NetworkInterface) { n.Spec.ProviderID = "" })
		r.changeInterface("deleted", func(n *networkingv1alpha1.NetworkInterface) {
			n.Finalizers = []string{"test/keep"}
		})
		r.server.Delete("NetworkInterface", interfaceOf("deleted"))
		c := r.start()
		r.reconcile(c, service(), "pending", "dual", "not-placed", "deleted", "a")
		want(r, "destinations", r.destinations(serviceName), "10.0.0.1 10.0.0.9")
		routing, _ := r.server.LoadBalancerRouting(serviceName)
		nic, _ := r.server.NetworkInterface(interfaceOf("a"))
		want(r, "target", *routing.Destinations[0].TargetRef, networkingv1alpha1.LoadBalancerTargetRef{
			UID: nic.UID, Name: nic.Name, ProviderID: nic.Spec.ProviderID})
		r.changeInterface("pending", func(n *networkingv1alpha1.NetworkInterface) {
			n.Status.State = networkingv1alpha1.NetworkInterfaceStateAvailable
			n.Status.IPs = append(n.Status.IPs, commonv1alpha1.MustParseIP("10.0.0.1")) // of another one, too
		})
		r.reconcile(c, service(), "dual", "pending", "a")
		writes := len(r.server.Writes())
		r.reconcile(c, service(), "a", "pending", "dual")
		want(r, "writes for another order", len(r.server.Writes()), writes)
	})
}

func (r *rig) changeInterface(machine string, change func(*networkingv1alpha1.NetworkInterface)) {
	r.Helper()
	if !r.server.ChangeNetworkInterface(interfaceOf(machine), change) {
		r.Fatalf("there is no network interface of %s", machine)
	}
	synctest.Wait()
}

// TestDefect19_InternalValues: all values that mean "true" are internal. A value that means nothing creates no load
// balancer: it must never be public.
func TestDefect19_InternalValues(t *testing.T) {
	for value, wanted := range map[string]networkingv1alpha1.LoadBalancerType{
		"true": "Internal", "True": "Internal", "1": "Internal", "false": "Public", "yes": "", "": "",
	} {
		t.Run(value, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				c := r.start()
				found := r.diff(c, service(internalService(value)))
				if wanted == "" {
					want(r, "plan", found.Plan.String(), "")
					wantError(r, "refusal", found.Refused, label.Internal)
					return
				}
				r.apply(c, service(), found.Plan)
				want(r, "type", r.balancer().Spec.Type, wanted)
			})
		})
	}
}
