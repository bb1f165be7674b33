//go:build linux

package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// The names of the plane's own namespaces, after the run's name.
const (
	hubName    = "hub"
	clientName = "client"
	routerName = "vpc"
)

// clientLink is the hub's interface toward the client; the client's own is named
// after the run.
const clientLink = "client"

// hubRules let the client and the VPCs talk, and no VPC with another.
const hubRules = `
	chain forward {
		type filter hook forward priority filter; policy drop;
		iifname "` + clientLink + `" accept
		oifname "` + clientLink + `" accept
	}
`

// hub is what is between VPCs and the outside, and the outside: the client's
// namespace.
type hub struct {
	space *space
	// client is the namespace from which load balancers and machines are reached;
	// own reports whether it is the plane's.
	client *space
	own    bool
	link   string
	// gateways are the hub's addresses for the client, of each family.
	gateways []netip.Addr

	routes, clientRoutes set[route]
}

// newHub makes the hub and connects the client: the namespace with that name or
// path, that of this process for Host, or a new one for "".
func newHub(r *run, client string, networks []netip.Prefix) (*hub, error) {
	s, err := newSpace(r.prefix() + hubName)
	if err != nil {
		return nil, err
	}
	h := &hub{space: s, link: r.name, own: client == "", routes: set[route]{}, clientRoutes: set[route]{}}
	err = errors.Join(s.sysctl(forwarding()...), filter{}.probe(s), probeBridge(s))
	if err == nil {
		h.client, err = openClient(r, client)
	}
	if err == nil {
		err = errors.Join((&filter{}).apply(s, hubRules), h.connect(networks))
	}
	if err != nil {
		return nil, errors.Join(err, h.remove())
	}
	return h, nil
}

// probeBridge finds out whether there will be bridges.
func probeBridge(s *space) error {
	if err := s.addBridge("probe"); err != nil {
		return err
	}
	return s.removeLink("probe")
}

func openClient(r *run, name string) (*space, error) {
	if name == "" {
		return newSpace(r.prefix() + clientName)
	}
	open := func() (*namespace.Namespace, error) { return namespace.Open(name) }
	if name == Host {
		open = namespace.Current
	}
	in, err := open()
	if err != nil {
		return nil, fmt.Errorf("the client's network namespace: %w", err)
	}
	s, err := enter(in)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return s, nil
}

// connect connects hub and client: the hub has the first address of each client
// network, the client the second.
func (h *hub) connect(networks []netip.Prefix) error {
	for _, network := range networks {
		if err := h.checkFree(network); err != nil {
			return err
		}
	}
	if err := h.space.connect(clientLink, h.client, h.link); err != nil {
		return err
	}
	err := errors.Join(h.space.up(clientLink), h.client.up(h.link))
	for _, network := range networks {
		gateway := clientGateway(network)
		h.gateways = append(h.gateways, gateway)
		err = errors.Join(err,
			h.space.addAddress(address{clientLink, netip.PrefixFrom(gateway, network.Bits())}),
			h.client.addAddress(address{h.link, netip.PrefixFrom(clientAddress(network), network.Bits())}),
		)
	}
	return err
}

// clientGateway and clientAddress are the hub's and the client's address in a network of the client.
func clientGateway(network netip.Prefix) netip.Addr { return network.Masked().Addr().Next() }

func clientAddress(network netip.Prefix) netip.Addr { return clientGateway(network).Next() }

// checkFree refuses a network that the client's namespace has a way to already.
func (h *hub) checkFree(network netip.Prefix) error {
	if h.own {
		return nil
	}
	routes, err := h.client.netlink.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("listing the routes of network namespace %q: %w", h.client.Name(), err)
	}
	for _, r := range routes {
		to, ok := destination(r)
		if ok && to.Bits() > 0 && to.Overlaps(network) && !h.kept(to) {
			return fmt.Errorf("network namespace %q has a route to %s already, which overlaps %s of the emulator; "+
				"choose other addresses, or another namespace for the client", h.client.Name(), to, network)
		}
	}
	return nil
}

