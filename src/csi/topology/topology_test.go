package topology

import (
	"maps"
	"testing"
)

func TestSegments(t *testing.T) {
	volume := map[string]string{RegionKey: "nl-01", ZoneKey: "nl-01a"}
	if got := Of("nl-01", "nl-01a"); !maps.Equal(got, volume) || Region(got) != "nl-01" || Zone(got) != "nl-01a" {
		t.Errorf("volume: %v, want %v", got, volume)
	}
	if got := Of("nl-01", ""); len(got) != 1 || Zone(got) != "" {
		t.Errorf("volume without a zone: %v, want its region", got)
	}
	if got := OfNode("nl-01", "nl-01a", "Amsterdam"); len(got) != 3 || got[LegacyRegion] != "Amsterdam" {
		t.Errorf("Node: %v, want the region by both keys, and the zone", got)
	}
	if got := Region(map[string]string{LegacyRegion: "Amsterdam"}); got != "" {
		t.Errorf("region of the legacy key is %q, want none", got)
	}
}
