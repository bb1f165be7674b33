package inventory

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
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

// TestReplacedRoutesAreKept: what a table was given is in the copy although lists are behind, whatever the write is
// answered with.
func TestReplacedRoutesAreKept(t *testing.T) {
	const read = "GET /v1/route-tables/{id}"
	answers := map[string]struct {
		answer func(any) any
		reads  int
	}{
		"with the routes": {func(answer any) any { return answer }, 1},
		"with nothing":    {func(any) any { return map[string]any{} }, 2},
		"with others":     {func(any) any { return []any{} }, 2},
		"without identities": {func(answer any) any {
			for _, one := range answer.([]any) {
				delete(one.(map[string]any), "identity")
			}
			return answer
		}, 2},
	}
	for name, tt := range answers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRig(t, emulator.Config{})
				w.behind(func(request *http.Request, answer any) any {
					if request.Method == http.MethodPut {
						return tt.answer(answer)
					}
					return answer
				})
				table := w.defaultTable()
				w.route(table, "10.244.9.0/24", "10.0.0.9")
				<-time.After(time.Minute)
				w.calls("")
				w.injectFault(listTables, 0, fault.Effect{Kind: fault.Stale, Delay: 20 * time.Second})
				added :=
					map[netip.Prefix]netip.Addr{netip.MustParsePrefix("10.244.1.0/24"): netip.MustParseAddr("10.0.0.5"),
						netip.MustParsePrefix("10.244.2.0/24"): netip.MustParseAddr("10.0.0.6")}
				w.ok(w.ReplaceRoutes(t.Context(), table, func(Route) bool { return false }, added))
				if reads := w.calls(read); reads != tt.reads {
					t.Errorf("the table is read %d times, want %d", reads, tt.reads)
				}
				const want = "10.244.1.0/24 by 10.0.0.5, 10.244.2.0/24 by 10.0.0.6"
				if got := w.ways(table, time.Hour); got != want {
					t.Errorf("routes %q, want %q", got, want)
				}
				if lists := w.calls(listTables); lists != 0 {
					t.Errorf("%d lists although all is known", lists)
				}
				if got := w.ways(table, Fresh); !strings.Contains(got, "10.244.1.0/24 by 10.0.0.5") ||
					!strings.Contains(got, "10.244.2.0/24 by 10.0.0.6") {
					t.Errorf("routes by a list that is behind: %q", got)
				}
			})
		})
	}
}
