package client

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// handlerNetwork answers calls by calling a handler.
type handlerNetwork http.HandlerFunc

func (h handlerNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	recorder := httptest.NewRecorder()
	if request.Body == nil {
		request.Body = http.NoBody // as a server would see it
	}
	h(recorder, request)
	return recorder.Result(), nil
}

// connect returns a client of a cloud; without others, of http://cloud.test with a token.
func connect(t *testing.T, o Options) *Client {
	t.Helper()
	o.Endpoint = cmp.Or(o.Endpoint, "http://cloud.test")
	o.Secrets.Credentials = cmp.Or(o.Secrets.Credentials, secret.Credentials{PersonalAccessToken: "pat"})
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newClient(t *testing.T, credentials secret.Credentials, handler http.HandlerFunc) *Client {
	t.Helper()
	return connect(t, Options{Organisation: "acme", Project: "p-1", UserAgent: "agent/1",
		Secrets: secret.Secrets{Credentials: credentials}, Network: handlerNetwork(handler)})
}

// patClient returns a client with a personal access token.
func patClient(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	return newClient(t, secret.Credentials{PersonalAccessToken: "pat"}, handler)
}

func sendJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func TestHeaders(t *testing.T) {
	var got http.Header
	c := patClient(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		sendJSON(w, http.StatusOK, `{"identity": "vpc-1"}`)
	})
	if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]string{
		"Authorization": "Token pat", "X-Organisation-Identity": "acme", "X-Project-Identity": "p-1",
		"User-Agent": "agent/1",
	} {
		if got.Get(header) != want {
			t.Errorf("%s = %q, want %q", header, got.Get(header), want)
		}
	}
}

func TestErrorsSayWhatTheyAre(t *testing.T) {
	tests := []struct {
		status int
		body   string
		kind   error
		want   string
		ill    bool // speaks against the cloud or the credentials
	}{
		{400, `{"message": "name is too long"}`, ErrBadRequest,
			"GET /v1/vpcs/vpc-1: refused by the cloud (HTTP 400): name is too long", false},
		{422, `{"message": "no"}`, ErrBadRequest, "GET /v1/vpcs/vpc-1: refused by the cloud (HTTP 422): no", false},
		{401, `{"message": "bad token"}`, ErrUnauthorised,
			"GET /v1/vpcs/vpc-1: not permitted (HTTP 401): bad token; check cloudCredentials and organisation in the " +
				"cloud-config, and the credential's permissions",
			true},
		{403, ``, ErrUnauthorised,
			"GET /v1/vpcs/vpc-1: not permitted (HTTP 403); check cloudCredentials and organisation in the " +
				"cloud-config, and the credential's permissions",
			true},
		{404, `{"message": "no such VPC"}`, ErrNotFound,
			"GET /v1/vpcs/vpc-1: not found (HTTP 404): no such VPC", false},
		{409, `{"message": "quota for load balancers reached: 10 of 10"}`, ErrQuota,
			"GET /v1/vpcs/vpc-1: quota exceeded (HTTP 409): quota for load balancers reached: 10 of 10; delete " +
				"objects that are not needed, or ask the cloud's support for a higher quota",
			false},
		{403, `{"message": "Quota exceeded"}`, ErrQuota,
			"GET /v1/vpcs/vpc-1: quota exceeded (HTTP 403): Quota exceeded; delete objects that are not needed, or " +
				"ask the cloud's support for a higher quota",
			false},
		{501, `{"message": "not served"}`, ErrBadRequest,
			"GET /v1/vpcs/vpc-1: refused by the cloud (HTTP 501): not served", false},
		{409, `{}`, ErrConflict,
			"GET /v1/vpcs/vpc-1: in conflict with the object's state (HTTP 409): {}; it is retried automatically; if " +
				"the problem persists, check in the cloud what uses or changes the object",
			false},
		{429, `{"message": "slow down"}`, ErrThrottled,
			"GET /v1/vpcs/vpc-1: throttled (HTTP 429): slow down; it is retried automatically", false},
		{503, "<html>\n  gone fishing", ErrUnavailable, "GET /v1/vpcs/vpc-1: cloud API unavailable (HTTP 503): " +
			"<html> gone fishing; it is retried automatically; if the problem persists, ask the cloud's support", true},
		{500, `{}`, ErrUnavailable,
			"GET /v1/vpcs/vpc-1: cloud API unavailable (HTTP 500): {}; it is retried automatically; if the problem " +
				"persists, ask the cloud's support",
			true},
		{408, ``, ErrUnavailable,
			"GET /v1/vpcs/vpc-1: cloud API unavailable (HTTP 408); it is retried automatically; if the problem " +
				"persists, ask the cloud's support",
			true},
		{200, `{7`, ErrMalformed,
			"GET /v1/vpcs/vpc-1: malformed answer (HTTP 200): the answer is no valid JSON; check that endpoint in " +
				"the cloud-config is the cloud's API, and that no proxy answers instead of it",
			false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status, tt.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := patClient(t, func(w http.ResponseWriter, _ *http.Request) {
					sendJSON(w, tt.status, tt.body)
				})
				_, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1")
				if !errors.Is(err, tt.kind) || err.Error() != tt.want {
					t.Errorf("error = %v,\nwant %s", err, tt.want)
				}
				if (c.Err() != nil) != tt.ill {
					t.Errorf("Err() = %v, want trouble %v", c.Err(), tt.ill)
				}
			})
		})
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	tests := map[string]struct {
		answer http.HandlerFunc
		kind   error
	}{
		"empty": {func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, http.StatusOK, "")
		}, ErrMalformed},
		"no content": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}, ErrMalformed},
		"broken JSON": {func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, http.StatusOK, `{"iden`) },
			ErrMalformed},
		"gateway's 404": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "404 page not found", http.StatusNotFound)
		}, ErrMalformed},
		"API's bare 404": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
		}, ErrNotFound},
		"another content type": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
		}, ErrMalformed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := patClient(t, tt.answer)
				if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); !errors.Is(err, tt.kind) {
					t.Errorf("error = %v, want kind %v", err, tt.kind)
				}
			})
		})
	}
}

