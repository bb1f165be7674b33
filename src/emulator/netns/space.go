//go:build linux

package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path"
	"time"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
)

// space is a network namespace and the means to change what is in it.
type space struct {
	*namespace.Namespace
	netlink *netlink.Handle
	links   map[string]netlink.Link
}

// address is an address of an interface. Without a prefix length of its own it
// is a host's address.
type address struct {
	link   string
	prefix netip.Prefix
}

// route is an entry of a routing table; mainTable is the one without rules.
type route struct {
	table int
	to    netip.Prefix
	// via is invalid for what is directly on the link.
	via  netip.Addr
	link string
}

// rule chooses the routing table for what comes in by a link, or from an address
// of the namespace itself.
type rule struct {
	link  string
	from  netip.Addr
	table int
	// v6 is the family of rules that are about a link.
	v6 bool
}

const (
	mainTable = unix.RT_TABLE_MAIN
	loopback  = "lo"
)

// newSpace makes a namespace with a name and brings its loopback interface up.
func newSpace(name string) (*space, error) {
	made, err := namespace.Create(name)
	if err != nil {
		return nil, err
	}
	s, err := enter(made)
	if err == nil {
		err = errors.Join(s.sysctl(quiet()...), s.up(loopback))
	}
	if err != nil {
		return nil, errors.Join(err, made.Remove())
	}
	return s, nil
}

// enter gets ready to change a namespace that exists.
func enter(in *namespace.Namespace) (*space, error) {
	handle, err := netlink.NewHandleAt(vnetns.NsHandle(in.FD()), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("opening netlink in network namespace %q: %w", in.Name(), err)
	}
	return &space{Namespace: in, netlink: handle, links: map[string]netlink.Link{}}, nil
}

// leave lets go of the namespace, which stays.
func (s *space) leave() error {
	s.netlink.Close()
	return s.Close()
}

// remove takes the namespace away.
func (s *space) remove() error {
	s.netlink.Close()
	return s.Remove()
}

// setting is a kernel setting below /proc/sys/net.
type setting struct{ key, value string }

// quiet are settings of every namespace: addresses can be used at once, nothing
// is learnt from others, and IPv6 is on whatever the machine's default is.
func quiet() []setting {
	var out []setting
	for _, which := range []string{"all", "default"} {
		out = append(out,
			setting{"ipv6/conf/" + which + "/disable_ipv6", "0"}, setting{"ipv6/conf/" + which + "/accept_dad", "0"},
			setting{"ipv6/conf/" + which + "/accept_ra", "0"}, setting{"ipv6/conf/" + which + "/accept_redirects", "0"},
			setting{"ipv4/conf/" + which + "/accept_redirects", "0"}, setting{"ipv4/conf/" + which + "/rp_filter", "0"},
		)
	}
	return out
}

// forwarding are settings of a router.
func forwarding() []setting {
	return []setting{
		{"ipv4/ip_forward", "1"}, {"ipv6/conf/all/forwarding", "1"}, {"ipv6/conf/default/forwarding", "1"},
		// What comes and goes by the same link does so on purpose.
		{"ipv4/conf/all/send_redirects", "0"}, {"ipv4/conf/default/send_redirects", "0"},
	}
}

func (s *space) sysctl(settings ...setting) error {
	return s.Do(func() error {
		for _, one := range settings {
			if err := os.WriteFile(path.Join("/proc/sys/net", one.key), []byte(one.value), 0); err != nil {
				return fmt.Errorf("setting net/%s=%s in network namespace %q (is /proc/sys writable?): %w", one.key,
					one.value, s.Name(), err)
			}
		}
		return nil
	})
}

// link finds an interface by its name.
func (s *space) link(name string) (netlink.Link, error) {
	if known, found := s.links[name]; found {
		return known, nil
	}
	found, err := s.netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("finding interface %s of network namespace %q: %w", name, s.Name(), err)
	}
	s.links[name] = found
	return found, nil
}

// change does something to an interface.
func (s *space) change(doing, name string, act func(netlink.Link) error) error {
	found, err := s.link(name)
	if err != nil {
		return err
	}
	if err := act(found); err != nil {
		return fmt.Errorf("%s interface %s of network namespace %q: %w", doing, name, s.Name(), err)
	}
	return nil
}

func (s *space) up(name string) error { return s.change("bringing up", name, s.netlink.LinkSetUp) }

// carry waits until an interface that is up carries packets: the kernel notices
// that its other end is up, too, a little later.
func (s *space) carry(name string) error {
	return s.change("waiting for", name, func(l netlink.Link) error {
		return patiently("it does not carry packets", func() bool {
			now, err := s.netlink.LinkByIndex(l.Attrs().Index)
			return err == nil && now.Attrs().OperState == netlink.OperUp
		})
	})
}

// kernelTimeout bounds a wait for the kernel. It takes milliseconds, but may be
// late where many programs share few cores.
const kernelTimeout = time.Minute

// patiently waits for the kernel.
func patiently(otherwise string, done func() bool) error {
	for began := time.Now(); time.Since(began) < kernelTimeout; {
		if done() {
			return nil
		}
		<-time.After(time.Millisecond)
	}
	return errors.New(otherwise)
}

func (s *space) down(name string) error {
	return s.change("bringing down", name, s.netlink.LinkSetDown)
}

