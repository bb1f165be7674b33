package demo

import (
	"context"
	"net"
	"net/netip"
	"strconv"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopback"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/tools/ironcorelab"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

// plane is the data plane of IronCore's network provider on loopback addresses: the emulator's proxies listen on the
// addresses of load balancers, and connect to the destinations in their routing. It is like IronCore in that a
// destination has to answer for the address and the port of the load balancer, and no node port takes part. It is
// unlike IronCore in that connections come from the load balancer's address, and only TCP is served.
type plane struct {
	*loopback.Plane
	servers, public netip.Addr // the last ones that were given away
	addresses       map[ironcorelab.Claim]netip.Addr
}

func newPlane(network *virtualnode.Network) (*plane, error) {
	balancers, err := loopback.New(loopback.Options{Proxy: proxy.Options{Sockets: passing{network: network}}})
	if err != nil {
		return nil, err
	}
	first := balancers.Network().Addr().As4()
	return &plane{
		Plane: balancers, addresses: map[ironcorelab.Claim]netip.Addr{},
		servers: netip.AddrFrom4([4]byte{first[0], first[1], 0, 9}),
		public:  netip.AddrFrom4([4]byte{first[0], first[1], 1, 0}),
	}, nil
}

// passing opens the sockets of proxies whose connections to servers stand in for packets that are passed on unchanged.
type passing struct {
	proxy.Host
	network *virtualnode.Network
}

// Dial connects to a load balancer's address, the source, through the node that to is the address of.
func (p passing) Dial(ctx context.Context, _ string, source netip.Addr, to netip.AddrPort) (net.Conn, error) {
	return p.network.Dial(ctx, to.Addr(), netip.AddrPortFrom(source, to.Port()), source)
}

// serverAddress returns an address for another server.
func (p *plane) serverAddress() netip.Addr {
	p.servers = p.servers.Next()
	return p.servers
}

// address chooses the IPv4 addresses of load balancers.
func (p *plane) address(claim ironcorelab.Claim) netip.Addr {
	if claim.Family != corev1.IPv4Protocol {
		return netip.Addr{}
	}
	if _, known := p.addresses[claim]; !known {
		p.public = p.public.Next()
		p.addresses[claim] = p.public
	}
	return p.addresses[claim]
}

// Balance listens on the addresses and ports of a load balancer, and connects to the destinations.
func (p *plane) Balance(_ context.Context, lb *networkingv1alpha1.LoadBalancer,
	routing *networkingv1alpha1.LoadBalancerRouting) error {
	balancer := traffic.LoadBalancer{Identity: string(lb.UID), Name: lb.Name}
	for _, ip := range lb.Status.IPs {
		balancer.Addresses = append(balancer.Addresses, ip.Addr)
	}
	for _, port := range lb.Spec.Ports {
		if ptr.Deref(port.Protocol, corev1.ProtocolTCP) != corev1.ProtocolTCP {
			continue
		}
		number := uint16(port.Port)
		balancer.Listeners = append(balancer.Listeners, traffic.Listener{
			Identity: strconv.Itoa(int(number)), Protocol: traffic.TCP, Port: number,
			Group: traffic.Group{Policy: traffic.Maglev, Targets: targets(routing, number)},
		})
	}
	p.Serve(balancer)
	return nil
}

// targets are the destinations of a load balancer at one of its ports.
func targets(routing *networkingv1alpha1.LoadBalancerRouting, port uint16) []traffic.Target {
	if routing == nil {
		return nil
	}
	var all []traffic.Target
	for _, destination := range routing.Destinations {
		all = append(all, traffic.Target{Machine: destination.IP.String(),
			Address: netip.AddrPortFrom(destination.IP.Addr, port)})
	}
	return all
}

// Remove ends the traffic for a load balancer.
func (p *plane) Remove(_ context.Context, lb *networkingv1alpha1.LoadBalancer) error {
	p.Plane.Remove(string(lb.UID))
	return nil
}

// Route does nothing: the addresses of servers are addresses of this machine.
func (*plane) Route(context.Context, *networkingv1alpha1.NetworkInterface, *computev1alpha1.Machine) error {
	return nil
}

// served returns where the first port of a load balancer is served, and why that is not the port itself.
func (p *plane) served(lb *networkingv1alpha1.LoadBalancer) (at, problem string) {
	status, _ := p.Status(string(lb.UID))
	if len(status.Listeners) == 0 {
		return "", "nothing listens yet"
	}
	listener := status.Listeners[0]
	if len(listener.Served) > 0 {
		at = listener.Served[0].String()
	}
	return at, listener.Problem
}
