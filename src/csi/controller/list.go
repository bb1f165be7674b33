package controller

import (
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/request"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// ListVolumes returns the volumes of this cluster in the order of their identities, with the Nodes that have them. It
// includes volumes that this driver did not create, because PersistentVolumes can refer to them, once somebody has
// asked for them by identity. csi-attacher publishes a volume again that is attached and missing here, and does not
// detach it. So a process that has just started returns all volumes that are attached after the first round.
func (c *Controller) ListVolumes(ctx context.Context, r *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	all, err := c.Storage.Volumes(ctx, listAge)
	if err != nil {
		return nil, problemOf("listing volumes", err)
	}
	all = slices.DeleteFunc(all, resource.Volume.Deleting)
	page, next, err := paginate(all, func(v resource.Volume) string { return v.ID }, r.GetStartingToken(),
		r.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	names, err := c.Nodes.Names(ctx)
	if err != nil {
		return nil, problemOf("looking up the machines of all Nodes", err)
	}
	response := &csi.ListVolumesResponse{NextToken: next}
	for _, v := range page {
		response.Entries = append(response.Entries, &csi.ListVolumesResponse_Entry{
			Volume: &csi.Volume{VolumeId: v.ID, CapacityBytes: v.Size * resource.GiB},
			Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: published(v, names)},
		})
	}
	return response, nil
}

// ControllerGetVolume returns a volume and the Node that has it.
func (c *Controller) ControllerGetVolume(ctx context.Context,
	r *csi.ControllerGetVolumeRequest) (*csi.ControllerGetVolumeResponse, error) {
	if err := request.Required("volume ID", r.GetVolumeId()); err != nil {
		return nil, err
	}
	v, err := c.volume(ctx, r.GetVolumeId(), listAge)
	if err != nil {
		return nil, err
	}
	names, err := c.Nodes.Names(ctx)
	if err != nil {
		return nil, problemOf("looking up the machines of all Nodes", err)
	}
	return &csi.ControllerGetVolumeResponse{
		Volume: &csi.Volume{VolumeId: v.ID, CapacityBytes: v.Size * resource.GiB},
		Status: &csi.ControllerGetVolumeResponse_VolumeStatus{PublishedNodeIds: published(v, names)},
	}, nil
}

// published returns the names of the Nodes that have the volume. Nodes that are getting or losing it do not count.
func published(v resource.Volume, names map[string]string) []string {
	var nodes []string
	for _, attachment := range v.Attachments {
		name := names[attachment.Machine]
		if name != "" && v.Status == resource.VolumeAttached && !attachment.Detaching {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

// tokenPrefix begins the tokens of pages; the identity of the page's last object follows. Objects that are created or
// deleted between two pages do not move others to another page.
const tokenPrefix = "after:"

// paginate returns the objects after the token, which are sorted by identity, and the token of the next page. limit 0
// is none. The error is Aborted for a token that no response had, as the specification says.
func paginate[T any](all []T, id func(T) string, token string, limit int32) (page []T, next string, err error) {
	if limit < 0 {
		return nil, "", status.Errorf(codes.InvalidArgument, "max entries is %d; want 0 or more", limit)
	}
	if token != "" {
		last, ours := strings.CutPrefix(token, tokenPrefix)
		if !ours {
			return nil, "", status.Errorf(codes.Aborted, "starting token %q is not one of this driver; list from the "+
				"beginning", token)
		}
		all = all[sort.Search(len(all), func(i int) bool { return id(all[i]) > last }):]
	}
	if limit == 0 || int(limit) >= len(all) {
		return all, "", nil
	}
	return all[:limit], tokenPrefix + id(all[limit-1]), nil
}
