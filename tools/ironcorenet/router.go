//go:build linux

package ironcorenet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
)

const (
	// balancers is the routing table with the addresses of load balancers, and balancersFirst the priority of the rules
	// that ask it before the tables of the network, whose rules have 100.
	balancers, balancersFirst = 900, 90
	// filterLimit bounds a change of the filter, which takes milliseconds.
	filterLimit = 30 * time.Second
)

// router is the router's namespace, opened for changes.
type router struct {
	*namespace.Namespace
	handle *netlink.Handle
}

// enter opens the router's namespace, and lets it choose among several destinations by addresses and ports.
func enter(inside *namespace.Namespace) (router, error) {
	handle, err := netlink.NewHandleAt(vnetns.NsHandle(inside.FD()), unix.NETLINK_ROUTE)
	if err != nil {
		return router{}, fmt.Errorf("opening netlink in network namespace %q: %w", inside.Name(), err)
	}
	r := router{inside, handle}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		rule := netlink.NewRule()
		rule.Family, rule.Priority, rule.Table = family, balancersFirst, balancers
		if err := handle.RuleAdd(rule); err != nil && !errors.Is(err, unix.EEXIST) {
			r.close()
			return r, fmt.Errorf("adding a rule to network namespace %q: %w", inside.Name(), err)
		}
	}
	return r, r.hashPorts()
}

func (r router) close() { r.handle.Close() }

// hashPorts makes the kernel choose a destination for a connection, and not for all connections of a client.
func (r router) hashPorts() error {
	err := r.Do(func() error {
		return errors.Join(os.WriteFile("/proc/sys/net/ipv4/fib_multipath_hash_policy", []byte("1"), 0),
			os.WriteFile("/proc/sys/net/ipv6/fib_multipath_hash_policy", []byte("1"), 0))
	})
	if err != nil {
		return fmt.Errorf("choosing destinations by ports in network namespace %q: %w", r.Name(), err)
	}
	return nil
}

// spread routes an address to all destinations of its family. Without any, packets are dropped.
func (r router) spread(address netip.Addr, destinations []netip.Addr) error {
	route := &netlink.Route{Table: balancers, Dst: prefix(address)}
	for _, destination := range destinations {
		if destination.Is4() != address.Is4() {
			continue
		}
		found, err := r.handle.RouteGet(destination.AsSlice())
		if err != nil || len(found) == 0 {
			return fmt.Errorf("finding destination %s of load balancer address %s: %w", destination, address, err)
		}
		route.MultiPath = append(route.MultiPath, &netlink.NexthopInfo{Gw: destination.AsSlice(),
			LinkIndex: found[0].LinkIndex, Flags: int(netlink.FLAG_ONLINK)})
	}
	if len(route.MultiPath) == 0 {
		route.Type = unix.RTN_BLACKHOLE
	}
	if err := r.replace(route); err != nil {
		return fmt.Errorf("routing load balancer address %s to %v: %w", address, destinations, err)
	}
	return nil
}

// replace replaces all routes to the destination of a route. The kernel replaces only one of the routes of IPv6.
// Without a route, packets are answered with an error for a moment, so one that is the same stays.
func (r router) replace(route *netlink.Route) error {
	if route.Dst.IP.To4() != nil {
		return r.handle.RouteReplace(route)
	}
	found, err := r.routes(route.Dst)
	if err != nil || slices.Equal(hops(found...), hops(*route)) && len(found) > 0 {
		return err
	}
	if err := r.remove(route.Dst); err != nil {
		return err
	}
	return r.handle.RouteAdd(route)
}

// hops are the next hops of routes to one destination, sorted. A route that drops packets has none.
func hops(routes ...netlink.Route) (all []string) {
	for _, route := range routes {
		if route.Gw != nil {
			all = append(all, fmt.Sprint(route.Gw, route.LinkIndex))
		}
		for _, hop := range route.MultiPath {
			all = append(all, fmt.Sprint(hop.Gw, hop.LinkIndex))
		}
	}
	slices.Sort(all)
	return all
}

// forget removes the routes to an address.
func (r router) forget(address netip.Addr) error {
	if err := r.remove(prefix(address)); err != nil {
		return fmt.Errorf("removing the route to load balancer address %s: %w", address, err)
	}
	return nil
}

// routes returns the routes to the address of a load balancer.
func (r router) routes(to *net.IPNet) ([]netlink.Route, error) {
	family := unix.AF_INET6
	if to.IP.To4() != nil {
		family = unix.AF_INET
	}
	return r.handle.RouteListFiltered(family, &netlink.Route{Table: balancers, Dst: to},
		netlink.RT_FILTER_TABLE|netlink.RT_FILTER_DST)
}

func (r router) remove(to *net.IPNet) error {
	found, err := r.routes(to)
	if err != nil {
		return err
	}
	for i := range found {
		if err := r.handle.RouteDel(&found[i]); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

func prefix(address netip.Addr) *net.IPNet {
	return &net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(address.BitLen(), address.BitLen())}
}

// filter makes chains the content of a table of nftables, all at once.
func (r router) filter(chains string) error {
	ctx, cancel := context.WithTimeout(context.Background(), filterLimit)
	defer cancel()
	var output bytes.Buffer
	command := exec.CommandContext(ctx, "nft", "-f", "-")
	command.Stdin = strings.NewReader("table inet balancers\ndelete table inet balancers\ntable inet balancers {\n" +
		chains + "}\n")
	command.Stdout, command.Stderr = &output, &output
	err := r.Start(command)
	if err == nil {
		err = command.Wait()
	}
	if err != nil {
		return fmt.Errorf("filtering in network namespace %q: nft: %w\n%s", r.Name(), err, output.Bytes())
	}
	return nil
}
