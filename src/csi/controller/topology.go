package controller

import (
	"context"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/topology"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// checkTopology returns a ResourceExhausted error if no requisite topology is in the region of the volumes.
func (c *Controller) checkTopology(ctx context.Context, r *csi.TopologyRequirement) error {
	if len(r.GetRequisite()) == 0 {
		return nil
	}
	region, err := c.Region(ctx)
	if err != nil {
		return problemOf("looking up the region", err)
	}
	var others []string
	for _, one := range r.GetRequisite() {
		named := topology.Region(one.GetSegments())
		if named == "" || named == region {
			return nil
		}
		others = append(others, named)
	}
	slices.Sort(others)
	return status.Errorf(codes.ResourceExhausted, "volumes are created in region %s, and the request allows only %s; "+
		"correct allowedTopologies of the StorageClass", region, strings.Join(slices.Compact(others), ", "))
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
