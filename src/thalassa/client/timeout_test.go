package client

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowNetwork answers at once, with a list whose items arrive one by one.
type slowNetwork struct {
	items       int
	every, last time.Duration // before each item, and before the end
}

// RoundTrip answers with the list.
func (n slowNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(&slowBody{slowNetwork: n, ctx: request.Context()})}, nil
}

type slowBody struct {
	slowNetwork
	ctx  context.Context //nolint:containedctx // of the request, as in a body of net/http
	sent int
}

// Read returns the next item.
func (b *slowBody) Read(into []byte) (int, error) {
	pause, text := b.every, `,{"identity": "a"}`
	switch b.sent++; {
	case b.sent == 1:
		text = "[" + text[1:]
	case b.sent == b.items+1:
		pause, text = b.last, "]"
	case b.sent > b.items:
		return 0, io.EOF
	}
	select {
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	case <-time.After(pause):
		return copy(into, text), nil
	}
}

// TestTimeoutOfLists: a list may take longer than other calls while it arrives, but not for ever.
func TestTimeoutOfLists(t *testing.T) {
	const s = time.Second
	for name, tt := range map[string]struct {
		network slowNetwork
		takes   time.Duration
		want    string // of the error
	}{
		"a slow list":         {slowNetwork{10, 25 * s, 0}, 250 * s, ""},
		"nothing arrives":     {slowNetwork{1, 40 * s, 0}, 30 * s, "no answer within 30s"},
		"it stops":            {slowNetwork{3, 20 * s, 60 * s}, 90 * s, "raise api.callTimeout"},
		"it takes very long":  {slowNetwork{20, 20 * s, 0}, 300 * s, "longer than 5m0s"},
		"its end is too late": {slowNetwork{14, 20 * s, 25 * s}, 300 * s, "longer than 5m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, Options{Network: tt.network})
				began := time.Now()
				got, err := List(t.Context(), c, "/v1/things", nil, identityOf)
				if took := time.Since(began); took != tt.takes {
					t.Errorf("it took %s, want %s", took, tt.takes)
				}
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				if err == nil && len(got) != tt.network.items {
					t.Errorf("%d items, want %d", len(got), tt.network.items)
				}
			})
		})
	}
}

// TestTimeoutOfOtherCalls: only a list gets more time.
func TestTimeoutOfOtherCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, Options{Network: slowNetwork{items: 2, every: 20 * time.Second}})
		began := time.Now()
		if _, err := Get[[]thing](t.Context(), c, "/v1/things/a"); err == nil || time.Since(began) != 30*time.Second {
			t.Errorf("after %s: %v, want an error after 30s", time.Since(began), err)
		}
	})
}

// outageNetwork fails until the outage is over. Then a list is slow, and other calls are answered at once.
type outageNetwork struct{ over *atomic.Bool }

// RoundTrip makes one call.
func (n outageNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	switch {
	case !n.over.Load():
		return nil, io.ErrUnexpectedEOF
	case request.URL.Path == "/v1/things":
		return slowNetwork{10, 20 * time.Second, 0}.RoundTrip(request)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"identity": "a"}`))}, nil
}

// TestListDoesNotKeepTheCircuitHalfOpen: if a list is the first call after an outage, others do not wait for its end.
func TestListDoesNotKeepTheCircuitHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over atomic.Bool
		c := connect(t, Options{Network: outageNetwork{&over}})
		for range outageAfter {
			_, _ = Get[thing](t.Context(), c, "/v1/things/a")
		}
		over.Store(true)
		<-time.After(openFor)
		ended := make(chan error, 1)
		go func() {
			_, err := List(t.Context(), c, "/v1/things", nil, identityOf)
			ended <- err
		}()
		<-time.After(time.Minute)
		if _, err := Get[thing](t.Context(), c, "/v1/things/a"); err != nil {
			t.Errorf("while the list arrives: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the list: %v", err)
		}
	})
}
