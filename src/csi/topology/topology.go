// Package topology has the keys of the topology of volumes and Nodes.
package topology

// Keys of segments. LegacyRegion is the key of the CSI driver that this one replaces: the PersistentVolumes that it
// created can be used only on Nodes with this key.
const (
	RegionKey    = "topology.kubernetes.io/region"
	ZoneKey      = "topology.kubernetes.io/zone"
	LegacyRegion = "region"
)

// Of returns the segments of a volume in a region, and in a zone if it is not empty.
func Of(region, zone string) map[string]string {
	segments := map[string]string{RegionKey: region}
	if zone != "" {
		segments[ZoneKey] = zone
	}
	return segments
}

// OfNode returns the segments of a Node: those of a volume, and the legacy key with its value.
func OfNode(region, zone, legacy string) map[string]string {
	segments := Of(region, zone)
	segments[LegacyRegion] = legacy
	return segments
}

// Region returns the region of segments; "" if they have none. The value of the legacy key is not compared with
// regions: the former driver accepted any name.
func Region(segments map[string]string) string { return segments[RegionKey] }

// Zone returns the zone of segments; "" if they have none.
func Zone(segments map[string]string) string { return segments[ZoneKey] }
