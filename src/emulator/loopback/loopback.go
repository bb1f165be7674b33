// Package loopback is a data plane on one machine's loopback range: load
// balancers listen on their own 127.N addresses and proxy TCP and UDP to the
// addresses of machines, which lie in the same network. It needs no privileges.
//
//	plane, err := loopback.New(loopback.Options{Network: loopback.Auto})
//	...
//	seed, err := emulator.LoopbackSeed(plane.Network())
//	cloud, err := emulator.New(emulator.Config{Seed: seed, DataPlane: plane})
//
// Every address of 127.0.0.0/8 can be bound on Linux without any set-up; other
// systems need an alias per address. How ports and connections are served is
// said in package proxy.
package loopback

import (
	"errors"
	"io"
	"net"
	"net/netip"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/claim"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
)

// Auto picks the first network that no other emulator uses.
const Auto = claim.Auto

// Options adjust a Plane. The zero value is useful.
type Options struct {
	// Network is Auto (the default) or a prefix such as 127.64.0.0/16.
	Network string
	// Proxy adjusts the load balancers.
	Proxy proxy.Options
}

// Plane serves load balancers in one network.
type Plane struct {
	*proxy.Proxy
	network netip.Prefix
	claim   io.Closer
}

// New claims a network, so that several emulators can run side by side.
func New(o Options) (*Plane, error) {
	network, hold, err := claim.Network(o.Network)
	if err != nil {
		return nil, err
	}
	return &Plane{Proxy: proxy.New(o.Proxy), network: network, claim: hold}, nil
}

// Network is the network that the plane claimed.
func (p *Plane) Network() netip.Prefix { return p.network }

// Close stops everything, waits until it has stopped, and gives the network
// back. Closing again does nothing.
func (p *Plane) Close() error {
	p.Proxy.Close()
	if err := p.claim.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
