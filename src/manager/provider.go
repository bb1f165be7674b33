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
//	Start        the cloud starts its background work, on the leader only
//	controllers  run until SIGTERM or until the lease is lost
//	Drain        the cloud finishes the write in flight
//	release      the lease is given back, so that a standby goes on at once
//
// A cloud is added by handing one more [Provider] to [NewCommand]; the package
// itself knows none.
package manager

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Provider is one cloud the binary can serve.
type Provider struct {
	// Name is what --cloud-provider says, and the scheme of the provider IDs.
	Name string

	// Flags adds the cloud's own flags, which have a section of their own in --help. Each name begins with the cloud's
	// name and "-". They are parsed before New is called. It may be nil.
	Flags func(*pflag.FlagSet)

	// New reads the configuration file and checks it completely. It never talks
	// to a network: a wrong setting must be told apart from a cloud that is
	// away. Its error is shown to the operator as it stands and may have several
	// lines, one for each mistake. The context lives as long as the process.
	New func(context.Context, cloud.Options) (*cloud.Cloud, error)

	// Validate checks a configuration file as New does, for the subcommand
	// "validate"; nil means that the cloud cannot. It returns the configuration
	// in effect, as text without secrets, or what is wrong with it, one line each.
	// files says whether those are looked at that the configuration refers to.
	Validate func(configPath string, files bool) (effective []byte, problems []string)
}
