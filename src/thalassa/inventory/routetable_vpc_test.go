package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// rewritten changes the JSON of answers.
type rewritten struct {
	next   http.RoundTripper
	change func(request *http.Request, answer any) any
}

// RoundTrip implements http.RoundTripper.
func (r rewritten) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil || !strings.HasPrefix(request.URL.Path, "/v1/route-tables") {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	var answer any
	if json.Unmarshal(body, &answer) == nil {
		if body, err = json.Marshal(r.change(request, answer)); err != nil {
			return nil, err
		}
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("Content-Length")
	return response, nil
}

// behind makes an inventory that knows nothing of what was before, in front of a cloud whose answers are changed.
func (w *rig) behind(change func(request *http.Request, answer any) any) {
	w.Helper()
	api, err := client.New(client.Options{
		Endpoint: "http://cloud.test", Organisation: emulator.DefaultOrganisationSlug,
		Network: rewritten{w.emulator.Transport(), change},
		Secrets: secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: emulator.DefaultToken}},
	})
	w.ok(err)
	w.Inventory = New(api, Scope{VPC: emulator.DefaultVPC})
}

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
