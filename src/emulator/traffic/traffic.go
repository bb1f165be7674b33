// Package traffic describes what a load balancer does with packets: the
// language in which the emulator's API describes to a data plane what to serve, and
// the data plane reports to the API what it serves.
//
// A description is complete and self-contained: a data plane compares it with
// what it serves now and changes only the difference.
package traffic

import (
	"net/netip"
	"time"
)

// Protocol is a transport protocol, in the API's spelling.
type Protocol string

// The transport protocols that listeners and target groups may use.
const (
	TCP Protocol = "tcp"
	UDP Protocol = "udp"
)

// Policy is how a listener picks a target, in the API's spelling.
type Policy string

// The policies of target groups; the API's default is RoundRobin.
const (
	RoundRobin Policy = "ROUND_ROBIN"
	Random     Policy = "RANDOM"
	Maglev     Policy = "MAGLEV"
)

// LoadBalancer is a load balancer that is ready.
type LoadBalancer struct {
	Identity  string
	Name      string
	Addresses []netip.Addr
	Listeners []Listener
}

// Listener is a port of a load balancer.
type Listener struct {
	Identity string
	Protocol Protocol
	Port     uint16
	// AllowedSources are the networks that may connect; none means everybody.
	AllowedSources []netip.Prefix
	// MaxConnections bounds concurrent connections; 0 means no bound.
	MaxConnections uint32
	// IdleTimeout closes connections without traffic; 0 means never.
	IdleTimeout time.Duration
	Group       Group
}

// Group is the target group behind a listener.
type Group struct {
	Identity string
	Policy   Policy
	// ProxyProtocol starts every TCP connection to a target with a PROXY
	// protocol version 1 header.
	ProxyProtocol bool
	// Health is nil when every target is used unconditionally.
	Health  *HealthCheck
	Targets []Target
}

// HealthCheck takes targets in and out.
type HealthCheck struct {
	// Protocol is tcp, udp, http or https.
	Protocol           string
	Port               uint16
	Path               string
	Period             time.Duration
	Timeout            time.Duration
	UnhealthyThreshold int
	HealthyThreshold   int
}

// Target is a machine that is running.
type Target struct {
	// Machine is the machine's identity.
	Machine string
	Address netip.AddrPort
	// Other is the same port of the machine's address of the other family;
	// invalid when it has none.
	Other netip.AddrPort
}

// From is the target as it is reached from an address of a load balancer: with
// its address of the same family, or else with the only one it has.
func (t Target) From(source netip.Addr) Target {
	if t.Other.IsValid() && source.Is4() == t.Other.Addr().Is4() {
		t.Address = t.Other
	}
	return Target{Machine: t.Machine, Address: t.Address}
}

// Health is the health of a target, as a data plane checks it.
type Health string

// A target is Unchecked when its group has no health check.
const (
	Healthy   Health = "healthy"
	Unhealthy Health = "unhealthy"
	Unchecked Health = "unchecked"
)

// Worst is the health of a target that is checked in two ways, of which this and
// other are the results: sick in one of them is sick. The zero Health is none yet.
func (h Health) Worst(other Health) Health {
	if h == Unhealthy {
		return h
	}
	return other
}

// Status is what a data plane serves for one load balancer.
type Status struct {
	Listeners []ListenerStatus
}

// ListenerStatus is what a data plane serves for one listener.
type ListenerStatus struct {
	Identity string
	// Served are the addresses that answer. Their port differs from the
	// listener's when the data plane may not bind the listener's own port.
	Served []netip.AddrPort
	// Problem says why an address is not served, or is served elsewhere.
	Problem  string
	Targets  []TargetStatus
	Counters Counters
}

// TargetStatus is the health of one target.
type TargetStatus struct {
	Machine  string
	Address  netip.AddrPort
	Health   Health
	Counters Counters
}

// Counters are what a data plane carried for a listener or a target since it serves it.
type Counters struct {
	// Connections are those that a target accepted, and sessions of UDP clients.
	Connections uint64 `json:"connections"`
	// Received are the bytes that clients sent, Sent those that they were sent.
	Received uint64 `json:"received"`
	Sent     uint64 `json:"sent"`
}

// Plus is the sum of two counters.
func (c Counters) Plus(other Counters) Counters {
	return Counters{c.Connections + other.Connections, c.Received + other.Received, c.Sent + other.Sent}
}
