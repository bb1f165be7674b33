// Package node implements the node service of the CSI specification: it formats, mounts and resizes the volumes that
// are attached to the machine it runs on. It has no access to the cloud.
package node

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	mount "k8s.io/mount-utils"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/topology"
)

// Options describe the Node. All fields but the last are required.
type Options struct {
	Name string // of the Node; it is its ID, as with the CSI driver that this one replaces
	// Place returns where the Node is. It fails while that is not known.
	Place   func(context.Context) (Place, error)
	Devices Devices
	Mounter *mount.SafeFormatAndMount
	// FormatNonzeroWithin is the age up to which a volume that the driver created empty is formatted although its
	// beginning is not all zeros; 0: such a volume is never formatted.
	FormatNonzeroWithin time.Duration
}

// Place is where a Node is, and what it can have.
type Place struct {
	Region string
	Zone   string // may be empty
	// LegacyRegion is the value of topology.LegacyRegion, which is a label of the Node; empty: that of Region.
	LegacyRegion string
	// Limit is the maximum number of volumes that the machine can have besides its root disk.
	Limit int64
}

// Node is the node service. It is safe for concurrent use.
type Node struct {
	csi.UnimplementedNodeServer
	Options
	started time.Time
	busy    request.Busy // the identities of volumes that requests work on
	staged  sync.Map     // the identities of volumes that were staged; a key has no value
}

// New returns the node service.
func New(o Options) *Node { return &Node{Options: o, started: time.Now()} }

// NodeGetCapabilities returns what the node service offers.
func (*Node) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse,
	error) {
	var all []*csi.NodeServiceCapability
	for _, kind := range []csi.NodeServiceCapability_RPC_Type{
		csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME,
		csi.NodeServiceCapability_RPC_EXPAND_VOLUME,
		csi.NodeServiceCapability_RPC_GET_VOLUME_STATS,
		csi.NodeServiceCapability_RPC_GET_VOLUME_HEALTH,
		csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		all = append(all, &csi.NodeServiceCapability{Type: &csi.NodeServiceCapability_Rpc{
			Rpc: &csi.NodeServiceCapability_RPC{Type: kind}}})
	}
	return &csi.NodeGetCapabilitiesResponse{Capabilities: all}, nil
}

// NodeGetInfo returns the ID, the topology and the attach limit of the Node.
func (n *Node) NodeGetInfo(ctx context.Context, _ *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	place, err := n.Place(ctx)
	if err != nil {
		return nil, status.Errorf(codes.Unavailable, "looking up region and zone of Node %s: %v", n.Name, err)
	}
	return &csi.NodeGetInfoResponse{NodeId: n.Name, MaxVolumesPerNode: place.Limit,
		AccessibleTopology: &csi.Topology{Segments: topology.OfNode(place.Region, place.Zone,
			cmp.Or(place.LegacyRegion, place.Region))}}, nil
}
