// Package simulator is the API server of IronCore in memory, for tests: it answers the typed clients of IronCore
// without a network, and works in synctest bubbles. It also does what IronCore's own controllers and its network
// provider do.
//
//	server := simulator.New(simulator.Options{Namespace: "shoot", Network: "net"})
//	server.AddMachine(simulator.Machine{Name: "a", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}})
//	clients, err := client.New(server.Config(), "shoot")
//
// By default it behaves as the real server does, also where that server differs from one with custom resources.
package simulator

import (
	"sync"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/rest"
)

// Options change a simulator. The zero value has no Network and does everything at once.
type Options struct {
	// Namespace contains the objects that the methods of the simulator return and change.
	Namespace string
	// Network is the name of a Network that exists from the beginning.
	Network string

	// Provision is the time until a load balancer or a prefix of a network interface is ready, Deletion the time until
	// the network provider allows the removal of a deleted load balancer.
	Provision, Deletion time.Duration
	// Routing is the time until the destinations of a load balancer with a selector follow the network interfaces.
	Routing time.Duration

	// NoGC means that no garbage is collected: a LoadBalancerRouting stays when its load balancer is gone.
	NoGC bool

	// These make the server behave like one with custom resource definitions: StatusIgnored ignores the status in all
	// requests but those to the subresource, and SpecIgnored the spec in those. Generation counts metadata.generation
	// for all kinds, NoStrategicMerge refuses strategic merge patches, and NoWatchList refuses watches that begin with
	// all objects. NoDefaults stores what clients send: it neither sets defaults nor drops the addresses of public load
	// balancers. StrictPorts checks all ports of load balancers, not only those after the first one of a protocol.
	StatusIgnored, SpecIgnored, Generation, NoStrategicMerge, NoWatchList, NoDefaults, StrictPorts bool
}

// Simulator is an API server. It is safe for concurrent use.
type Simulator struct {
	options Options
	kinds   []*kind
	types   managedfields.TypeConverter // once it is needed

	mu       sync.Mutex
	news     *sync.Cond // of all events and ends of watches
	objects  map[*kind]map[key]stored
	version  int64
	uids     int
	alive    map[types.UID]bool // the objects that exist
	events   history
	watches  map[*stream]bool
	requests []*Request
	fault    func(Request) *metav1.Status
	network  network
}

// New returns a simulator without objects, but for the Network of the options, which is available.
func New(options Options) *Simulator {
	s := &Simulator{
		options: options, kinds: kinds(), objects: map[*kind]map[key]stored{},
		alive: map[types.UID]bool{}, events: history{oldest: map[*kind]int64{}},
		watches: map[*stream]bool{}, network: newNetwork(),
	}
	s.news = sync.NewCond(&s.mu)
	for _, k := range s.kinds {
		s.objects[k] = map[key]stored{}
	}
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

// Config returns the configuration of a client without a limit of requests.
func (s *Simulator) Config() *rest.Config {
	return &rest.Config{Host: "http://ironcore.invalid", Transport: transport{s}, QPS: -1}
}
