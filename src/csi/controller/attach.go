package controller

import (
	"context"
	"errors"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// attachmentOf describes an attachment. Another cluster may have a Node with the same name.
func (c *Controller) attachmentOf(node string) string {
	return "Node " + node + c.ofCluster()
}

func (c *Controller) ofCluster() string { return " of cluster " + c.Owner.Cluster }

// ControllerPublishVolume attaches a volume to the machine of a Node, and waits until it is attached.
func (c *Controller) ControllerPublishVolume(ctx context.Context,
	r *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	id, node := r.GetVolumeId(), r.GetNodeId()
	if err := checkPublish(r); err != nil {
		return nil, err
	}
	end, err := c.busy.Begin("volume " + id)
	if err != nil {
		return nil, err
	}
	defer end()
	if _, err := c.volume(ctx, id, listAge); err != nil {
		return nil, err
	}
	machine, err := c.Nodes.Machine(ctx, node)
	if err != nil {
		return nil, problemOf("looking up the machine of Node "+node, err)
	}
	v, err := c.settle(ctx, id, settling{action: "attaching volume " + id + " to Node " + node, once: true,
		confirm: true,
		decide: func(v resource.Volume) (volume.Step, error) {
			if err := c.Owner.MayUse(v); err != nil {
				return volume.Done, err
			}
			step, err := volume.Attach(v, machine)
			return step, c.withHolder(ctx, err, v, machine)
		},
		write: func(ctx context.Context, v resource.Volume) error {
			err := c.Storage.AttachVolume(tracing.WithCause(ctx, "attach volume to Node "+node), v, machine,
				c.attachmentOf(node))
			return c.orFull(ctx, err, v, machine, node)
		},
	})
	if err != nil {
		return nil, err
	}
	published, err := c.publishContext(ctx, v, machine, r.GetVolumeContext())
	if err != nil {
		return nil, err
	}
	return &csi.ControllerPublishVolumeResponse{PublishContext: published}, nil
}

// withHolder adds to the error that another machine has the volume, which Node that machine is.
func (c *Controller) withHolder(ctx context.Context, err error, v resource.Volume, machine string) error {
	held, inUse := v.InUse()
	if !inUse || held.Machine == machine || status.Code(err) != codes.FailedPrecondition {
		return err
	}
	names, problem := c.Nodes.Names(ctx)
	if problem != nil || names[held.Machine] == "" {
		return err
	}
	return status.Errorf(codes.FailedPrecondition, "%s; machine %s is that of Node %s", status.Convert(err).Message(),
		held.Machine, names[held.Machine])
}

// checkPublish returns an InvalidArgument error for a request that cannot be served.
func checkPublish(r *csi.ControllerPublishVolumeRequest) error {
	if err := request.Required("volume ID", r.GetVolumeId()); err != nil {
		return err
	}
	if err := request.Required("node ID", r.GetNodeId()); err != nil {
		return err
	}
	if r.GetReadonly() {
		return status.Errorf(codes.InvalidArgument, "volume %s: a volume cannot be attached read-only; mount it "+
			"read-only in the pod instead", r.GetVolumeId())
	}
	return volume.CheckCapability(r.GetVolumeCapability())
}

// orFull returns the error of an attachment, or a ResourceExhausted error if the cloud refused it and the machine has
// as many volumes as its Node may have. The cloud does not say why it refuses, so the volumes are counted. Those that
// are being detached do not count, because there is room for another one soon.
func (c *Controller) orFull(ctx context.Context, err error, wanted resource.Volume, machine, node string) error {
	if !refused(err) || c.Kubernetes == nil {
		return err
	}
	all, listErr := c.Storage.VolumesOf(ctx, machine)
	limit, limitErr := c.Kubernetes.VolumeLimit(ctx, node, c.Owner.Driver)
	if problem := errors.Join(listErr, limitErr); problem != nil {
		klog.FromContext(ctx).Error(problem, "It is not known whether the machine of the Node has room for a volume",
			"node", node, "volume", wanted.ID)
	}
	if listErr != nil || limitErr != nil || limit == 0 {
		return err
	}
	count := 0
	for _, v := range all {
		held, inUse := v.InUse()
		if inUse && v.ID == wanted.ID {
			return err // it was refused because somebody attached it meanwhile
		}
		if inUse && held.Machine == machine && !v.Root {
			count++
		}
	}
	if count < limit {
		return err
	}
	return status.Errorf(codes.ResourceExhausted, "attaching volume %s to Node %s: machine %s has %d volumes, and the "+
		"limit of the Node is %d; delete a pod with a volume on this Node, or let the pod run on another one",
		wanted.ID, node, machine, count, limit)
}

// ControllerUnpublishVolume detaches a volume from the machine of a Node, or from all machines of this cluster if no
// Node is named, and waits until it is detached. A volume that does not exist is detached.
func (c *Controller) ControllerUnpublishVolume(ctx context.Context,
	r *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	id, node := r.GetVolumeId(), r.GetNodeId()
	if err := request.Required("volume ID", id); err != nil {
		return nil, err
	}
	end, err := c.busy.Begin("volume " + id)
	if err != nil {
		return nil, err
	}
	defer end()
	ours, err := c.holders(ctx, node)
	if err != nil {
		return nil, err
	}
	var machine string
	_, err = c.settle(ctx, id, settling{action: "detaching volume " + id + " from Node " + node, confirm: true,
		decide: func(v resource.Volume) (step volume.Step, err error) {
			machine, step = volume.Detach(v, func(a resource.Attachment) bool { return ours(v, a) })
			return step, nil
		},
		write: func(ctx context.Context, v resource.Volume) error {
			return c.Storage.DetachVolume(tracing.WithCause(ctx, "detach volume from Node "+node), v, machine)
		},
	})
	if err != nil && status.Code(err) != codes.NotFound {
		return nil, err
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

// holders returns which attachments end if a volume is detached from a Node, or those of this cluster if no Node is
// named. Of a Node, these are the ones to its machine, and those that this driver made for it to a machine that no
// other Node runs on. If the machine of the Node does not exist or is not known, for example because the Node belongs
// to another cloud now, an attachment without description also counts, which the former driver may have made. A volume
// that another Node has got meanwhile, or that another cluster or a person attached elsewhere, stays there.
func (c *Controller) holders(ctx context.Context, node string) (ours func(resource.Volume, resource.Attachment) bool,
	err error) {
	names, err := c.Nodes.Names(ctx)
	if err != nil {
		return nil, problemOf("looking up the machines of all Nodes", err)
	}
	if node == "" {
		return func(v resource.Volume, a resource.Attachment) bool {
			return names[a.Machine] != "" || strings.HasSuffix(a.Description, c.ofCluster()) ||
				c.Owner.MayDelete("volume", v.ID, v.Labels) == nil
		}, nil
	}
	machine, err := c.Nodes.Machine(ctx, node)
	if code := status.Code(err); err != nil && code != codes.NotFound && code != codes.FailedPrecondition {
		return nil, problemOf("looking up the machine of Node "+node, err)
	}
	return func(v resource.Volume, a resource.Attachment) bool {
		switch {
		case machine != "" && a.Machine == machine:
			return true
		case names[a.Machine] != "" && names[a.Machine] != node:
			return false
		case a.Description == c.attachmentOf(node):
			return true
		}
		// Earlier versions did not name the cluster, and the former driver wrote nothing.
		former := a.Description == "Node "+node || machine == "" && a.Description == ""
		return former && c.Owner.MayDelete("volume", v.ID, v.Labels) == nil
	}, nil
}

// refused reports whether the cloud refused a write, possibly on account of an object's state. Which status says so is
// not documented.
func refused(err error) bool {
	return errors.Is(err, client.ErrConflict) || errors.Is(err, client.ErrBadRequest)
}
