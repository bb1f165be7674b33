// Package cloud is the contract between controllers and clouds: what a cloud offers, as small interfaces and plain
// values.
//
// Controllers import this package and no cloud; a cloud imports this package and no controller. A cloud is a [Cloud],
// which the manager hands to the controllers as it is. The data flows one way. [Desire] is a pure function of a Service
// and its targets; a cloud compares its result with what it observes and returns the difference as a [Plan], which can
// be printed, counted, tested and applied:
//
//	Service, targets -> Desire -> LoadBalancers.Diff -> Plan -> LoadBalancers.Apply -> status
//
// Nothing here supposes that load balancers have listeners, target groups, node ports or health checks.
package cloud

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Cloud is what one cloud offers to the controllers and to the process that runs them. Everything but the name is
// optional. It does not change once it is made.
type Cloud struct {
	// Name is the value of --cloud-provider, and the scheme of the provider IDs.
	Name string

	// LoadBalancers are for Services of type LoadBalancer; nil if the cloud has none.
	LoadBalancers         LoadBalancers
	LoadBalancerBehaviour LoadBalancerBehaviour
	// Machines are for Nodes; nil if the cloud has none.
	Machines         Machines
	MachineBehaviour MachineBehaviour
	// Routes lead to the pods of Nodes; nil if the cloud has none.
	Routes Routes
	// ClusterIdentity distinguishes the objects of two clusters with the same key; nil if the cloud cannot.
	ClusterIdentity ClusterIdentity

	// Storage contains volumes and snapshots; nil if the cloud has none that a driver of this project creates.
	Storage Storage

	// Changes reports what changes in the cloud, so that the controllers react at once. It is nil for a cloud that
	// cannot report changes: the controllers then find them when they compare periodically. A cloud that reports all
	// changes needs no periodic comparison: its DriftPeriods are 0.
	Changes Changes

	// Recovered calls report each time the cloud answers again after an outage, and returns when ctx ends. Each
	// controller calls it once, and then tries again at once what failed. A report only queues work, and returns soon.
	// It is nil for a cloud that cannot tell.
	Recovered Recovery

	// LabelDomain is the prefix of the labels and annotations that configure a Node, "k8s.example.com"; "" if the cloud
	// has none.
	LabelDomain string
	// ClusterCIDR is what the configuration of the cloud says of the networks of pods, in the form of --cluster-cidr;
	// it may be empty.
	ClusterCIDR string
	// Untagged means that objects in the cloud do not show which cluster they belong to. The process ends unless
	// --allow-untagged-cloud is set.
	Untagged bool

	// Collectors are metrics of the cloud. They are in /metrics as long as the process runs, on a standby as well.
	Collectors []prometheus.Collector
	// Ready returns nil if the cloud has answered recently, and otherwise the reason why it has not. The text is in
	// /readyz, so that it must not contain secrets. It is called for each probe, on a standby and before Start as well;
	// it answers at once, without a call to the cloud, and is safe for concurrent use. If it is nil, the cloud is
	// ready.
	Ready func() error
	// SetInformers registers the informers that the cloud uses, and starts none. It is called once, before the
	// election, so that the caches are complete on a standby, too. It may be nil.
	SetInformers func(informers.SharedInformerFactory)
	// Start starts the background work of the cloud, and returns at once. It is called once, on the leader only, after
	// SetInformers and before the controllers start. The context ends when the controllers are stopped. It may be
	// nil.
	Start func(context.Context, Clients)
	// Observe starts to read what Start reads in the background, and writes nothing. It returns when the data is
	// complete, or with an error. A program that only reads calls it once, instead of SetInformers and Start. It may be
	// nil.
	Observe func(context.Context) error
	// CheckAccess asks the cloud what the credentials permit, as far as reads show it. It makes a request
	// for each answer, so that nothing calls it periodically. It may be nil.
	CheckAccess func(context.Context) []Access
	// Drain sends nothing more to the cloud, retries nothing, and returns when the writes that were sent are finished,
	// or with an error when the context ends. It is called once, after the context of Start has ended; the lease is
	// still held at that time. It may be nil.
	Drain func(context.Context) error
	// DrainTimeout is the longest time that Drain takes. The grace period of the pod depends on it, see manager.Grace.
	DrainTimeout time.Duration
}

// Access is the answer to the question whether the credentials permit something that the controllers do.
type Access struct {
	// Action describes it: "list load balancers".
	Action string
	// OnlyFor is what needs it: "routes". It is "" if every cluster does.
	OnlyFor string
	// Err is why it is not possible now, such as a missing permission; nil if it is.
	Err error
	// Unknown is why the cloud does not tell; "" if it does.
	Unknown string
}

// Options are the settings of the process from which a cloud is made.
type Options struct {
	// ConfigFile is the path in --cloud-config.
	ConfigFile string
	// ClusterName is --cluster-name, for a cloud whose configuration has no name or identity of the cluster.
	ClusterName string
	// Environment contains the files and environment variables.
	Environment Environment
	// ReadOnly makes a cloud that refuses all writes, before they are sent.
	ReadOnly bool
	// Network carries the requests to the cloud, for tests in virtual time; nil is the real network.
	Network http.RoundTripper
}

// Clients makes clients of the API server. It has the methods of ControllerClientBuilder in k8s.io/cloud-provider.
type Clients interface {
	// Client returns the client of a service account. The error is that there are no credentials now.
	Client(account string) (kubernetes.Interface, error)
	// ClientOrDie waits for the credentials until the context of Start ends.
	ClientOrDie(account string) kubernetes.Interface
	// Config returns the configuration of such a client.
	Config(account string) (*rest.Config, error)
	// ConfigOrDie waits for the credentials until the context of Start ends.
	ConfigOrDie(account string) *rest.Config
}
