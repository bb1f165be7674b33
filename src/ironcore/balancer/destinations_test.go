package balancer

import (
	"testing"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// TestDestinationsOfMissingMachines: a list of machines without most of those of the Nodes is not believed. A single
// machine that is missing is removed.
func TestDestinationsOfMissingMachines(t *testing.T) {
	tests := map[string]struct{ nodes, machines, destinations, want string }{
		"none is missing":            {"a b c", "a b c", "a b c", "as before"},
		"one of three is missing":    {"a b c", "a c", "a b c", "a c"},
		"two of three":               {"a b c", "b", "a b c", "as before"},
		"half of them":               {"a b", "b", "a b", "b"},
		"all":                        {"a b c", "", "a b c", "as before"},
		"the only one":               {"a", "", "a", "as before"},
		"missing ones are not added": {"a b c", "c", "c", "as before"},
		"most, and one appears":      {"a b c", "c", "a b", "a b c"},
		"the Nodes are deleted, too": {"", "", "a b c", ""},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			found := compare(t, config(), Request{Service: service(), Targets: nodes(tt.nodes),
				Observed: observed(owned(name, "blue"), tt.machines, tt.destinations)})
			want(t, "refusal", found.Refused, nil)
			want(t, "destinations", destinationsOfPlan(found.Plan), tt.want)
			want(t, "has to be checked again", found.Targets.LeftOut, len(tt.machines) < len(tt.nodes))
		})
	}
}

// TestUsableDestinations: destinations are available, have a provider ID and an IP family of the load balancer, are
// sorted, and have each address once. A machine that is joining is not added.
func TestUsableDestinations(t *testing.T) {
	o := observed(owned(name, "blue"), "a b c d e f", "")
	first := func(machine string) *networkingv1alpha1.NetworkInterface { return o.Interfaces[machine][0] }
	first("b").Status.State = networkingv1alpha1.NetworkInterfaceStatePending
	first("c").Spec.ProviderID = ""
	first("d").DeletionTimestamp = &metav1.Time{Time: time.Now()}
	first("e").Status.IPs = append(first("e").Status.IPs, commonv1alpha1.MustParseIP("fd00::5"))
	o.Interfaces["twice"] = o.Interfaces["a"]
	targets := nodes("e d c twice b a")
	targets.Joining = nodes("f").Serving
	found := compare(t, config(), Request{Service: service(), Targets: targets, Observed: o})
	want(t, "destinations", destinationsOfPlan(found.Plan), "a e")
	apply, _ := found.Plan[0].Object.(ApplyRouting)
	want(t, "address", apply.Destinations[1].IP, addressOf("e"))
	want(t, "target", *apply.Destinations[0].TargetRef, networkingv1alpha1.LoadBalancerTargetRef{UID: "uid-a",
		Name: "a-primary", ProviderID: "provider://a"})
}

// TestDestinationsOfIncompleteTargets: an empty set never removes the destinations if a Node could not be identified,
// even if nothing is known of the network interfaces or of the routing. A set that is not empty replaces them.
func TestDestinationsOfIncompleteTargets(t *testing.T) {
	one := nodes("a")
	for title, tt := range map[string]struct {
		targets cloud.Targets
		known   bool // the network interfaces of the destinations are known
		late    bool // the cache lacks the routing
		want    string
	}{
		"empty":                       {cloud.Targets{NotKnown: cloud.NodesNotRead}, true, false, "as before"},
		"empty, interfaces not known": {cloud.Targets{NotKnown: cloud.NodesNotRead}, false, false, "as before"},
		"empty, routing not known":    {cloud.Targets{NotKnown: cloud.NodesNotRead}, true, true, "as before"},
		"one machine":                 {one, true, false, "a"},
		"complete":                    {cloud.Targets{}, true, false, ""},
	} {
		t.Run(title, func(t *testing.T) {
			r := Request{Service: service(), Targets: tt.targets, Observed: observed(owned(name, "blue"), "a b", "a b")}
			if !tt.known {
				r.Observed.MachineOf, r.Observed.Interfaces = nil, nil
			}
			if tt.late {
				r.Observed.Routings = nil
			}
			want(t, "destinations", destinationsOfPlan(compare(t, config(), r).Plan), tt.want)
		})
	}
}

