package manager

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
)

// nodeIPAMController has the name of the controller of kube-controller-manager with the same purpose.
const nodeIPAMController = "node-ipam-controller"

// rangeAllocator is the only supported --cidr-allocator-type: with the others the cloud would allocate networks.
const rangeAllocator = "RangeAllocator"

// masks are the flags for the sizes of Nodes' networks.
type masks struct {
	nodeipam.Masks
	single int // for a cluster of one family; 0: not set
	// shortest are the shortest prefixes that a Node may request; 0 selects the default of nodeipam.
	shortest nodeipam.Masks
	// services are the networks of Services, separated by commas. They are not allocated to Nodes.
	services string
}

func defaultMasks() masks {
	return masks{Masks: nodeipam.Masks{IPv4: nodeipam.DefaultIPv4, IPv6: nodeipam.DefaultIPv6}}
}

// addMaskFlags adds flags of kube-controller-manager, with its names and defaults.
func (s *settings) addMaskFlags(flags *pflag.FlagSet) {
	flags.IntVar(&s.masks.single, "node-cidr-mask-size", s.masks.single,
		"Length of the prefix of each Node's pod network, with --allocate-node-cidrs in a cluster of one family. "+
			"With 0, --node-cidr-mask-size-ipv4 and -ipv6 apply.")
	flags.StringVar(&s.masks.services, "service-cluster-ip-range", s.masks.services,
		"Networks of Services, separated by a comma. With --allocate-node-cidrs, no part of them is allocated to a "+
			"Node. "+
			"Required only if --cluster-cidr contains them.")
	flags.IntVar(&s.masks.IPv4, "node-cidr-mask-size-ipv4", s.masks.IPv4,
		"Length of the prefix of each Node's IPv4 pod network, with --allocate-node-cidrs. "+
			"A label or annotation of a Node takes precedence.")
	flags.IntVar(&s.masks.shortest.IPv4, "shortest-node-cidr-mask-size-ipv4", s.masks.shortest.IPv4,
		"Length of the shortest prefix that a label or annotation of a Node can request, so that one Node does "+
			"not get "+
			"most of --cluster-cidr. With 0, it is 4 less than --node-cidr-mask-size-ipv4.")
	flags.IntVar(&s.masks.shortest.IPv6, "shortest-node-cidr-mask-size-ipv6", s.masks.shortest.IPv6,
		"Like --shortest-node-cidr-mask-size-ipv4, for IPv6.")
	flags.IntVar(&s.masks.IPv6, "node-cidr-mask-size-ipv6", s.masks.IPv6,
		"Length of the prefix of each Node's IPv6 pod network, with --allocate-node-cidrs. "+
			"A label or annotation of a Node takes precedence.")
}

// needsMasks checks whether networks of these sizes can be allocated to Nodes.
func needsMasks(offered *cloud.Cloud, settings configuration) error {
	shared, masks := settings.KubeCloudShared, settings.masks
	if !shared.AllocateNodeCIDRs {
		return skipError("--allocate-node-cidrs=false")
	}
	if kind := shared.CIDRAllocatorType; kind != "" && kind != rangeAllocator {
		return fmt.Errorf("--cidr-allocator-type=%s is not supported with --allocate-node-cidrs: want %s", kind,
			rangeAllocator)
	}
	if masks.shortest.IPv4 < 0 || masks.shortest.IPv6 < 0 {
		return errors.New("--shortest-node-cidr-mask-size-ipv4 and -ipv6 are lengths of prefixes: want 0 or more")
	}
	if _, err := masks.reserved(); err != nil {
		return err
	}
	_, _, err := masks.resolve(offered, settings)
	return err
}

// reserved returns the networks that are not allocated to Nodes.
func (m masks) reserved() ([]netip.Prefix, error) {
	if m.services == "" {
		return nil, nil
	}
	networks, err := parseNetworks(m.services)
	if err != nil {
		return nil, fmt.Errorf("reading --service-cluster-ip-range=%s: %w; want networks such as 10.96.0.0/12, with a "+
			"comma between", m.services, err)
	}
	return networks, nil
}

// resolve returns the networks from which Nodes' networks are allocated, and the sizes of Nodes' networks.
func (m masks) resolve(offered *cloud.Cloud, settings configuration) ([]netip.Prefix, nodeipam.Masks, error) {
	list, err := clusterCIDR(offered, settings)
	if err != nil {
		return nil, m.Masks, err
	}
	cidrs, err := parseClusterCIDR(list, "--allocate-node-cidrs gives Nodes networks from it; set it, or the same in "+
		"the cloud's configuration, or --allocate-node-cidrs=false")
	chosen := m.Masks
	switch {
	case err != nil:
		return nil, chosen, err
	case m.single == 0:
	case len(cidrs) > 1:
		return nil, chosen, fmt.Errorf("--node-cidr-mask-size=%d is for a cluster of one family: with "+
			"--cluster-cidr=%s set --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6", m.single, list)
	case cidrs[0].Addr().Is4():
		chosen.IPv4 = m.single
	default:
		chosen.IPv6 = m.single
	}
	return cidrs, chosen, chosen.Check(cidrs)
}

func newIPAMController(env environment) (loop, error) {
	masks := env.settings.masks
	cidrs, chosen, err := masks.resolve(env.cloud, env.settings)
	if err != nil {
		return loop{}, err
	}
	reserved, err := masks.reserved()
	if err != nil {
		return loop{}, err
	}
	return made(nodeipam.New(nodeipam.Options{
		Reserved: reserved, RandomStart: true, Client: env.client, Recorder: env.recorder,
		Nodes: env.informers.Core().V1().Nodes(),
		CIDRs: cidrs, Masks: chosen, Shortest: masks.shortest, Domain: env.cloud.LabelDomain,
	}))
}
