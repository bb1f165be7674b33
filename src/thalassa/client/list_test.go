package client

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/go-resty/resty/v2"
	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"
	official "github.com/thalassa-cloud/client-go/pkg/client"
	"github.com/thalassa-cloud/client-go/thalassa"
)

// thing is as much of an object as these tests need.
type thing struct {
	Identity string `json:"identity"`
}

func identityOf(item thing) (string, bool) { return item.Identity, item.Identity != "unwanted" }

// TestAsksLikeTheOfficialClient: the same paths, queries, headers and bodies, so that both see and mean the same
// objects.
func TestAsksLikeTheOfficialClient(t *testing.T) {
	var asked []string
	record := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		line := r.Method + " " + r.URL.Path + "?" + r.URL.Query().Encode()
		for _, header := range []string{"Accept", "Authorization", "Content-Type", "User-Agent",
			"X-Organisation-Identity", "X-Project-Identity"} {
			line += " " + r.Header.Get(header)
		}
		asked = append(asked, line+" "+string(body))
		if r.Method == http.MethodGet {
			sendJSON(w, http.StatusOK, `[]`)
			return
		}
		sendJSON(w, http.StatusOK, `{}`)
	}
	ours, theirs := patClient(t, record), officialClient(t, record)
	by := []filters.Filter{
		&filters.FilterKeyValue{Key: filters.FilterVpcIdentity, Value: "vpc-1"},
		&filters.LabelFilter{MatchLabels: map[string]string{"k8s.thalassa.cloud/kubernetes-cluster": "a b"}},
	}
	create := iaas.CreateLoadbalancer{Name: "web", Subnet: "s"}
	calls := map[string]struct{ ours, theirs func() error }{
		"list": {
			func() error { _, err := List(t.Context(), ours, iaas.LoadbalancerEndpoint, by, identityOf); return err },
			func() error {
				_, err := theirs.ListLoadbalancers(t.Context(), &iaas.ListLoadbalancersRequest{Filters: by})
				return err
			},
		},
		"post": {
			func() error { _, err := Post[thing](t.Context(), ours, iaas.LoadbalancerEndpoint, create); return err },
			func() error { _, err := theirs.CreateLoadbalancer(t.Context(), create); return err },
		},
		"delete": {
			func() error { return Delete(t.Context(), ours, iaas.LoadbalancerEndpoint+"/lb-1") },
			func() error { return theirs.DeleteLoadbalancer(t.Context(), "lb-1") },
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			asked = nil
			if err := errors.Join(call.theirs(), call.ours()); err != nil {
				t.Fatal(err)
			}
			if len(asked) != 2 || asked[0] != asked[1] {
				t.Errorf("asked\n%s\nwant\n%s", asked[1], asked[0])
			}
		})
	}
}

// officialClient is the official client with the same settings as newClient's. It has no option for a transport; only a
// middleware ever sees its HTTP client.
func officialClient(t *testing.T, handler http.HandlerFunc) *iaas.Client {
	t.Helper()
	direct := func(http *resty.Client, _ *resty.Request) error {
		http.SetTransport(handlerNetwork(handler))
		return nil
	}
	c, err := thalassa.NewClient(official.WithBaseURL("http://cloud.test"), official.WithOrganisation("acme"),
		official.WithProject("p-1"),
		official.WithUserAgent("agent/1"), official.WithAuthPersonalToken("pat"), official.WithMiddleware(direct))
	if err != nil {
		t.Fatal(err)
	}
	return c.IaaS()
}

func TestList(t *testing.T) {
	tests := map[string]struct {
		kind, body string
		want       string // identities, or the kind of error
	}{
		"items": {"application/json",
			`[{"identity": "a", "other": [1, {"x": null}]}, {"identity": "unwanted"}, {"identity": "b"}]`, "[a b]"},
		"none":              {"application/json", `[]`, "[]"},
		"null":              {"application/json; charset=utf-8", `null`, "[]"},
		"problem":           {"application/problem+json", ` [ {"identity":"a"} ] `, "[a]"},
		"empty":             {"application/json", ``, "malformed answer"},
		"breaks off":        {"application/json", `[{"identity": "a"}, {"iden`, "malformed answer"},
		"breaks off later":  {"application/json", `[{"identity": "a"}`, "malformed answer"},
		"two lists":         {"application/json", `[{"identity": "a"}][]`, "malformed answer"},
		"an object":         {"application/json", `{"identity": "a"}`, "malformed answer"},
		"of something else": {"application/json", `[{"identity": 7}]`, "malformed answer"},
		"a page":            {"text/html", `<html>`, "malformed answer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := patClient(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", tt.kind)
					_, _ = io.WriteString(w, tt.body)
				})
				got, err := List(t.Context(), c, "/v1/things", nil, identityOf)
				if said := fmt.Sprint(got); err == nil && said != tt.want {
					t.Errorf("items = %s, want %s", said, tt.want)
				}
				if err != nil && (!errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), tt.want)) ||
					(err != nil && got != nil) {
					t.Errorf("items %v, error %v; want %s", got, err, tt.want)
				}
				if err == nil && strings.HasPrefix(tt.want, "malformed") {
					t.Errorf("items = %v, want an error", got)
				}
			})
		})
	}
}

