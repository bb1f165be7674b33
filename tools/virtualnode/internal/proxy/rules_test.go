package proxy

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var compareAddrs = cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })

func TestFromObjects(t *testing.T) {
	http := corev1.ServicePort{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}
	slice := func(ready *bool) *discoveryv1.EndpointSlice {
		return endpointSlice("http", corev1.ProtocolTCP, 8080, endpointObject("10.244.1.2", "one", ready))
	}
	one := Endpoint{Addr: netip.MustParseAddrPort("10.244.1.2:8080"), Node: "one", Ready: true, Serving: true}
	tests := []struct {
		name   string
		spec   corev1.ServiceSpec
		slices []*discoveryv1.EndpointSlice
		want   Service
	}{{
		name:   "cluster IP has nothing to forward",
		spec:   corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Ports: []corev1.ServicePort{http}},
		slices: []*discoveryv1.EndpointSlice{slice(nil)},
	}, {
		name:   "nil conditions are ready",
		spec:   corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{http}},
		slices: []*discoveryv1.EndpointSlice{slice(nil)},
		want:   Service{Ports: []Port{{Port: 80, NodePort: 30080, Endpoints: []Endpoint{one}}}},
	}, {
		name:   "the same endpoint in two slices counts once",
		spec:   corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{http}},
		slices: []*discoveryv1.EndpointSlice{slice(nil), slice(nil)},
		want:   Service{Ports: []Port{{Port: 80, NodePort: 30080, Endpoints: []Endpoint{one}}}},
	}, {
		name:   "not ready",
		spec:   corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{http}},
		slices: []*discoveryv1.EndpointSlice{slice(new(bool))},
		want: Service{Ports: []Port{{Port: 80, NodePort: 30080,
			Endpoints: []Endpoint{{Addr: one.Addr, Node: "one"}}}}},
	}, {
		name: "no node port asked for",
		spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}}},
	}, {
		name: "local policy and health port",
		spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{http},
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, HealthCheckNodePort: 31000,
		},
		want: Service{Ports: []Port{{Port: 80, NodePort: 30080, Local: true}}, HealthPort: 31000},
	}, {
		name: "not TCP",
		spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort,
			Ports: []corev1.ServicePort{{Protocol: corev1.ProtocolUDP, NodePort: 30080}}},
	}, {
		name: "other port name, protocol and address family",
		spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{http}},
		slices: []*discoveryv1.EndpointSlice{
			endpointSlice("https", corev1.ProtocolTCP, 8443, endpointObject("10.244.1.2", "one", nil)),
			endpointSlice("http", corev1.ProtocolUDP, 8080, endpointObject("10.244.1.2", "one", nil)),
			{AddressType: discoveryv1.AddressTypeIPv6, Ports: slice(nil).Ports,
				Endpoints: []discoveryv1.Endpoint{endpointObject("fd00::1", "one", nil)}},
			endpointSlice("http", corev1.ProtocolTCP, 8080, discoveryv1.Endpoint{}, endpointObject("not an address",
				"one", nil)),
		},
		want: Service{Ports: []Port{{Port: 80, NodePort: 30080}}},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Namespace, tt.want.Name = "shop", "web"
			got := FromObjects(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
				Spec: tt.spec}, tt.slices)
			if diff := cmp.Diff(tt.want, got, compareAddrs); diff != "" {
				t.Errorf("FromObjects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPassedOn: the ports of a load balancer whose packets nodes get unchanged need no node port.
func TestPassedOn(t *testing.T) {
	vip, proxied := corev1.LoadBalancerIPModeVIP, corev1.LoadBalancerIPModeProxy
	service := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
		Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}}}}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "127.9.0.1"},
		{IP: "127.9.0.2", IPMode: &proxied}, {Hostname: "lb.example"}, {IP: "127.9.0.3", IPMode: &vip}}
	want := Service{Ports: []Port{{Port: 80}},
		Addresses: []netip.Addr{netip.MustParseAddr("127.9.0.1"), netip.MustParseAddr("127.9.0.3")}}
	if diff := cmp.Diff(want, FromObjects(service, nil), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("FromObjects (-want +got):\n%s", diff)
	}
}

func TestTargets(t *testing.T) {
	ready := Endpoint{Addr: netip.MustParseAddrPort("10.0.1.1:80"), Node: "one", Ready: true, Serving: true}
	other := Endpoint{Addr: netip.MustParseAddrPort("10.0.2.1:80"), Node: "two", Ready: true, Serving: true}
	draining := Endpoint{Addr: netip.MustParseAddrPort("10.0.1.2:80"), Node: "one", Serving: true, Terminating: true}
	broken := Endpoint{Addr: netip.MustParseAddrPort("10.0.1.3:80"), Node: "one"}
	tests := []struct {
		name string
		port Port
		want []netip.AddrPort
	}{
		{"all ready ones", Port{Endpoints: []Endpoint{ready, other, draining, broken}},
			[]netip.AddrPort{ready.Addr, other.Addr}},
		{"local only", Port{Local: true, Endpoints: []Endpoint{ready, other}}, []netip.AddrPort{ready.Addr}},
		{"draining as a last resort", Port{Endpoints: []Endpoint{draining, broken}}, []netip.AddrPort{draining.Addr}},
		{"local draining before remote ready", Port{Local: true, Endpoints: []Endpoint{draining, other}},
			[]netip.AddrPort{draining.Addr}},
		{"none local", Port{Local: true, Endpoints: []Endpoint{other}}, nil},
		{"none", Port{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.port.Targets("one"), compareAddrs); diff != "" {
				t.Errorf("Targets (-want +got):\n%s", diff)
			}
		})
	}
	s := Service{Ports: []Port{{Endpoints: []Endpoint{draining, broken}}, {Endpoints: []Endpoint{other}}}}
	if s.LocalReady("one") || !s.LocalReady("two") {
		t.Errorf("LocalReady = %t and %t, want no with one that drains, yes with a ready one", s.LocalReady("one"),
			s.LocalReady("two"))
	}
}

func endpointSlice(name string, protocol corev1.Protocol, port int32,
	endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Protocol: &protocol, Port: &port}},
		Endpoints:   endpoints,
	}
}

func endpointObject(addr, node string, ready *bool) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{addr}, NodeName: &node,
		Conditions: discoveryv1.EndpointConditions{Ready: ready}}
}