// setBy makes a field manager the owner of a field of the load balancer.
func setBy(balancer *networkingv1alpha1.LoadBalancer, manager, fields string) {
	balancer.ManagedFields = append(balancer.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager,
		FieldsV1: metav1.NewFieldsV1(fields)})
}

// TestDestinationsFollowWhenRefused: a setting that cannot be written changes nothing else, but the destinations of a
// load balancer that exists follow the Nodes, with its IP families.
func TestDestinationsFollowWhenRefused(t *testing.T) {
	for title, tt := range map[string]struct {
		service *corev1.Service
		change  func(*networkingv1alpha1.LoadBalancer)
		reason  []string
	}{
		"invalid annotation": {service(internal("perhaps")), func(*networkingv1alpha1.LoadBalancer) {},
			[]string{label.Internal, "perhaps"}},
		"invalid address": {service(internal("true"), setAddress("x")), func(*networkingv1alpha1.LoadBalancer) {},
			[]string{"spec.loadBalancerIP"}},
		"another field manager": {service(func(s *corev1.Service) { s.Spec.Ports[0].Port = 443 }),
			func(l *networkingv1alpha1.LoadBalancer) { setBy(l, "kubectl-edit", `{"f:spec":{"f:ports":{}}}`) },
			[]string{"spec.ports", "kubectl-edit"}},
		"IP families of another field manager": {
			service(func(s *corev1.Service) { s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} }),
			func(l *networkingv1alpha1.LoadBalancer) { setBy(l, "kubectl-edit", `{"f:spec":{"f:ipFamilies":{}}}`) },
			[]string{"spec.ipFamilies", "kubectl-edit"}},
	} {
		t.Run(title, func(t *testing.T) {
			balancer := owned(name, "blue")
			tt.change(balancer)
			found := compare(t, config(), Request{Service: tt.service, Targets: nodes("b c"),
				Observed: observed(balancer, "a b c", "a b")})
			if found.Refused == nil {
				t.Fatal("the setting is not refused")
			}
			wantText(t, "refusal", found.Refused.Error(), tt.reason...)
			want(t, "operations", len(found.Plan), 1)
			want(t, "destinations", destinationsOfPlan(found.Plan), "b c")
			found = compare(t, config(), Request{Service: tt.service, Targets: nodes("b c"),
				Observed: observed(balancer, "a b c", "b c")})
			want(t, "plan when they have followed", found.Plan.String(), "")
			want(t, "is refused again", found.Refused != nil, true)
		})
	}
}

// TestRefusedCreatesNothing: without a load balancer, a setting that cannot be used creates neither it nor a routing.
func TestRefusedCreatesNothing(t *testing.T) {
	o := observed(owned(name, "blue"), "a", "")
	o.LoadBalancers, o.Routings = nil, nil
	found := compare(t, config(), Request{Service: service(internal("perhaps")), Targets: nodes("a"), Observed: o})
	want(t, "plan", found.Plan.String(), "")
	want(t, "is refused", found.Refused != nil, true)
}

// TestDestinationsOfAnotherNetwork: the network interfaces of the cluster cannot be destinations of a load balancer in
// another network: its destinations stay as they are, whatever else is refused.
func TestDestinationsOfAnotherNetwork(t *testing.T) {
	for title, s := range map[string]*corev1.Service{"valid": service(), "invalid": service(internal("perhaps"))} {
		t.Run(title, func(t *testing.T) {
			balancer := owned(name, "blue")
			balancer.Spec.NetworkRef.Name = "before"
			found := compare(t, config(), Request{Service: s, Targets: nodes("b"),
				Observed: observed(balancer, "b", "a")})
			want(t, "is refused", found.Refused != nil, true)
			want(t, "plan", found.Plan.String(), "")
		})
	}
}
