// Package apiserver is an API server of Kubernetes in memory, for tests: it answers clients of client-go without a
// network, and works in synctest bubbles. Its kinds are data: package cluster has Services, Nodes and EndpointSlices,
// and the simulator of IronCore has the kinds of IronCore.
//
// Clients use it through Transport, in the protocol of the API. Tests read and change the objects through Do.
//
// Its tests are those of the simulator, with the clients of IronCore: a test sends the same requests to the real server
// (ci/slow/ironcore).
package apiserver

import (
	"net/http"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// The last handler of errors delays them by the time since the error before. In another synctest bubble it is another
// time, so that an informer would sleep for years.
func init() { //nolint:gochecknoinits // Only a variable of the library sets it.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
}

// Options are what is particular about a server.
type Options struct {
	Kinds []*Kind
	// Default sets the defaults of an object that is read. It is optional.
	Default func(Object)
	// React is called after each change, before the client gets its answer. Old is nil if the object is new. It is
	// optional.
	React func(objects State, event watch.EventType, object, old Object)

	// Scheme has the types of all kinds, and Schemas how server-side apply merges their fields. Without Schemas, no
	// managed fields are maintained, and nothing can be applied.
	Scheme  *runtime.Scheme
	Schemas func() (managedfields.TypeConverter, error)

	// NoGC means that no garbage is collected: an object stays when its controller is gone.
	NoGC bool
	// NoRequests means that requests of clients are not recorded.
	NoRequests bool

	// NoWatchList refuses watches that begin with all objects, as older versions do.
	NoWatchList bool
}

// Server is an API server. It is safe for concurrent use.
type Server struct {
	options Options

	mu       sync.Mutex
	news     *sync.Cond // of all events and ends of watches
	kinds    map[reflect.Type]*Kind
	objects  map[*Kind]map[types.NamespacedName]stored
	managers map[endpoint]*managedfields.FieldManager
	version  int64
	uids     int
	alive    map[types.UID]bool // the objects that exist
	events   history
	watches  map[*stream]bool
	requests []Request
	fault    func(Request) *metav1.Status
}

// New returns a server without objects.
func New(options Options) *Server {
	s := &Server{
		options: options, kinds: map[reflect.Type]*Kind{}, objects: map[*Kind]map[types.NamespacedName]stored{},
		managers: map[endpoint]*managedfields.FieldManager{}, alive: map[types.UID]bool{},
		events: history{oldest: map[*Kind]int64{}}, watches: map[*stream]bool{},
	}
	s.news = sync.NewCond(&s.mu)
	for _, k := range options.Kinds {
		s.kinds[reflect.TypeOf(k.Object)] = k
		s.objects[k] = map[types.NamespacedName]stored{}
	}
	return s
}

// Transport returns a transport to the server without a network, for any host.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

// Version returns the resource version of the last change.
func (s *Server) Version() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Do calls a function with the objects, which nobody else reads or changes until it returns. These are no requests of
// clients: they are not recorded, do not fail, and change no managed fields.
func (s *Server) Do(do func(State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(State{s})
}

// State has the objects of a server for as long as Do or React runs.
type State struct{ server *Server }

// In calls a function with the objects after some time, or at once.
func (s State) In(d time.Duration, then func(State)) {
	if d <= 0 {
		then(s)
		return
	}
	time.AfterFunc(d, func() { s.server.Do(then) })
}
