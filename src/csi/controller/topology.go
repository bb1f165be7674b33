package controller

import (
	"context"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/topology"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// checkTopology returns a ResourceExhausted error if no requisite topology is in the region of the volumes and in one
// of its zones.
func (c *Controller) checkTopology(ctx context.Context, r *csi.TopologyRequirement) error {
	if len(r.GetRequisite()) == 0 {
		return nil
	}
	region, err := c.Region(ctx)
	if err != nil {
		return problemOf("looking up the region", err)
	}
	var others []string
	has := ""
	for _, one := range r.GetRequisite() {
		named, zone := topology.Region(one.GetSegments()), topology.Zone(one.GetSegments())
		if named != "" && named != region {
			others = append(others, named)
			continue
		}
		zones := c.zonesWithout(ctx, zone)
		if len(zones) == 0 {
			return nil
		}
		others = append(others, "zone "+zone)
		has = " with the zones " + strings.Join(zones, ", ")
	}
	slices.Sort(others)
	return status.Errorf(codes.ResourceExhausted, "volumes are created in region %s%s, and the request allows only "+
		"%s; correct allowedTopologies of the StorageClass", region, has, strings.Join(slices.Compact(others), ", "))
}

// zonesWithout returns the zones of the region if the zone is none of them; "" is any. A volume is created if they are
// not known, for example because the credentials may not read regions: then only the reason is missing why no pod can
// use it.
func (c *Controller) zonesWithout(ctx context.Context, zone string) []string {
	if zone == "" {
		return nil
	}
	has, zones, err := c.Storage.HasZone(ctx, zone)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("It is not checked whether the region has a zone", "zone", zone, "err", err)
	}
	if has {
		return nil
	}
	return zones
}

// accessibleFrom returns where a volume can be used. Zones are named only if the Nodes name theirs: a Node without a
// zone could not use the volume otherwise.
func (c *Controller) accessibleFrom(ctx context.Context, v resource.Volume,
	r *csi.TopologyRequirement) ([]*csi.Topology, error) {
	region, err := c.Region(ctx)
	if err != nil {
		return nil, problemOf("looking up the region", err)
	}
	zones := v.Zones
	named := func(t *csi.Topology) bool { return topology.Zone(t.GetSegments()) != "" }
	if !slices.ContainsFunc(r.GetRequisite(), named) {
		zones = nil
	}
	if len(zones) == 0 {
		return []*csi.Topology{{Segments: topology.Of(region, "")}}, nil
	}
	var all []*csi.Topology
	for _, zone := range zones {
		all = append(all, &csi.Topology{Segments: topology.Of(region, zone)})
	}
	return all, nil
}
