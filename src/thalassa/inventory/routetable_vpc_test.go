package inventory

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// TestTablesListedWithoutTheirVPC are read one by one: those of other VPCs are nobody's business, also where the cloud
// ignores the filter. Where it does not even show the VPC then, nothing is known.
func TestTablesListedWithoutTheirVPC(t *testing.T) {
	hide := func(table any) {
		if shown, is := table.(map[string]any); is {
			delete(shown, "vpc")
		}
	}
	inLists := func(_ *http.Request, answer any) any {
		if all, is := answer.([]any); is {
			for _, table := range all {
				hide(table)
			}
		}
		return answer
	}
	w := newRig(t, emulator.Config{Switches: emulator.Switches{IgnoredFilters: []string{"vpc"}}})
	far := w.post(iaas.RouteTableEndpoint, iaas.CreateRouteTable{Name: "far", VpcIdentity: otherVPC})
	w.behind(inLists)
	tables, err := w.RouteTables(t.Context(), time.Hour)
	if err != nil || len(tables) != 1 || tables[0].ID == far || !tables[0].Default {
		t.Errorf("tables %+v, error %v", tables, err)
	}
	w.behind(func(request *http.Request, answer any) any {
		hide(answer)
		return inLists(request, answer)
	})
	if tables, err := w.RouteTables(t.Context(), time.Hour); !errors.Is(err, client.ErrMalformed) {
		t.Errorf("tables %+v, error %v, want an ErrMalformed", tables, err)
	}
}
