// Package simulator is the API server of IronCore in memory, for tests: it answers the typed clients of IronCore
// without a network, and works in synctest bubbles. It also does what IronCore's own controllers and its network
// provider do.
//
//	server := simulator.New(simulator.Options{Namespace: "shoot", Network: "net"})
//	server.AddMachine(simulator.Machine{Name: "a", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}})
//	clients, err := client.New(server.Config(), "shoot")
//
// By default it answers what the program sends as the API server of IronCore v0.5.0 does: a test sends the same
// requests to both (ci/slow/ironcore). It validates the addresses and prefixes that the program writes, and what cannot
// change.
package simulator

import (
	"net/netip"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"github.com/ironcore-dev/ironcore/client-go/ironcore/versioned/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/src/apiserver"
)

// Options change a simulator. The zero value has no Network and does everything at once.
type Options struct {
	// Namespace contains the objects that the methods of the simulator return and change.
	Namespace string
	// Network is the name of a Network that exists from the beginning.
	Network string

	// Prefixes are the parents of the addresses of internal load balancers, by their names. Without any, "internal" has
	// IPv4 addresses and "internal6" IPv6 addresses.
	Prefixes map[string]netip.Prefix

	// Provision is the time until a load balancer or a prefix of a network interface is ready, Deletion the time until
	// the network provider allows the removal of a deleted load balancer.
	Provision, Deletion time.Duration
	// Routing is the time until the destinations of a load balancer with a selector follow the network interfaces.
	Routing time.Duration

	// NoGC means that no garbage is collected: a LoadBalancerRouting stays when its load balancer is gone.
	NoGC bool

	// NoWatchList refuses watches that begin with all objects, as older versions do.
	NoWatchList bool
}

// Simulator is an API server. It is safe for concurrent use.
type Simulator struct {
	*apiserver.Server
	options Options
	network *network
}

// Object is an object of any kind.
type Object = apiserver.Object

// Request is one request of a client.
type Request = apiserver.Request

// These reasons of a status stand for faults of the connection, as those of package apiserver.
const (
	Unreachable  = apiserver.Unreachable
	ResponseLost = apiserver.ResponseLost
	NoAnswer     = apiserver.NoAnswer
)

// Fault returns a status for Fail with one of the reasons of this package.
func Fault(reason metav1.StatusReason) *metav1.Status { return apiserver.Fault(reason) }

// New returns a simulator without objects, but for the Network of the options, which is available.
func New(options Options) *Simulator {
	if options.Prefixes == nil {
		options.Prefixes = map[string]netip.Prefix{"internal": netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 250}), 16),
			"internal6": netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 0, 2, 0x50}), 64)}
	}
	network := newNetwork(options)
	s := &Simulator{options: options, network: network, Server: apiserver.New(apiserver.Options{
		Kinds: kinds(), Default: setDefaults, React: network.react, Scheme: scheme.Scheme, Schemas: schemas,
		NoGC: options.NoGC, NoWatchList: options.NoWatchList,
	})}
	if options.Network != "" {
		s.Add(&networkingv1alpha1.Network{
			ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: options.Network},
			Spec: networkingv1alpha1.NetworkSpec{
				ProviderID: "ironcore-net://" + options.Namespace + "/" + options.Network,
			},
			Status: networkingv1alpha1.NetworkStatus{State: networkingv1alpha1.NetworkStateAvailable},
		})
	}
	return s
}

// Fail lets requests of clients fail, as the method of the embedded server, which rigs of tests would hide.
func (s *Simulator) Fail(fault func(Request) *metav1.Status) { s.Server.Fail(fault) }

// Config returns the configuration of a client without a limit of requests.
func (s *Simulator) Config() *rest.Config {
	return &rest.Config{Host: "http://ironcore.invalid", Transport: s.Transport(), QPS: -1}
}
