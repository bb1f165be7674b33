// Package controller implements the controller service of the CSI specification: it creates, attaches, resizes and
// deletes volumes and snapshots. What has to be done is decided by package volume; this package reads the shared lists
// of package storage, and sends the writes.
package controller

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/storage"
)

// Nodes finds the machines of Nodes.
type Nodes interface {
	// Machine returns the identity of the machine of the Node. The error is NotFound if there is no such Node or
	// machine, and for a Node of another cloud. It is FailedPrecondition if several machines may be the one.
	Machine(ctx context.Context, node string) (machine string, err error)
	// Names returns the names of the Nodes by the identities of their machines. Machines without a Node are missing.
	Names(ctx context.Context) (map[string]string, error)
}

// Options describe the cluster that volumes are for. All fields but Kubernetes, Poll and MaxWait are required.
type Options struct {
	Storage *storage.Storage
	Nodes   Nodes
	Owner   volume.Owner
	// Region returns the slug of the region of all volumes.
	Region func(context.Context) (string, error)
	// Kubernetes reads objects of the cluster; nil: there was no earlier process, and limits of Nodes are not known.
	Kubernetes Kubernetes
	// Poll is the shortest time between two looks at a volume that the cloud is working on; 0: DefaultPoll.
	Poll time.Duration
	// MaxWait is how long a request may wait for the cloud, if the caller has no earlier deadline; 0: DefaultMaxWait.
	MaxWait time.Duration
}

// DefaultPoll is short in comparison with the time that the cloud takes.
const DefaultPoll = time.Second

// DefaultMaxWait is less than the timeouts that the charts give the sidecars.
const DefaultMaxWait = 50 * time.Second

// Controller is the controller service. It is safe for concurrent use.
type Controller struct {
	csi.UnimplementedControllerServer
	Options
	busy    request.Busy // the names and identities that requests work on
	started time.Time
	first   sync.Map // the machine that a volume was attached to first, by the identity of the volume
}

// New returns the controller service.
func New(o Options) *Controller {
	o.Poll, o.MaxWait = cmp.Or(o.Poll, DefaultPoll), cmp.Or(o.MaxWait, DefaultMaxWait)
	return &Controller{Options: o, started: time.Now()}
}

// ControllerGetCapabilities returns what the controller offers.
func (*Controller) ControllerGetCapabilities(context.Context,
	*csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	var all []*csi.ControllerServiceCapability
	for _, kind := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
		csi.ControllerServiceCapability_RPC_CLONE_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
		csi.ControllerServiceCapability_RPC_GET_VOLUME,
		csi.ControllerServiceCapability_RPC_GET_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_GET_VOLUME_HEALTH,
		csi.ControllerServiceCapability_RPC_LIST_VOLUME_HEALTH,
		csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		all = append(all, &csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{
			Rpc: &csi.ControllerServiceCapability_RPC{Type: kind}}})
	}
	return &csi.ControllerGetCapabilitiesResponse{Capabilities: all}, nil
}

// ValidateVolumeCapabilities confirms capabilities that the volume has.
func (c *Controller) ValidateVolumeCapabilities(ctx context.Context,
	r *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if err := request.Required("volume ID", r.GetVolumeId()); err != nil {
		return nil, err
	}
	if len(r.GetVolumeCapabilities()) == 0 {
		return nil, volume.CheckCapabilities(nil)
	}
	if _, err := c.volume(ctx, r.GetVolumeId(), listAge); err != nil {
		return nil, err
	}
	if err := volume.CheckCapabilities(r.GetVolumeCapabilities()); err != nil {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: status.Convert(err).Message()}, nil
	}
	return &csi.ValidateVolumeCapabilitiesResponse{
		Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
			VolumeContext: r.GetVolumeContext(), VolumeCapabilities: r.GetVolumeCapabilities(),
			Parameters: r.GetParameters(),
		},
	}, nil
}

// volume returns the volume with the identity, from a list at most maxAge old. The error is NotFound if there is none.
func (c *Controller) volume(ctx context.Context, id string, maxAge time.Duration) (resource.Volume, error) {
	v, found, err := c.Storage.Volume(ctx, id, maxAge)
	return existing(id, v, found, err)
}

// volumeItself is volume by a request for this volume alone.
func (c *Controller) volumeItself(ctx context.Context, id string, _ time.Duration) (resource.Volume, error) {
	v, found, err := c.Storage.ReadVolume(ctx, id)
	return existing(id, v, found, err)
}

// existing returns a volume that was looked for.
func existing(id string, v resource.Volume, found bool, err error) (resource.Volume, error) {
	if err != nil {
		return resource.Volume{}, unfinished(problemOf("reading volume "+id, err))
	}
	if !found {
		return resource.Volume{}, status.Errorf(codes.NotFound, "volume %s does not exist", id)
	}
	return v, nil
}