// TestListIsCompressed: the client asks for compressed answers, and reads them.
func TestListIsCompressed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("Accept-Encoding is %q, want gzip", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		compressed := gzip.NewWriter(w)
		_, err := io.WriteString(compressed, `[{"identity":"a"}]`)
		if err := errors.Join(err, compressed.Close()); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	c := connect(t, Options{Endpoint: server.URL})
	got, err := List(t.Context(), c, "/v1/things", nil, identityOf)
	if err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q and error %v, want a", got, err)
	}
}

// TestListForgetsAFailedAttempt: items of an attempt that broke off are not in the result twice.
func TestListForgetsAFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(http.ResponseWriter, *http.Request){answer(200, `[{"identity": "a"},`),
			answer(200, `[{"identity": "a"}]`)}}
		got, err := List(t.Context(), s.client(t), "/v1/things", nil, identityOf)
		if err != nil || fmt.Sprint(got) != "[a]" || len(s.at) != 2 {
			t.Errorf("items = %v, %v after %d calls", got, err, len(s.at))
		}
	})
}

// TestListKeepsOnlyWhatIsWanted: a list is never in memory as a whole.
func TestListKeepsOnlyWhatIsWanted(t *testing.T) {
	item := fmt.Sprintf(`{"identity": "a", "ballast": %q}`, strings.Repeat("x", 10_000))
	long := func(items int) float64 {
		c := patClient(t, nil)
		c.transport.access.Load().network = networkFunc(func(*http.Request) (*http.Response, error) {
			body := io.MultiReader(strings.NewReader("["+item), &repeated{text: "," + item, left: items - 1},
				strings.NewReader("]"))
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(body)}, nil
		})
		return testing.AllocsPerRun(1, func() {
			if kept, err := List(t.Context(), c, "/v1/things", nil, identityOf); err != nil || len(kept) != items {
				t.Fatalf("%d items, %v", len(kept), err)
			}
		})
	}
	// A few allocations per item are the item itself; the ballast, 10 kB each, needs none.
	if few, many := long(100), long(1100); (many-few)/1000 > 6 {
		t.Errorf("%v allocations for 100 items, %v for 1100", few, many)
	}
}

// repeated reads as a text several times over.
type repeated struct {
	text string
	left int
	rest string
}

func (r *repeated) Read(into []byte) (int, error) {
	if r.rest == "" {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left, r.rest = r.left-1, r.text
	}
	n := copy(into, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func FuzzErrorBody(f *testing.F) {
	for _, seed := range []string{`{"message": "no"}`, `<html>`, `{"message": 7}`, "\xff\xfe", strings.Repeat("é", 300),
		`{"message": "` + strings.Repeat("€", 1000) + `"}`, "a\r\nb"} {
		f.Add(404, "application/json", seed)
	}
	f.Fuzz(func(t *testing.T, status int, kind, body string) {
		c := &call{request: mustRequest(t)}
		err := c.read(&http.Response{StatusCode: 400 + (status&0xff)%200, Header: http.Header{"Content-Type": {kind}},
			Body: io.NopCloser(strings.NewReader(body))})
		failure := c.failure(err)
		// Method, path, kind, status and advice are ours, and short.
		const ours, ellipsis = 400, len("…")
		if failure.Kind == nil || len(failure.Message) > maxMessage+ellipsis || len(failure.Error()) > ours+maxMessage+
			ellipsis {
			t.Errorf("error of %d bytes: %q", len(failure.Error()), failure.Error())
		}
		if strings.ContainsAny(failure.Error(), "\r\n") || !utf8.ValidString(failure.Error()) {
			t.Errorf("error is not one line of text: %q", failure.Error())
		}
	})
}

func mustRequest(t *testing.T) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://cloud.test/v1/vpcs/vpc-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	return request
}
