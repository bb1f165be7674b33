package ironcore

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/kubeconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/reload"
)

// SelectorFlag is the name of the flag that does not begin with the name of the cloud.
const SelectorFlag = "use-nic-selector"

// Options are the flags of the cloud, and what it needs of its process.
type Options struct {
	version    string
	kubeconfig string
	selector   bool
}

// NewOptions returns the defaults. Version follows the program's name in the user agent.
func NewOptions(version string) *Options {
	return &Options{version: version, selector: true}
}

// AddFlags adds the flags of the cloud. They have the names and defaults of the program that this one replaces.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "ironcore-kubeconfig", o.kubeconfig,
		"The kubeconfig of the IronCore API. Its current context names the namespace of the cluster's objects.")
	flags.BoolVar(&o.selector, SelectorFlag, o.selector,
		"Let IronCore choose the destinations of load balancers, by the label kubernetes.io/cluster of network "+
			"interfaces. With false, this program writes the destinations, which follow the externalTrafficPolicy of "+
			"each Service.")
}

// New creates the cloud from its flags and a cloud-config file. It sends no request, so that it fails only because of
// the flags, the file, or the kubeconfig. Until the context ends, it reads the kubeconfig again periodically.
func (o *Options) New(ctx context.Context, process cloud.Options) (*cloud.Cloud, error) {
	config, err := cloudconfig.Read(process.ConfigFile, process.Environment, process.ClusterName)
	if err != nil {
		return nil, err
	}
	read := func() (kubeconfig.Access, error) {
		access, err := kubeconfig.Load(o.access(config, process.Environment))
		if err == nil && process.Network != nil {
			access.Config.Transport = process.Network
		}
		return access, err
	}
	access, err := read()
	if err != nil {
		return nil, err
	}
	access.Config.Timeout = config.API.Timeout()
	api, err := client.New(access.Config, access.Namespace)
	if err != nil {
		return nil, err
	}
	if process.ReadOnly {
		api.RefuseWrites()
	}
	c := build(config, api, o.selector)
	c.reloader = api.Reloader(access, read, config.NetworkName, reload.OwnPod(process.Environment.Getenv))
	if process.Environment.Own() { // what another process has mounted is read once
		go c.reloader.Run(ctx)
	}
	return c.offer(), nil
}

func (o *Options) access(config cloudconfig.Config, from cloud.Environment) kubeconfig.Options {
	return kubeconfig.Options{
		Path: o.kubeconfig, Environment: from, Namespace: config.Namespace, UserAgent: component + "/" + o.version,
		RequestsPerSecond: config.API.RequestsPerSecond, Burst: config.API.Burst,
	}
}