// TestMalformedAnswerAboutOneObject: it is no outage, and does not end one. A page or a malformed list is an outage: a
// proxy answers.
func TestMalformedAnswerAboutOneObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, kind := `{"identity": 7}`, "application/json"
		c := patClient(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		})
		get := func() {
			if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); !errors.Is(err, ErrMalformed) {
				t.Errorf("error %v, want a malformed answer", err)
			}
		}
		get()
		if err := c.Err(); err != nil {
			t.Errorf("after a malformed object: %v", err)
		}
		kind = "text/html"
		get()
		if c.Err() == nil {
			t.Error("a page of a proxy is no outage")
		}
		kind = "application/json"
		get()
		if c.Err() == nil {
			t.Error("a malformed object has ended an outage")
		}
	})
}

// TestRedirectsAreNotFollowed: the credentials would travel along, and a PUT or DELETE would become a GET.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var calls []string
	c := patClient(t, func(w http.ResponseWriter, r *http.Request) {
		calls = append(calls, r.Method+" "+r.URL.Host)
		w.Header().Set("Location", "http://elsewhere.test"+r.URL.Path)
		sendJSON(w, http.StatusMovedPermanently, "{}")
	})
	err := Delete(t.Context(), c, iaas.VpcEndpoint+"/vpc-1")
	if !errors.Is(err, ErrMalformed) ||
		!strings.Contains(err.Error(), "redirects to http://elsewhere.test/v1/vpcs/vpc-1; set endpoint") {
		t.Errorf("error = %v, want one that says what to do", err)
	}
	if len(calls) != 1 || calls[0] != "DELETE cloud.test" {
		t.Errorf("calls = %v, want the one that was asked for", calls)
	}
}

func TestRevokedTokenIsFetchedAnew(t *testing.T) {
	issued := 0
	c := newClient(t, secret.Credentials{ClientID: "id", ClientSecret: "secret"},
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/oidc/token" {
				issued++
				sendJSON(w, http.StatusOK, fmt.Sprintf(`{"access_token": "at-%d", "token_type": "Bearer"}`, issued))
				return
			}
			if r.Header.Get("Authorization") != "Bearer at-2" {
				sendJSON(w, http.StatusUnauthorized, `{"message": "revoked"}`)
				return
			}
			sendJSON(w, http.StatusOK, `{"identity": "vpc-1"}`)
		})
	if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); err != nil || issued != 2 {
		t.Errorf("the call = %v with %d tokens; want that it fetches a new token and is made again", err, issued)
	}
}

// TestHangingTokenEndpointKeepsDeadlines: workers have deadlines of their own.
func TestHangingTokenEndpointKeepsDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, secret.Credentials{ClientID: "id", ClientSecret: "secret"}, nil)
		c.transport.access.Store(&access{network: hangingNetwork{}, credentials: authorize(
			secret.Credentials{ClientID: "id", ClientSecret: "secret"}, "http://cloud.test", hangingNetwork{})})
		began := time.Now()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := Get[iaas.Vpc](ctx, c, iaas.VpcEndpoint+"/vpc-1"); !errors.Is(err, ErrUnavailable) {
					t.Errorf("error = %v", err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("ten callers with a second each took %s", took)
		}
		<-time.After(2 * tokenTimeout) // the fetch itself ends too
	})
}

