package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// CreateVolume creates a volume, empty or from a snapshot or another volume, and waits until it is available. A volume
// that an earlier request created is found by its name and labels.
func (c *Controller) CreateVolume(ctx context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if err := request.Required("name", r.GetName()); err != nil {
		return nil, err
	}
	if err := volume.CheckCapabilities(r.GetVolumeCapabilities()); err != nil {
		return nil, err
	}
	for _, capability := range r.GetVolumeCapabilities() {
		if err := volume.CheckFilesystem(capability.GetMount().GetFsType()); err != nil {
			return nil, err
		}
	}
	parameters, err := volume.ParseParameters(r.GetParameters())
	if err != nil {
		return nil, err
	}
	end, err := c.busy.Begin("volume " + r.GetName())
	if err != nil {
		return nil, err
	}
	defer end()
	if parameters.Volume != "" {
		return c.adopt(ctx, parameters.Volume, r)
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	v, err := c.create(ctx, r, parameters)
	return c.createdUnless(ctx, c.finishClone(ctx, r, err), v, r)
}

// create finds or creates the volume, and waits until it is available. All that is needed only for a new volume is
// looked at after it is certain that there is none: the errors about it end the request, and the provisioner would
// forget a volume that an earlier request has created.
func (c *Controller) create(ctx context.Context, r *csi.CreateVolumeRequest,
	parameters volume.Parameters) (resource.Volume, error) {
	desired, err := asked(r)
	if err != nil {
		return resource.Volume{}, err
	}
	listed := time.Now()
	found, err := c.Storage.VolumesNamed(ctx, desired.Name, c.Poll)
	if err != nil {
		return resource.Volume{}, unfinished(problemOf("looking for volume "+desired.Name, err))
	}
	v, exists, err := volume.Choose(c.Owner, found)
	if err != nil {
		return resource.Volume{}, err
	}
	if exists {
		err = c.checkSame(ctx, desired, v, parameters)
	} else if err = c.checkEarlier(ctx, listed, volumeCreation(r.GetName(), r.GetParameters()),
		c.volumeTaken(desired.Name)); err == nil {
		v, err = c.createNew(ctx, r, desired, parameters)
	}
	if err != nil {
		return v, err
	}
	v, err = c.settle(ctx, v.ID, settling{action: "waiting for volume " + v.ID, write: c.replaceFailed,
		decide: func(v resource.Volume) (volume.Step, error) { return volume.Ready(v, time.Now()) }})
	return v, unfinished(err)
}

// asked returns what a request asks for, without what is looked up in the cloud.
func asked(r *csi.CreateVolumeRequest) (volume.Desired, error) {
	content := r.GetVolumeContentSource()
	if content != nil && content.GetSnapshot() == nil && content.GetVolume() == nil {
		return volume.Desired{}, status.Error(codes.InvalidArgument, "the volume content source is not known: want a "+
			"snapshot or a volume")
	}
	return volume.Desired{Name: volume.CloudName(r.GetName()), Required: r.GetCapacityRange().GetRequiredBytes(),
		Limit: r.GetCapacityRange().GetLimitBytes(), Snapshot: content.GetSnapshot().GetSnapshotId(),
		Source: content.GetVolume().GetVolumeId()}, nil
}

// checkSame returns an AlreadyExists error if the volume with the name is not the one that is asked for. Its type is
// not compared if the cloud does not offer the type any more, and its topology never is: the answer contains it, and
// after an error the provisioner would forget the volume.
func (c *Controller) checkSame(ctx context.Context, desired volume.Desired, v resource.Volume,
	parameters volume.Parameters) error {
	kind, err := c.Storage.Type(ctx, parameters.Type)
	switch {
	case err == nil:
		desired.Type = kind.ID
	case errors.Is(err, client.ErrBadRequest):
		desired.Type = v.Type
	default:
		return unfinished(problemOf("looking up the type of volume "+v.ID, err))
	}
	return desired.Same(v)
}

// createNew creates the volume, after what it is made from.
func (c *Controller) createNew(ctx context.Context, r *csi.CreateVolumeRequest, desired volume.Desired,
	parameters volume.Parameters) (resource.Volume, error) {
	if err := c.checkTopology(ctx, r.GetAccessibilityRequirements()); err != nil {
		return resource.Volume{}, err
	}
	kind, err := c.Storage.Type(ctx, parameters.Type)
	if err != nil {
		return resource.Volume{}, problemOf("parameter "+volume.ParameterType+" of the StorageClass", err)
	}
	content, err := c.content(ctx, r)
	if err != nil {
		return resource.Volume{}, err
	}
	size, err := volume.Size(r.GetCapacityRange(), content.Size)
	if err != nil {
		return resource.Volume{}, err
	}
	desired.Type, desired.Snapshot, desired.Size = kind.ID, content.ID, size
	return c.send(ctx, r, desired, parameters)
}

// replaceFailed deletes a volume that the cloud could not create. The error is Aborted, so that another one is created
// when the request is retried.
func (c *Controller) replaceFailed(ctx context.Context, v resource.Volume) error {
	if err := c.Storage.DeleteVolume(tracing.WithCause(ctx, "replace failed volume "+v.Name), v); err != nil {
		return err
	}
	return status.Errorf(codes.Aborted, "the cloud could not create volume %s (%s), and it was deleted; another one "+
		"is created when the request is retried", v.ID, v.Name)
}

// send creates the volume in the cloud.
func (c *Controller) send(ctx context.Context, r *csi.CreateVolumeRequest, desired volume.Desired,
	parameters volume.Parameters) (resource.Volume, error) {
	wanted := resource.Volume{Name: desired.Name, Size: desired.Size, Type: desired.Type, Snapshot: desired.Snapshot,
		Labels: c.labels(desired.Source), Description: describe(r),
		Annotations: resource.Labels{label.CSIDescription: describe(r)}}
	if desired.Snapshot != "" {
		wanted.Annotations[label.CSISnapshotName] = desired.Snapshot
	}
	if filesystem := filesystemOf(r, parameters); filesystem != "" {
		wanted.Annotations[label.CSIFilesystem] = filesystem
	}
	v, err := c.Storage.CreateVolume(tracing.WithCause(ctx, "create volume "+r.GetName()), wanted)
	if err != nil {
		return v, problemOf("creating volume "+desired.Name, err)
	}
	return v, nil
}

// labels returns the labels of a new object that is made from a volume; "" is none.
func (c *Controller) labels(source string) resource.Labels {
	labels := c.Owner.Labels()
	if source != "" {
		labels[label.CSISourceVolume] = source
	}
	return labels
}

// filesystemOf returns the filesystem that the request names; "" is none.
func filesystemOf(r *csi.CreateVolumeRequest, parameters volume.Parameters) string {
	for _, capability := range r.GetVolumeCapabilities() {
		if name := capability.GetMount().GetFsType(); name != "" {
			return name
		}
	}
	return parameters.Filesystem
}

// describe returns the description of a volume in the cloud. The external-provisioner adds these parameters if it is
// started with --extra-create-metadata.
func describe(r *csi.CreateVolumeRequest) string {
	claim, namespace := r.GetParameters()["csi.storage.k8s.io/pvc/name"],
		r.GetParameters()["csi.storage.k8s.io/pvc/namespace"]
	if claim == "" {
		return "Volume " + r.GetName()
	}
	const maxDescription = 255
	text := fmt.Sprintf("PersistentVolumeClaim %s/%s", namespace, claim)
	return text[:min(len(text), maxDescription)]
}

// created is the answer for a volume that exists.
func (c *Controller) created(ctx context.Context, v resource.Volume, r *csi.CreateVolumeRequest) (
	*csi.CreateVolumeResponse, error) {
	topology, err := c.accessibleFrom(ctx, v, r.GetAccessibilityRequirements())
	if err != nil {
		return nil, err
	}
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{
		VolumeId: v.ID, CapacityBytes: v.Size * resource.GiB, ContentSource: r.GetVolumeContentSource(),
		AccessibleTopology: topology, VolumeContext: c.Owner.Context(v),
	}}, nil
}

