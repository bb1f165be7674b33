package emulator

import (
	"net/http"
	"strings"
	"testing"
)

// TestPrintedSeedsKeepTexts: what the emulator prints after requests can be read again, whatever texts it has.
func TestPrintedSeedsKeepTexts(t *testing.T) {
	e, err := NewDescribed(t, Config{Seed: DefaultSeed()})
	if err != nil {
		t.Fatal(err)
	}
	send(t, e, http.MethodPost, "/v1/cloudinits", "", `{"name":"a","content":"\techo hi\n\techo ho\n"}`)
	send(t, e, http.MethodPost, "/v1/quotas/increase-requests", "",
		`{"name":"vpcs","newMaxUsage":200000,"reason":"\u007f\u0080\ufffe"}`)
	before := printed(t, e)
	next := restarted(t, e, Config{})
	if after := printed(t, next); after != before {
		t.Errorf("%s\nbecame\n%s", before, after)
	}
	got := send(t, next, http.MethodGet, "/v1/cloudinits/a", "", "")
	if !strings.Contains(got, `"\techo hi\n\techo ho\n"`) {
		t.Errorf("the template is %s", got)
	}
}

// TestVolumeTypesInCapitals: requests and printed seeds name a volume type by its identity as it is.
func TestVolumeTypesInCapitals(t *testing.T) {
	seed := DefaultSeed()
	seed.VolumeTypes = append(seed.VolumeTypes, VolumeTypeSeed{Identity: "VT_Fast", Name: "Fast"})
	e, err := NewDescribed(t, Config{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	for _, reference := range []string{"VT_Fast", "Fast", "fast"} {
		send(t, e, http.MethodPost, "/v1/volumes", "", `{"name":"data","cloudRegionIdentity":"nl-01","size":1,`+
			`"volumeTypeIdentity":"`+reference+`"}`)
	}
	restarted(t, e, Config{})
}