// TestForbiddenCallKeepsTheToken: one operation that is not allowed says nothing against the token.
func TestForbiddenCallKeepsTheToken(t *testing.T) {
	issued, tokenStatus := 0, http.StatusOK
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oidc/token" {
			issued++
			sendJSON(w, tokenStatus, `{"access_token": "at", "token_type": "Bearer", "expires_in": 3600}`)
			return
		}
		sendJSON(w, http.StatusForbidden, `{"message": "read only"}`)
	}
	c := newClient(t, secret.Credentials{ClientID: "id", ClientSecret: "secret"}, handler)
	for range 5 {
		if err := Delete(t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); !errors.Is(err, ErrUnauthorised) {
			t.Errorf("error = %v", err)
		}
	}
	if issued != 1 {
		t.Errorf("%d tokens for 5 forbidden calls, want 1", issued)
	}

	tokenStatus = http.StatusTooManyRequests
	synctest.Test(t, func(t *testing.T) {
		busy := newClient(t, secret.Credentials{ClientID: "id", ClientSecret: "secret"}, handler)
		if _, err := Get[iaas.Vpc](t.Context(), busy, iaas.VpcEndpoint+"/vpc-1"); !errors.Is(err, ErrThrottled) {
			t.Errorf("error = %v; a busy token endpoint is not a wrong credential", err)
		}
	})
}

func TestTruncatedAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `[{"identity": "m-1"}]`)
	}))
	defer server.Close()
	c := connect(t, Options{Endpoint: server.URL,
		CallTimeout: 300 * time.Millisecond})
	if machines, err := List(t.Context(), c, iaas.MachineEndpoint, nil, identityOf); !errors.Is(err, ErrUnavailable) ||
		!strings.Contains(err.Error(), "check the network") {
		t.Errorf("half a list was taken for %d machines, error %v", len(machines), err)
	}
}

type hangingNetwork struct{}

func (hangingNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, context.Cause(request.Context())
}

func TestClientCredentials(t *testing.T) {
	var tokens atomic.Int32
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oidc/token" {
			tokens.Add(1)
			if want := "Basic " +
				base64.StdEncoding.EncodeToString([]byte("id:secret")); r.Header.Get("Authorization") != want {
				sendJSON(w, http.StatusUnauthorized, `{"error": "invalid_client"}`)
				return
			}
			sendJSON(w, http.StatusOK, `{"access_token": "at", "token_type": "Bearer", "expires_in": 3600}`)
			return
		}
		if r.Header.Get("Authorization") != "Bearer at" {
			sendJSON(w, http.StatusUnauthorized, `{"message": "bad token"}`)
			return
		}
		sendJSON(w, http.StatusOK, `{"identity": "vpc-1"}`)
	}
	c := newClient(t, secret.Credentials{ClientID: "id", ClientSecret: "secret"}, handler)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := tokens.Load(); got != 1 {
		t.Errorf("20 concurrent calls fetched %d tokens, want 1", got)
	}

	wrong := newClient(t, secret.Credentials{ClientID: "id", ClientSecret: "wr0ng"}, handler)
	_, err := Get[iaas.Vpc](t.Context(), wrong, iaas.VpcEndpoint+"/vpc-1")
	if !errors.Is(err, ErrUnauthorised) || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("error = %v, want one of kind %v without the secret", err, ErrUnauthorised)
	}
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := patClient(t, func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, http.StatusOK, `{"identity": "vpc-1"}`)
		})
		began := time.Now()
		for range DefaultBurst + 5*DefaultRate {
			if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 4900*time.Millisecond || took > 5100*time.Millisecond {
			t.Errorf("a burst and 5 seconds' worth of calls took %s, want 5s", took)
		}
	})
}

func TestDrain(t *testing.T) {
	started, finish := make(chan struct{}), make(chan struct{})
	c := patClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			close(started)
			<-finish
		}
		sendJSON(w, http.StatusOK, `{"identity": "vpc-1"}`)
	})
	write := make(chan error)
	go func() { write <- Delete(t.Context(), c, iaas.VpcEndpoint+"/vpc-1") }()
	<-started

	short, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("too long"))
	if err := c.Drain(short); err == nil || err.Error() != "waiting for 1 writes to the cloud to finish: too long" {
		t.Errorf("Drain during a write, without time = %v", err)
	}
	close(finish)
	if err := c.Drain(t.Context()); err != nil {
		t.Errorf("Drain = %v", err)
	}
	if err := <-write; err != nil {
		t.Errorf("the write under way was cut off: %v", err)
	}
	err := Delete(t.Context(), c, iaas.VpcEndpoint+"/vpc-2")
	if want := "DELETE /v1/vpcs/vpc-2: not done: this process is shutting down and makes no more calls"; !errors.Is(err,
		ErrShutdown) || err.Error() != want {
		t.Errorf("a write after Drain = %v, want %s", err, want)
	}
	if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); !errors.Is(err, ErrShutdown) {
		t.Errorf("reading after Drain = %v, want a refusal", err)
	}
	if c.Err() != nil {
		t.Errorf("calls that were not made speak against the cloud: %v", c.Err())
	}
}