// adopt returns an existing volume, as the parameter volume-identity asks for. It gets the labels of this cluster.
func (c *Controller) adopt(ctx context.Context, id string, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse,
	error) {
	end, err := c.busy.Begin("volume " + id)
	if err != nil {
		return nil, err
	}
	defer end()
	if r.GetVolumeContentSource() != nil {
		return nil, status.Errorf(codes.InvalidArgument, "a volume with a source cannot use the existing volume %s; "+
			"remove the data source, or the parameter %s of the StorageClass", id, volume.ParameterVolume)
	}
	v, err := c.volume(ctx, id, c.Poll)
	if err != nil {
		return nil, err
	}
	if v.Deleting() {
		return nil, status.Errorf(codes.NotFound, "volume %s is being deleted", id)
	}
	if v.Size*resource.GiB < r.GetCapacityRange().GetRequiredBytes() {
		return nil, status.Errorf(codes.OutOfRange, "the existing volume %s has %d GiB, which is less than the %d "+
			"bytes that are required; resize it in the cloud, or request less", id, v.Size,
			r.GetCapacityRange().GetRequiredBytes())
	}
	if err := volume.CheckLimit(r.GetCapacityRange(), v.Size*resource.GiB); err != nil {
		return nil, err
	}
	adopted, err := c.Owner.Adopted(v, r.GetName())
	if err != nil || adopted {
		return c.createdUnless(ctx, err, v, r)
	}
	err = c.Storage.MarkVolume(tracing.WithCause(ctx, "adopt volume "+id), v, c.Owner.Labels(),
		resource.Labels{label.CSIAdoptedBy: r.GetName()})
	return c.createdUnless(ctx, problemOf("adding labels to volume "+id, err), v, r)
}

// createdUnless is created, or the error if there is one.
func (c *Controller) createdUnless(ctx context.Context, err error, v resource.Volume, r *csi.CreateVolumeRequest) (
	*csi.CreateVolumeResponse, error) {
	if err != nil {
		return nil, err
	}
	response, err := c.created(ctx, v, r)
	return response, unfinished(err)
}

// DeleteVolume deletes a volume of this cluster. It does not wait until the cloud has removed it.
func (c *Controller) DeleteVolume(ctx context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	id := r.GetVolumeId()
	if err := request.Required("volume ID", id); err != nil {
		return nil, err
	}
	end, err := c.busy.Begin("volume " + id)
	if err != nil {
		return nil, err
	}
	defer end()
	var deleted resource.Volume
	_, err = c.settle(ctx, id, settling{action: "deleting volume " + id,
		decide: func(v resource.Volume) (volume.Step, error) {
			deleted = v // the last look may find nothing
			if err := c.Owner.MayDelete("volume", v.ID, v.Labels); err != nil {
				return volume.Done, err
			}
			return volume.Delete(v)
		},
		write: func(ctx context.Context, v resource.Volume) error {
			return c.Storage.DeleteVolume(tracing.WithCause(ctx, "delete volume "+v.Name), v)
		},
	})
	if err != nil && status.Code(err) != codes.NotFound {
		return nil, err
	}
	c.first.Delete(id)
	return &csi.DeleteVolumeResponse{}, c.deleteCloneSnapshots(ctx, deleted)
}
