// Package claim takes possession of a network of the loopback range, so that
// several programs on one machine use different ones.
package claim

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// Auto picks the first network that no other emulator uses.
const Auto = "auto"

// The second bytes of the networks that Auto tries. Below lie addresses that
// other local software likes to use (127.0.0.1, 127.0.1.1, 127.0.0.53).
const (
	firstNetwork = 64
	lastNetwork  = 127
)

// claimPort is bound on the first address of a network for as long as the
// network is in use. It is below the range of ephemeral ports.
const claimPort = 19790

// Network takes possession of a network, a prefix such as 127.64.0.0/16 or Auto
// (also ""), until what it returns is closed.
func Network(wanted string) (netip.Prefix, io.Closer, error) {
	if wanted != "" && wanted != Auto {
		return claimOne(wanted)
	}
	var refused []error
	for n := firstNetwork; n <= lastNetwork; n++ {
		network, claim, err := claimOne("127." + strconv.Itoa(n) + ".0.0/16")
		if err == nil {
			return network, claim, nil
		}
		refused = append(refused, err)
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return netip.Prefix{}, nil, fmt.Errorf("finding a free loopback network: %w", errors.Join(refused...))
}

func claimOne(text string) (netip.Prefix, io.Closer, error) {
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, nil, fmt.Errorf("loopback network %q: %w", text, err)
	}
	if network.Bits() != 16 || network != network.Masked() || !network.Addr().IsLoopback() ||
		network.Addr().As4()[1] == 0 {
		return netip.Prefix{}, nil, fmt.Errorf("loopback network %q: use 127.N.0.0/16 with N from 1 to 255, or %s",
			text, Auto)
	}
	at := netip.AddrPortFrom(network.Addr().Next(), claimPort)
	claim, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return netip.Prefix{}, nil, fmt.Errorf("claiming loopback network %s (is another emulator using it?): %w",
			network, err)
	}
	return network, claim, nil
}
