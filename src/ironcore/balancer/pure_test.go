package balancer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
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

// random makes inputs of a comparison.
type random struct{ *rand.Rand }

func (r random) often() bool { return r.IntN(4) > 0 }

// pick returns one of the values.
func pick[T any](r random, values ...T) T { return values[r.IntN(len(values))] }

func (r random) config() Config {
	return Config{Cluster: "blue", Namespace: "shoot", Network: "nodes", Prefix: pick(r, "internal", ""),
		PrefixIPv6: pick(r, "internal6", ""), Selector: !r.often()}
}

func (r random) families() []corev1.IPFamily {
	return pick(r, []corev1.IPFamily{corev1.IPv4Protocol}, []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol})
}

func (r random) service() *corev1.Service {
	one := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "0a1b-2c3d"},
		Spec: corev1.ServiceSpec{IPFamilies: r.families(), LoadBalancerIP: pick(r, "", "", "10.0.9.9", "x"),
			SessionAffinity: pick(r, corev1.ServiceAffinityNone, corev1.ServiceAffinityClientIP)}}
	for port := range int32(1 + r.IntN(3)) {
		one.Spec.Ports = append(one.Spec.Ports, corev1.ServicePort{Port: 443 - port*80, Protocol: corev1.ProtocolTCP})
	}
	if !r.often() {
		one.Annotations = map[string]string{label.Internal: pick(r, "true", "false", "perhaps")}
	}
	return one
}

func (r random) address() commonv1alpha1.IP {
	return commonv1alpha1.NewIP(pick(r, netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(9))}),
		netip.AddrFrom16([16]byte{0: 0xfd, 15: byte(r.IntN(9))})))
}

func (r random) loadBalancer(name string) *networkingv1alpha1.LoadBalancer {
	owner := label.Owner{Cluster: "blue", Service: types.NamespacedName{Namespace: "shop", Name: "web"},
		UID: types.UID(pick(r, "0a1b-2c3d", "0a1b-2c3d", ""))}
	one := &networkingv1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "lb-" + types.UID(name),
		ResourceVersion: "7", Annotations: owner.Annotations(), ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: pick(r, label.FieldManager, label.FormerFieldManager, "kubectl-edit"),
			FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:spec":{"f:%s":{}}}`,
				pick(r, "ports", "type", "ips")))}}},
		Spec: networkingv1alpha1.LoadBalancerSpec{Type: pick(r, networkingv1alpha1.LoadBalancerTypePublic,
			networkingv1alpha1.LoadBalancerTypeInternal), IPFamilies: r.families(),
			NetworkRef: corev1.LocalObjectReference{Name: pick(r, "nodes", "nodes", "nodes", "other")}}}
	for range r.IntN(4) {
		one.Spec.Ports = append(one.Spec.Ports, networkingv1alpha1.LoadBalancerPort{Port: pick(r, int32(443), 80, 363)})
	}
	if r.often() {
		one.Status.IPs = append(one.Status.IPs, r.address())
	}
	return one
}

func (r random) networkInterface(machine string, number int) *networkingv1alpha1.NetworkInterface {
	name := fmt.Sprintf("%s-%d", machine, number)
	one := &networkingv1alpha1.NetworkInterface{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec: networkingv1alpha1.NetworkInterfaceSpec{ProviderID: pick(r, "", "provider://"+name, "provider://"+name)},
		Status: networkingv1alpha1.NetworkInterfaceStatus{State: pick(r,
			networkingv1alpha1.NetworkInterfaceStateAvailable,
			networkingv1alpha1.NetworkInterfaceStatePending)}}
	for range r.IntN(3) {
		one.Status.IPs = append(one.Status.IPs, r.address())
	}
	return one
}

func (r random) observed(machines []string) Observed {
	o := Observed{Routings: map[string]*networkingv1alpha1.LoadBalancerRouting{}, MachineOf: map[string]string{},
		Interfaces: map[string][]*networkingv1alpha1.NetworkInterface{}}
	if r.often() {
		o.Network = &networkingv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "nodes", UID: "network"}}
	}
	var destinations []networkingv1alpha1.LoadBalancerDestination
	for _, machine := range append(machines, "left") {
		for number := range r.IntN(3) {
			one := r.networkInterface(machine, number)
			o.Interfaces[machine] = append(o.Interfaces[machine], one)
			o.MachineOf[one.Name] = machine
			destinations = append(destinations, networkingv1alpha1.LoadBalancerDestination{IP: r.address(),
				TargetRef: &networkingv1alpha1.LoadBalancerTargetRef{Name: one.Name, UID: one.UID}})
		}
	}
	r.Shuffle(len(destinations), reflect.Swapper(destinations))
	for _, name := range []string{"0a1b2c3d", "blue-web-0a1b"} {
		if r.often() {
			o.LoadBalancers = append(o.LoadBalancers, r.loadBalancer(name))
		}
		if r.often() {
			o.Routings[name] = &networkingv1alpha1.LoadBalancerRouting{Destinations: destinations,
				ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "8"}}
		}
	}
	return o
}

func (r random) request() Request {
	targets := nodes(strings.Join([]string{"a", "b", "c"}[:r.IntN(4)], " "))
	if !r.often() {
		targets.NotKnown = cloud.NodesNotRead
	}
	if !r.often() {
		targets.Joining = nodes("j").Serving
	}
	return Request{Service: r.service(), Targets: targets, Observed: r.observed([]string{"a", "b", "j"})}
}

// inputOf returns the inputs of a seed. Two calls share nothing.
func inputOf(seed uint64) (Config, Request) {
	r := random{rand.New(rand.NewPCG(seed, 1))}
	return r.config(), r.request()
}

// TestCompareIsPure: the same inputs have the same result, also after a plan for deletion, and are not changed.
func TestCompareIsPure(t *testing.T) {
	plans := map[string]bool{}
	for seed := range uint64(5000) {
		config, request := inputOf(seed)
		sameConfig, same := inputOf(seed)
		found, err := Compare(config, request)
		deletion := PlanDelete(config, request.Service, request.Observed)
		again, errAgain := Compare(config, request)
		wantSame(t, seed, "a second comparison", textOf(found, err), textOf(again, errAgain))
		if !reflect.DeepEqual(request, same) || config != sameConfig {
			t.Fatalf("seed %d: the inputs have changed", seed)
		}
		other, errOther := Compare(sameConfig, same)
		wantSame(t, seed, "a comparison of equal inputs", textOf(found, err), textOf(other, errOther))
		otherDeletion := PlanDelete(sameConfig, same.Service, same.Observed)
		wantSame(t, seed, "a plan for deletion", textOf(deletion, nil), textOf(otherDeletion, nil))
		plans[found.Plan.String()] = true
	}
	if len(plans) < 500 {
		t.Errorf("the inputs have only %d different plans", len(plans))
	}
}

func wantSame(t *testing.T, seed uint64, what, a, b string) {
	t.Helper()
	if a != b {
		t.Fatalf("seed %d: %s differs:\n%s\n%s", seed, what, a, b)
	}
}

// textOf returns a comparison as text, with its errors.
func textOf(found cloud.Comparison, err error) string {
	refused := found.Refused
	found.Refused = nil
	data, failed := json.Marshal(found)
	return fmt.Sprintln(string(data), refused, err, failed)
}
