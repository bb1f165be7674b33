package controller

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// ControllerGetVolumeHealth returns what is wrong with a volume in the cloud.
func (c *Controller) ControllerGetVolumeHealth(ctx context.Context,
	r *csi.ControllerGetVolumeHealthRequest) (*csi.ControllerGetVolumeHealthResponse, error) {
	if err := request.Required("volume ID", r.GetVolumeId()); err != nil {
		return nil, err
	}
	v, err := c.volume(ctx, r.GetVolumeId(), listAge)
	if err != nil {
		return nil, err
	}
	return &csi.ControllerGetVolumeHealthResponse{VolumeHealth: healthOf(v)}, nil
}

// ControllerListVolumeHealth returns the volumes with which something is wrong, in the order of their identities.
func (c *Controller) ControllerListVolumeHealth(ctx context.Context,
	r *csi.ControllerListVolumeHealthRequest) (*csi.ControllerListVolumeHealthResponse, error) {
	all, err := c.Storage.Volumes(ctx, listAge)
	if err != nil {
		return nil, problemOf("listing volumes", err)
	}
	var abnormal []*csi.VolumeHealth
	for _, v := range all {
		if health := healthOf(v); len(health.GetHealthStatuses()) > 0 {
			abnormal = append(abnormal, health)
		}
	}
	page, next, err := paginate(abnormal, (*csi.VolumeHealth).GetVolumeId, r.GetStartingToken(), r.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	return &csi.ControllerListVolumeHealthResponse{Entries: page, NextToken: next}, nil
}

func healthOf(v resource.Volume) *csi.VolumeHealth {
	health := &csi.VolumeHealth{VolumeId: v.ID}
	if v.Status == resource.VolumeFailed {
		health.HealthStatuses = []*csi.VolumeHealth_VolumeHealthEntry{{
			Status: csi.VolumeHealthErrorType_INACCESSIBLE, Reason: "VolumeFailed",
			Message: "The cloud reports that the volume failed. Ask the cloud's support.",
		}}
	}
	return health
}
