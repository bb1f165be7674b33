package controller

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// ControllerExpandVolume makes a volume larger, and waits until the cloud has done so.
func (c *Controller) ControllerExpandVolume(ctx context.Context,
	r *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	id := r.GetVolumeId()
	if err := request.Required("volume ID", id); err != nil {
		return nil, err
	}
	if r.GetCapacityRange() == nil {
		return nil, request.Required("capacity range", "")
	}
	end, err := c.busy.Begin("volume " + id)
	if err != nil {
		return nil, err
	}
	defer end()
	v, err := c.volume(ctx, id, listAge)
	if err != nil {
		return nil, err
	}
	size, err := volume.ExpandedSize(r.GetCapacityRange(), v.Size)
	if err != nil {
		return nil, err
	}
	resizable, err := c.isResizable(ctx, v, size)
	if err != nil {
		return nil, err
	}
	v, err = c.settle(ctx, id, settling{action: "expanding volume " + id, once: true,
		decide: func(v resource.Volume) (step volume.Step, err error) {
			if err = c.Owner.MayUse(v); err == nil {
				size, err = volume.ExpandedSize(r.GetCapacityRange(), v.Size)
			}
			if err == nil {
				step, err = volume.Expand(v, size, resizable)
			}
			return step, retriedByResizer(err)
		},
		write: func(ctx context.Context, v resource.Volume) error {
			return c.Storage.ResizeVolume(tracing.WithCause(ctx, "expand volume "+v.Name), v, size)
		},
	})
	if err != nil {
		return nil, err
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: v.Size * resource.GiB,
		NodeExpansionRequired: r.GetVolumeCapability().GetBlock() == nil}, nil
}

// isResizable reports whether a volume can get the size, in GiB. The type is not looked up if the volume has the size.
func (c *Controller) isResizable(ctx context.Context, v resource.Volume, size int64) (bool, error) {
	if v.Size >= size || v.Type == "" {
		return true, nil
	}
	kind, err := c.Storage.Type(ctx, v.Type)
	if err != nil {
		return false, problemOf("looking up the type of volume "+v.ID, err)
	}
	return kind.AllowResize, nil
}

// retriedByResizer returns an error with another code than FailedPrecondition. csi-resizer understands that one as "the
// volume is in use", and does not try again before no pod uses the volume, also if the reason was another one.
func retriedByResizer(err error) error {
	if status.Code(err) != codes.FailedPrecondition {
		return err
	}
	return status.Error(codes.PermissionDenied, status.Convert(err).Message())
}
