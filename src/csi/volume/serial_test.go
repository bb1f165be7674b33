package volume

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

func TestSimilarSerials(t *testing.T) {
	const beginning = "v-0123456789abcdefgh"
	for _, c := range []struct {
		a, b         string // identities
		serialA      string
		serialB      string
		wantsSimilar bool
	}{
		{a: beginning + "ij", b: beginning + "kl", wantsSimilar: true},
		{a: beginning, b: beginning + "kl", wantsSimilar: true},
		{a: beginning[:19] + "i", b: beginning[:19] + "k"},
		{a: "v-1", b: "v-12"},
		{a: "v-1", b: "v-2", serialA: beginning + "ij", serialB: beginning + "kl", wantsSimilar: true},
		{a: "v-1", b: beginning + "kl", serialA: beginning + "ij", wantsSimilar: true},
	} {
		a := resource.Volume{ID: c.a, Attachments: []resource.Attachment{{Serial: c.serialA}}}
		b := resource.Volume{ID: c.b, Attachments: []resource.Attachment{{Serial: c.serialB}}}
		if SimilarSerials(a, b) != c.wantsSimilar || SimilarSerials(b, a) != c.wantsSimilar {
			t.Errorf("%+v: the serial numbers are similar: %v", c, SimilarSerials(a, b))
		}
	}
}
