// Package proxy is the part of kube-proxy that makes node ports and the addresses of load balancers
// work, as ordinary sockets on the address of a virtual node.
//
// FromObjects turns a Service and its EndpointSlices into what is to be forwarded where; a Proxy
// carries that out for one node.
package proxy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Service is what proxies need to know of a Service and its EndpointSlices.
type Service struct {
	types.NamespacedName
	// Ports are those with the protocol TCP, and with a node port unless there are Addresses.
	Ports []Port
	// Addresses are those of a load balancer that passes packets to nodes unchanged (ipMode VIP).
	Addresses []netip.Addr
	// HealthPort is the health check node port; 0 when the Service has none.
	HealthPort uint16
}

// Port is one port of a Service.
type Port struct {
	// Port is the port on the Addresses of the Service.
	Port uint16
	// NodePort is the port on the address of every node; 0 when the port has none.
	NodePort uint16
	// Local is externalTrafficPolicy Local: only endpoints of the same node, source address kept.
	Local     bool
	Endpoints []Endpoint
}

// Endpoint is one pod behind a port.
type Endpoint struct {
	Addr netip.AddrPort
	// Node is the name of the node that the pod runs on.
	Node                        string
	Ready, Serving, Terminating bool
}

// FromObjects returns what proxies need to know of a Service.
func FromObjects(svc *corev1.Service, endpointSlices []*discoveryv1.EndpointSlice) Service {
	s := Service{NamespacedName: types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}}
	if svc.Spec.Type != corev1.ServiceTypeNodePort && svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return s
	}
	s.Addresses = passedOn(svc.Status.LoadBalancer.Ingress)
	local := svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	for i := range svc.Spec.Ports {
		port := &svc.Spec.Ports[i]
		if port.NodePort == 0 && len(s.Addresses) == 0 || port.Protocol != corev1.ProtocolTCP {
			continue
		}
		s.Ports = append(s.Ports, Port{
			Port: uint16(port.Port), NodePort: uint16(port.NodePort), Local: local,
			Endpoints: endpoints(port, endpointSlices),
		})
	}
	if local {
		s.HealthPort = uint16(svc.Spec.HealthCheckNodePort)
	}
	return s
}

// passedOn returns the addresses whose packets nodes get unchanged, and have to answer: those with ipMode VIP, which is
// the default.
func passedOn(ingress []corev1.LoadBalancerIngress) []netip.Addr {
	var found []netip.Addr
	for _, one := range ingress {
		address, err := netip.ParseAddr(one.IP)
		if err == nil && ptr.Deref(one.IPMode, corev1.LoadBalancerIPModeVIP) == corev1.LoadBalancerIPModeVIP {
			found = append(found, address)
		}
	}
	return found
}

// endpoints returns the endpoints of one Service port, sorted so that the same objects in any
// order give the same result.
func endpoints(port *corev1.ServicePort, endpointSlices []*discoveryv1.EndpointSlice) []Endpoint {
	var found []Endpoint
	for _, slice := range endpointSlices {
		number := targetPort(port, slice)
		if number == 0 || slice.AddressType != discoveryv1.AddressTypeIPv4 {
			continue
		}
		for i := range slice.Endpoints {
			if e, ok := endpoint(&slice.Endpoints[i], number); ok {
				found = append(found, e)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Endpoint) int { return a.Addr.Compare(b.Addr) })
	return slices.CompactFunc(found, func(a, b Endpoint) bool { return a.Addr == b.Addr })
}

// targetPort is the number that a slice gives to a Service port, 0 when it has none.
func targetPort(port *corev1.ServicePort, slice *discoveryv1.EndpointSlice) uint16 {
	for _, p := range slice.Ports {
		same := ptr.Deref(p.Name, "") == port.Name && ptr.Deref(p.Protocol, corev1.ProtocolTCP) == port.Protocol
		if same && p.Port != nil {
			return uint16(*p.Port)
		}
	}
	return 0
}

func endpoint(e *discoveryv1.Endpoint, port uint16) (Endpoint, bool) {
	if len(e.Addresses) == 0 {
		return Endpoint{}, false
	}
	addr, err := netip.ParseAddr(e.Addresses[0])
	if err != nil {
		return Endpoint{}, false
	}
	// Nil means what the API says it means for consumers: ready, serving as ready, not terminating.
	ready := ptr.Deref(e.Conditions.Ready, true)
	return Endpoint{
		Addr: netip.AddrPortFrom(addr, port), Node: ptr.Deref(e.NodeName, ""),
		Ready: ready, Serving: ptr.Deref(e.Conditions.Serving, ready), Terminating: ptr.Deref(e.Conditions.Terminating,
			false),
	}, true
}

// Targets returns where a node sends connections: the ready endpoints, or, when none is ready,
// those that still serve while they terminate.
func (p Port) Targets(node string) []netip.AddrPort {
	var ready, draining []netip.AddrPort
	for _, e := range p.Endpoints {
		switch {
		case p.Local && e.Node != node:
		case e.Ready:
			ready = append(ready, e.Addr)
		case e.Serving && e.Terminating:
			draining = append(draining, e.Addr)
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return draining
}

// LocalReady reports whether a pod of a node is ready behind any port of the Service.
func (s Service) LocalReady(node string) bool {
	return slices.ContainsFunc(s.Ports, func(p Port) bool {
		return slices.ContainsFunc(p.Endpoints, func(e Endpoint) bool { return e.Ready && e.Node == node })
	})
}
