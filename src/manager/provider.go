// Package manager is the process of a cloud controller manager: its flags, its
// run loop, its health endpoints and its leader election, for any cloud.
//
// Flags, options and controllers come from k8s.io/cloud-provider, so that users
// can use every flag that they know. The run loop is our own: the library's exits
// when the API server does not answer for ten seconds, has no /readyz, and does
// not release the lease when it is stopped. The process runs in this order:
//
//	New          configuration is read and checked; no requests are sent
//	caches       informers start, on a standby as well
//	/livez       the secured port answers, even if the API server does not
//	election     (unless --leader-elect=false)
//	Start        the cloud starts its background work, on the leader only
//	controllers  run until SIGTERM or until the lease is lost
//	Drain        the cloud finishes the write in flight
//	release      the lease is released, so that a standby takes over at once
//
// To add a cloud, pass its [Provider] to [NewCommand]. The package itself contains
// no cloud.
package manager

import (
	"context"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Provider is a cloud that the binary supports.
type Provider struct {
	// Name is the value of --cloud-provider, and the scheme of the provider IDs.
	Name string

	// Flags adds the cloud's own flags, which have a section of their own in --help. Each name begins with the cloud's
	// name and "-". They are parsed before New is called. It may be nil.
	Flags func(*pflag.FlagSet)
	// OtherFlags are the names of flags that begin differently, because the program that this one replaces has them.
	OtherFlags []string

	// New reads and checks the configuration file. It sends no requests, so that a wrong setting can be distinguished
	// from a cloud that does not answer. Its error is printed unchanged and may have several lines, one for each
	// mistake. The context ends with the process.
	New func(context.Context, cloud.Options) (*cloud.Cloud, error)

	// Validate checks a configuration file as New does, for the subcommand "validate"; nil if the cloud does not
	// support it. It returns the effective configuration as text without secrets, or the mistakes, one line each. With
	// files, it also checks the files that the configuration refers to.
	Validate func(configPath string, from cloud.Environment, files bool) (effective []byte, problems []string)
	// Warnings returns what the program accepts in a configuration file and reads differently from Former, one line
	// each. It may be nil.
	Warnings func(configPath string, from cloud.Environment) []string

	// Scope returns the settings of a configuration file that say which cloud and which cluster it is about, by their
	// keys. A CSI driver of this cloud has a file of the same kind. It is nil if there is none.
	Scope func(configPath string, from cloud.Environment) (map[string]string, error)

	// Former is the program that this one replaces.
	Former Former
}

// Former is the cloud controller manager that the clusters of a cloud have before this program.
type Former struct {
	// Programs are the names of its executable and its images, without registry and tag.
	Programs []string
	// Guide is the page about the change to this program, from the root of the repository.
	Guide string
	// Differences returns what changes for a Service, one sentence each, as far as the Service shows it. It may be nil.
	Differences func(*corev1.Service) []string
}
