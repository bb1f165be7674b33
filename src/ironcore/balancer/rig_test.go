package balancer

import (
	"net/netip"
	"strings"
	"testing"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

const (
	name       = "0a1b2c3d" // of the load balancer of the Service
	legacyName = "blue-web-0a1b"
)

func config() Config {
	return Config{Cluster: "blue", Namespace: "shoot", Network: "nodes", Prefix: "internal", PrefixIPv6: "internal6"}
}

func service(changes ...func(*corev1.Service)) *corev1.Service {
	one := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "0a1b-2c3d"},
		Spec: corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}}}
	for _, change := range changes {
		change(one)
	}
	return one
}

// internal sets the annotation for internal load balancers.
func internal(value string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations = map[string]string{label.Internal: value} }
}

func setAddress(address string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerIP = address }
}

// owned returns a load balancer of the Service in a cluster, as this program has written it.
func owned(name, cluster string) *networkingv1alpha1.LoadBalancer {
	tcp := corev1.ProtocolTCP
	owner := label.Owner{Cluster: cluster, UID: service().UID,
		Service: types.NamespacedName{Namespace: "shop", Name: "web"}}
	return &networkingv1alpha1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7",
			Annotations:   owner.Annotations(),
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: label.FieldManager}}},
		Spec: networkingv1alpha1.LoadBalancerSpec{Type: networkingv1alpha1.LoadBalancerTypePublic,
			IPFamilies: service().Spec.IPFamilies, NetworkRef: corev1.LocalObjectReference{Name: "nodes"},
			NetworkInterfaceSelector: label.NoInterface(),
			Ports:                    []networkingv1alpha1.LoadBalancerPort{{Port: 80, Protocol: &tcp}}},
	}
}

// addressOf returns the address of a machine: a has 10.0.0.1, and so on.
func addressOf(machine string) commonv1alpha1.IP {
	return commonv1alpha1.NewIP(netip.AddrFrom4([4]byte{10, 0, 0, machine[0] - 'a' + 1}))
}

func networkInterface(machine string) *networkingv1alpha1.NetworkInterface {
	return &networkingv1alpha1.NetworkInterface{
		ObjectMeta: metav1.ObjectMeta{Name: machine + "-primary", UID: types.UID("uid-" + machine)},
		Spec:       networkingv1alpha1.NetworkInterfaceSpec{ProviderID: "provider://" + machine},
		Status: networkingv1alpha1.NetworkInterfaceStatus{IPs: []commonv1alpha1.IP{addressOf(machine)},
			State: networkingv1alpha1.NetworkInterfaceStateAvailable},
	}
}

// observed returns a load balancer with the machines that exist, and those that are destinations.
func observed(balancer *networkingv1alpha1.LoadBalancer, machines, destinations string) Observed {
	o := Observed{LoadBalancers: []*networkingv1alpha1.LoadBalancer{balancer},
		Network:    &networkingv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "nodes", UID: "network"}},
		Interfaces: map[string][]*networkingv1alpha1.NetworkInterface{}, MachineOf: map[string]string{}}
	for machine := range strings.FieldsSeq(machines) {
		o.Interfaces[machine] = []*networkingv1alpha1.NetworkInterface{networkInterface(machine)}
	}
	routing := &networkingv1alpha1.LoadBalancerRouting{
		ObjectMeta: metav1.ObjectMeta{Name: balancer.Name, ResourceVersion: "8",
			OwnerReferences: []metav1.OwnerReference{{UID: balancer.UID}}},
		NetworkRef: commonv1alpha1.LocalUIDReference{Name: "nodes", UID: "network"}}
	for machine := range strings.FieldsSeq(destinations) {
		one := networkInterface(machine)
		o.MachineOf[one.Name] = machine
		routing.Destinations = append(routing.Destinations, networkingv1alpha1.LoadBalancerDestination{
			IP: addressOf(machine), TargetRef: &networkingv1alpha1.LoadBalancerTargetRef{Name: one.Name, UID: one.UID,
				ProviderID: one.Spec.ProviderID}})
	}
	o.Routings = map[string]*networkingv1alpha1.LoadBalancerRouting{balancer.Name: routing}
	return o
}

// nodes returns the targets of Nodes with these names.
func nodes(names string) cloud.Targets {
	var targets cloud.Targets
	for name := range strings.FieldsSeq(names) {
		targets.Serving = append(targets.Serving, cloud.Target{Machine: name, Node: name})
	}
	return targets
}

func compare(t *testing.T, c Config, r Request) cloud.Comparison {
	t.Helper()
	found, err := Compare(c, r)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// destinationsOfPlan returns the machines that a plan sends traffic to; "as before" if it does not change them.
func destinationsOfPlan(plan cloud.Plan) string {
	for _, operation := range plan {
		if apply, is := operation.Object.(ApplyRouting); is {
			machines := make([]string, len(apply.Destinations))
			for i, one := range apply.Destinations {
				machines[i] = strings.TrimSuffix(one.TargetRef.Name, "-primary")
			}
			return strings.Join(machines, " ")
		}
	}
	return "as before"
}

// wantText checks that a text contains parts of what it should say.
func wantText(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: want %q in %q", what, part, text)
		}
	}
}

func want[T comparable](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}