// kept reports whether the client's route to an address is that of a load balancer, which may be gone.
func (h *hub) kept(to netip.Prefix) bool {
	for r := range h.clientRoutes {
		if r.to == to && to.IsSingleIP() {
			return true
		}
	}
	return false
}

// destination is where a route of the kernel leads to, unless it is special.
func destination(r netlink.Route) (netip.Prefix, bool) {
	if r.Dst == nil || r.Type != unix.RTN_UNICAST {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(r.Dst.IP)
	bits, _ := r.Dst.Mask.Size()
	return netip.PrefixFrom(addr.Unmap(), bits), ok && !addr.IsLinkLocalUnicast() && !addr.IsMulticast()
}

// attach connects the router of a VPC.
func (h *hub) attach(number int, router *space) error {
	link := downlink(number)
	if err := h.space.connect(link, router, uplink); err != nil {
		return err
	}
	failed := []error{h.space.up(link), router.up(uplink)}
	for _, v6 := range []bool{false, true} {
		failed = append(failed,
			h.space.addAddress(address{link, between(hubAddress(number, v6))}),
			router.addAddress(address{uplink, between(routerAddress(number, v6))}),
		)
	}
	return errors.Join(failed...)
}

// between is an address of a link between two.
func between(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()-2) }

// wire makes the VPCs reachable from the client, and returns what is hidden. The client keeps its routes to the
// addresses of load balancers that are gone: the hub refuses what is sent there, and with a default route it would
// leave this machine.
func (h *hub) wire(network traffic.Network, numbers map[string]int) (hidden []string, err error) {
	routes, hidden := planHub(network, numbers)
	var client []route
	for _, r := range routes {
		for _, gateway := range h.gateways {
			if gateway.Is4() == r.to.Addr().Is4() {
				client = append(client, route{table: mainTable, to: r.to, via: gateway, link: h.link})
			}
		}
	}
	for r := range h.clientRoutes {
		if r.to.IsSingleIP() {
			client = append(client, r)
		}
	}
	return hidden, errors.Join(
		h.routes.reconcile(routes, h.space.removeRoute, h.space.addRoute),
		h.clientRoutes.reconcile(client, h.client.removeRoute, h.addClientRoute),
	)
}

func (h *hub) addClientRoute(r route) error {
	if err := h.checkFree(r.to); err != nil {
		return err
	}
	return h.client.addRoute(r)
}

// removeRoutes removes the routes to a VPC whose router does not exist any more.
func (h *hub) removeRoutes(number int) error {
	if err := h.space.removeLink(downlink(number)); err != nil {
		return err
	}
	for r := range h.routes {
		if r.link == downlink(number) {
			delete(h.routes, r)
		}
	}
	return nil
}

func (h *hub) remove() error {
	var failed []error
	if h.client != nil {
		if _, err := h.space.link(clientLink); err == nil {
			failed = append(failed, h.space.removeLink(clientLink))
		}
		leave := h.client.leave
		if h.own {
			leave = h.client.remove
		}
		failed = append(failed, leave())
	}
	return errors.Join(append(failed, h.space.remove())...)
}

// requirements are what the machine must have before anything is made.
type requirements struct {
	uid      int
	lookPath func(string) (string, error)
	stat     func(string) (os.FileInfo, error)
}

// Check says what planes cannot do without and this machine lacks, all of it at once: to be root, the program nft,
// IPv6.
func Check() error { return requirements{os.Geteuid(), exec.LookPath, os.Stat}.check() }

// check says everything that is missing.
func (q requirements) check() error {
	var missing []error
	if q.uid != 0 {
		missing = append(missing,
			fmt.Errorf("only root may make network namespaces, and this is user %d; become root, or use the loopback "+
				"data plane", q.uid))
	}
	if _, err := q.lookPath("nft"); err != nil {
		missing = append(missing, fmt.Errorf("the program nft is missing (package nftables): %w", err))
	}
	if _, err := q.stat("/proc/sys/net/ipv6"); err != nil {
		missing = append(missing, fmt.Errorf("this kernel has no IPv6 (is it started with ipv6.disable=1?): %w", err))
	}
	return errors.Join(missing...)
}
