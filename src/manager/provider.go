// Package manager is the process of a cloud controller manager: its flags, its
// run loop, its health endpoints and its leader election, for any cloud.
//
// Flags, options and controllers come from k8s.io/cloud-provider, so that users
// keep every flag they know. The run loop is our own, because the library's
// exits when the Kubernetes API is away for ten seconds, has no /readyz, and
// leaves the lease behind when it is stopped. The order of one life is:
//
//	New          configuration is read and checked; nothing touches a network
//	caches       informers start, on a standby as well
//	/livez       the secured port answers, whether or not the API does
//	election     (unless --leader-elect=false)
//	Initialize   the cloud starts its background work, on the leader only
//	controllers  run until SIGTERM or until the lease is lost
//	Drain        the cloud finishes the write in flight
//	release      the lease is given back, so that a standby goes on at once
//
// A cloud is added by handing one more [Provider] to [NewCommand]; the package
// itself knows none.
package manager

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	cloudprovider "k8s.io/cloud-provider"
)

// Provider is one cloud the binary can serve.
type Provider struct {
	// Name is what --cloud-provider says, and the scheme of the provider IDs.
	Name string

	// New reads the configuration file and checks it completely. It never talks
	// to a network: a wrong setting must be told apart from a cloud that is
	// away. Its error is shown to the operator as it stands and may have several
	// lines, one for each mistake. The context lives as long as the process.
	//
	// Of the cloud it returns, SetInformers (cloudprovider.InformerUser) is
	// called once, before the election, so that the cloud's caches are warm on a
	// standby too; it registers informers and starts nothing. Initialize is
	// called once, after SetInformers and on the leader only, with a stop channel
	// that closes when the controllers are told to stop. What the cloud offers
	// (LoadBalancer, InstancesV2, Routes) is asked before Initialize and does not
	// change. HasClusterID false ends the process unless --allow-untagged-cloud
	// is set.
	New func(ctx context.Context, configPath string) (cloudprovider.Interface, error)

	// Validate checks a configuration file as New does, for the subcommand
	// "validate"; nil means that the cloud cannot. It returns the configuration
	// in effect, as text without secrets, or what is wrong with it, one line each.
	// files says whether those are looked at that the configuration refers to.
	Validate func(configPath string, files bool) (effective []byte, problems []string)
}

// Readier is a cloud that knows whether it can be reached.
type Readier interface {
	// Ready returns nil when the cloud answered lately, else why it did not. The
	// text is shown in /readyz, so it holds no secrets. It is asked on a standby
	// as well, hence also before Initialize, once per probe: it answers at once,
	// from what is known, and is safe for concurrent use.
	Ready() error
}

// Labeller is a cloud with a domain of its own.
type Labeller interface {
	// LabelDomain begins the names of labels and annotations by which Nodes are
	// steered: "k8s.example.com".
	LabelDomain() string
}

// Networker is a cloud whose configuration may say which networks pods have.
type Networker interface {
	// ClusterCIDR is in the form of --cluster-cidr, which says the same; it may be
	// empty.
	ClusterCIDR() string
}

// Drainer is a cloud that can finish what it has begun.
type Drainer interface {
	// Drain sends nothing more to the cloud, repeats nothing, and returns when
	// the writes that were sent are finished, or with an error when the context
	// ends first. It is called once, after the controllers and the stop channel of
	// Initialize were told to stop; the lease is still held meanwhile.
	Drain(ctx context.Context) error
	// DrainTimeout is the longest time that Drain takes. It does not change, and
	// the pod's grace period must be at least [Grace] of it.
	DrainTimeout() time.Duration
}

// Measurer is a cloud that has metrics.
type Measurer interface {
	// Collectors are shown in /metrics for as long as the process runs. It is
	// called once, on a standby as well.
	Collectors() []prometheus.Collector
}
