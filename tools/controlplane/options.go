package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// Options says what control plane to start. Only Dir is required.
type Options struct {
	// Dir holds state, certificates and logs. It is created when it does not exist, serves one
	// control plane only, and is left for the caller to remove.
	Dir string
	// Binary is the lab executable. Default: what Build makes.
	Binary string
	// Progress gets messages about steps that take long. It may be nil.
	Progress func(string)
	// Address is the IPv4 address the API server listens on, at a port of its own choice.
	// Default: 127.0.0.1.
	Address netip.Addr
	// Port is where the API server listens. Default: a free one of its own choice.
	Port uint16
	// Enter is the beginning of the command line of every component, for one that runs in another namespace:
	// {"nsenter", "--net=/run/netns/machine"} starts them in a network namespace. It has to become the
	// component, and not its parent. With it, Port and Dial are required.
	Enter []string
	// Dial connects to the API server, where this process itself cannot. Default: as every process does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ServiceCIDR is where cluster IPs come from; two ranges separated by a comma for dual-stack,
	// IPv4 first. Default: 10.96.0.0/16.
	ServiceCIDR string
	// PodCIDR is where the nodes' pod ranges come from, a /24 each for IPv4; two ranges separated
	// by a comma for dual-stack. Default: 10.244.0.0/16, enough for 256 nodes.
	PodCIDR string
	// NodeMonitorGracePeriod is how long a node may be silent before it counts as not ready.
	// Default: that of Kubernetes.
	NodeMonitorGracePeriod time.Duration
	// Flags are further flags by component name. They come last and so override ours.
	Flags map[string][]string
}

// complete checks the options, fills in what is missing and makes the folder.
func (o Options) complete(ctx context.Context) (Options, error) {
	if o.Dir == "" {
		return o, errors.New("Options.Dir is empty; name a folder for its state")
	}
	if len(o.Enter) > 0 && (o.Port == 0 || o.Dial == nil) {
		return o, errors.New("Options.Enter needs Options.Port and Options.Dial: what is free there, and how to get " +
			"there, cannot be found out")
	}
	if !o.Address.IsValid() {
		o.Address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	for setting, fallback := range map[*string]string{
		&o.ServiceCIDR: "10.96.0.0/16",
		&o.PodCIDR:     "10.244.0.0/16",
	} {
		if *setting == "" {
			*setting = fallback
		}
	}
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return o, fmt.Errorf("finding its folder: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return o, fmt.Errorf("making its folder: %w", err)
	}
	return o.withBinary(ctx)
}

func (o Options) withBinary(ctx context.Context) (Options, error) {
	if o.Binary != "" {
		return o, nil
	}
	root, err := repo.Root()
	if err != nil {
		return o, err
	}
	o.Binary, err = Build(ctx, root, o.Progress)
	return o, err
}