// removeLink removes an interface. It may have gone with its other end, which
// somebody else may remove.
func (s *space) removeLink(name string) error {
	err := s.change("removing", name, s.netlink.LinkDel)
	delete(s.links, name)
	if errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// addBridge makes a bridge and brings it up.
func (s *space) addBridge(name string) error {
	snooping := false // no program in here joins multicast groups
	// An address of its own: a bridge with that of a port gets another when the
	// port goes, and machines would go on sending to the old one.
	own := net.HardwareAddr{0x02, 0, 0, 0, 0, 1}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name, HardwareAddr: own}, MulticastSnooping: &snooping}
	if err := s.netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("making bridge %s in network namespace %q: %w", name, s.Name(), explain(err, "bridge"))
	}
	return s.up(name)
}

// connect makes a pair of interfaces, one here and one in another namespace,
// which stay down.
func (s *space) connect(name string, other *space, otherName string) error {
	pair := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: otherName, PeerNamespace: netlink.NsFd(other.FD()),
	}
	if err := s.netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("connecting network namespaces %q (interface %s) and %q (interface %s): %w",
			s.Name(), name, other.Name(), otherName, explain(err, "veth"))
	}
	return nil
}

// explain says what an unsupported kind of interface needs.
func explain(err error, kind string) error {
	if errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("this kernel has no interfaces of type %s; load its module %s: %w", kind, kind, err)
	}
	return err
}

// enslave makes an interface a port of a bridge that talks to the router only.
func (s *space) enslave(port, bridge string) error {
	master, err := s.link(bridge)
	if err != nil {
		return err
	}
	return errors.Join(
		s.change("adding to "+bridge, port, func(l netlink.Link) error { return s.netlink.LinkSetMaster(l, master) }),
		s.change("isolating", port, func(l netlink.Link) error { return s.netlink.LinkSetIsolated(l, true) }),
	)
}

// setMAC gives an interface a hardware address.
func (s *space) setMAC(name, mac string) error {
	hardware, err := net.ParseMAC(mac)
	if err != nil {
		return fmt.Errorf("interface %s of network namespace %q: %w", name, s.Name(), err)
	}
	return s.change("giving an address to", name, func(l netlink.Link) error {
		return s.netlink.LinkSetHardwareAddr(l, hardware)
	})
}

func (a address) netlink() *netlink.Addr {
	out := &netlink.Addr{IPNet: ipNet(a.prefix)}
	if a.prefix.Addr().Is6() {
		out.Flags = unix.IFA_F_NODAD // no other machine can have it, and waiting for that takes a second
	}
	return out
}

// addAddress returns when packets to the address are taken.
func (s *space) addAddress(a address) error {
	return s.change("adding address "+a.prefix.String()+" to", a.link, func(l netlink.Link) error {
		if err := s.netlink.AddrAdd(l, a.netlink()); err != nil {
			return err
		}
		return s.settle(a)
	})
}

// settle waits for an address of IPv6: the kernel adds it now, and takes packets
// to it a little later, when one of its workers has been there.
func (s *space) settle(a address) error {
	if a.prefix.Addr().Is4() {
		return nil
	}
	return patiently("the kernel does not take packets to it", func() bool {
		routes, err := s.netlink.RouteGet(a.prefix.Addr().AsSlice())
		return err == nil && len(routes) > 0 && routes[0].Type == unix.RTN_LOCAL
	})
}

func (s *space) removeAddress(a address) error {
	return s.change("removing address "+a.prefix.String()+" from", a.link, func(l netlink.Link) error {
		return s.netlink.AddrDel(l, a.netlink())
	})
}

func (s *space) addRoute(r route) error {
	return s.change("adding route "+r.to.String()+" through", r.link, func(l netlink.Link) error {
		return s.netlink.RouteAdd(r.netlink(l))
	})
}

func (s *space) removeRoute(r route) error {
	return s.change("removing route "+r.to.String()+" through", r.link, func(l netlink.Link) error {
		err := s.netlink.RouteDel(r.netlink(l))
		if errors.Is(err, unix.ESRCH) { // it went with an address or an interface
			return nil
		}
		return err
	})
}

func (r route) netlink(by netlink.Link) *netlink.Route {
	out := &netlink.Route{Table: r.table, Dst: ipNet(r.to), LinkIndex: by.Attrs().Index}
	if r.via.IsValid() {
		// The gateway need not be in a network of the interface.
		out.Gw, out.Flags = r.via.AsSlice(), int(netlink.FLAG_ONLINK)
	} else if r.to.Addr().Is4() {
		out.Scope = netlink.SCOPE_LINK
	}
	return out
}

func (s *space) addRule(r rule) error {
	if err := s.netlink.RuleAdd(r.netlink()); err != nil {
		return fmt.Errorf("adding a rule for %s%v to network namespace %q: %w", r.link, r.from, s.Name(), err)
	}
	return nil
}

func (s *space) removeRule(r rule) error {
	if err := s.netlink.RuleDel(r.netlink()); err != nil {
		return fmt.Errorf("removing the rule for %s%v from network namespace %q: %w", r.link, r.from, s.Name(), err)
	}
	return nil
}

// rulePriority is where our rules are: behind the table of local addresses and
// before the main table.
const rulePriority = 100

func (r rule) netlink() *netlink.Rule {
	out := netlink.NewRule()
	out.Priority, out.Table, out.IifName, out.Family = rulePriority, r.table, r.link, unix.AF_INET
	if r.from.IsValid() {
		out.Src = ipNet(host(r.from))
	}
	if r.v6 || r.from.Is6() {
		out.Family = unix.AF_INET6
	}
	return out
}

// host is the prefix of one address.
func host(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
}
