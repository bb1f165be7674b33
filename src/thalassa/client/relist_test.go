package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
)

// tagging is a cloud that gives a list an ETag, and answers 304 if a request has it.
type tagging struct {
	body, tag string
	fail      func(w http.ResponseWriter) (done bool) // an answer in place of others; nil: none
	asked     []string                                // If-None-Match of each request
	served    int                                     // answers with a body
}

func (c *tagging) serve(w http.ResponseWriter, r *http.Request) {
	asked := r.Header.Get("If-None-Match")
	c.asked = append(c.asked, asked)
	if c.tag != "" {
		w.Header().Set("ETag", c.tag)
	}
	if c.fail != nil && c.fail(w) {
		return
	}
	if asked != "" && asked == c.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	c.served++
	sendJSON(w, http.StatusOK, c.body)
}

func (c *tagging) client(t *testing.T) *Client {
	t.Helper()
	return patClient(t, c.serve)
}

// relist reads the list, which has to have these items, and returns it.
func relist(t *testing.T, c *Client, latest *Latest[string], want string, asked ...filters.Filter) []string {
	t.Helper()
	got, err := Relist(t.Context(), c, latest, "/v1/things", asked, identityOf)
	if err != nil || strings.Join(got, " ") != want {
		t.Fatalf("list %q, error %v, want %q", got, err, want)
	}
	return got
}

func (c *tagging) expect(t *testing.T, served int, asked ...string) {
	t.Helper()
	if c.served != served || !slices.Equal(c.asked, asked) {
		t.Errorf("%d answers with a body to requests with the ETags %q, want %d to %q", c.served, c.asked, served,
			asked)
	}
}

func TestRelist(t *testing.T) {
	cloud, latest := &tagging{body: `[{"identity": "a"}, {"identity": "b"}]`, tag: `W/"1"`}, new(Latest[string])
	c := cloud.client(t)
	for range 2 {
		got := relist(t, c, latest, "a b")
		got[0] = "changed by the caller"
	}
	relist(t, c, latest, "a b")
	cloud.expect(t, 1, "", `W/"1"`, `W/"1"`)

	cloud.body, cloud.tag, cloud.asked = `[]`, `"2"`, nil
	relist(t, c, latest, "")
	relist(t, c, latest, "")
	cloud.expect(t, 2, `W/"1"`, `"2"`)

	cloud.body, cloud.tag, cloud.asked = `[{"identity": "c"}]`, "", nil
	relist(t, c, latest, "c")
	relist(t, c, latest, "c")
	cloud.expect(t, 4, `"2"`, "")
	if latest.answer.Load() != nil {
		t.Error("an answer without an ETag is stored")
	}
}

// TestRelistAsksForEachListAnew that another request, client or credential would get, that a write of ours may have
// changed, and that is old.
func TestRelistAsksForEachListAnew(t *testing.T) {
	vpc := func(id string) filters.Filter {
		return &filters.FilterKeyValue{Key: filters.FilterVpcIdentity, Value: id}
	}
	for name, again := range map[string]func(t *testing.T, cloud *tagging, c *Client, latest *Latest[string]){
		"another filter": func(t *testing.T, _ *tagging, c *Client, latest *Latest[string]) {
			t.Helper()
			relist(t, c, latest, "a", vpc("2"))
		},
		"another client": func(t *testing.T, cloud *tagging, _ *Client, latest *Latest[string]) {
			t.Helper()
			relist(t, cloud.client(t), latest, "a", vpc("1"))
		},
		"other credentials": func(t *testing.T, _ *tagging, c *Client, latest *Latest[string]) {
			t.Helper()
			if err := c.Adopt(t.Context(), secretsOf("new"), func(context.Context, *Client) error {
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			relist(t, c, latest, "a", vpc("1"))
		},
		"a write": func(t *testing.T, cloud *tagging, c *Client, latest *Latest[string]) {
			t.Helper()
			if err := Delete(t.Context(), c, "/v1/things/b"); err != nil {
				t.Fatal(err)
			}
			cloud.asked, cloud.served = cloud.asked[:1], cloud.served-1
			relist(t, c, latest, "a", vpc("1"))
		},
		"an hour": func(t *testing.T, _ *tagging, c *Client, latest *Latest[string]) {
			t.Helper()
			<-time.After(reusePeriod)
			relist(t, c, latest, "a", vpc("1"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud, latest := &tagging{body: `[{"identity": "a"}]`, tag: `"1"`}, new(Latest[string])
				c := cloud.client(t)
				relist(t, c, latest, "a", vpc("1"))
				again(t, cloud, c, latest)
				cloud.expect(t, 2, "", "")
			})
		})
	}
}

// TestRelistWhileCredentialsChange: the cloud answers 304 to the new credentials. The list is read with them.
func TestRelistWhileCredentialsChange(t *testing.T) {
	cloud, latest := &tagging{body: `[{"identity": "a"}]`, tag: `"1"`}, new(Latest[string])
	c := cloud.client(t)
	relist(t, c, latest, "a")
	cloud.fail = func(http.ResponseWriter) bool {
		cloud.fail = nil
		err := c.Adopt(t.Context(), secretsOf("new"), func(context.Context, *Client) error { return nil })
		if err != nil {
			t.Error(err)
		}
		return false
	}
	relist(t, c, latest, "a")
	cloud.expect(t, 2, "", `"1"`, "")
}

// TestRelistStoresCompleteAnswers only: the ETag of a list that breaks off, or that is refused, is not used.
func TestRelistStoresCompleteAnswers(t *testing.T) {
	for name, fail := range map[string]func(w http.ResponseWriter){
		"breaks off": func(w http.ResponseWriter) { sendJSON(w, http.StatusOK, `[{"identity": "b"}`) },
		"no list":    func(w http.ResponseWriter) { sendJSON(w, http.StatusOK, `{}`) },
		"refused":    func(w http.ResponseWriter) { sendJSON(w, http.StatusForbidden, `{}`) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud, latest := &tagging{body: `[{"identity": "a"}]`, tag: `"1"`}, new(Latest[string])
				c := cloud.client(t)
				relist(t, c, latest, "a")
				cloud.tag, cloud.fail = `"2"`, func(w http.ResponseWriter) bool { fail(w); return true }
				if got, err := Relist(t.Context(), c, latest, "/v1/things", nil, identityOf); err == nil {
					t.Errorf("list %q, want an error", got)
				}
				cloud.asked, cloud.fail = nil, nil
				relist(t, c, latest, "a")
				cloud.expect(t, 2, `"1"`)
			})
		})
	}
}

// TestRelistRepeatsWithTheSameETag, and takes nothing of the attempt that failed.
func TestRelistRepeatsWithTheSameETag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud, latest := &tagging{body: `[{"identity": "a"}]`, tag: `"1"`}, new(Latest[string])
		c := cloud.client(t)
		relist(t, c, latest, "a")
		cloud.fail = func(w http.ResponseWriter) bool {
			cloud.fail = nil
			sendJSON(w, http.StatusOK, `[{"identity": "b"},`)
			return true
		}
		relist(t, c, latest, "a")
		cloud.expect(t, 1, "", `"1"`, `"1"`)
	})
}

// TestUnexpectedNotModified: nothing is known, so it is no empty list.
func TestUnexpectedNotModified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := patClient(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
		for name, read := range map[string]func() error{
			"list": func() error { _, err := List(t.Context(), c, "/v1/things", nil, identityOf); return err },
			"relist": func() error {
				_, err := Relist(t.Context(), c, new(Latest[string]), "/v1/things", nil, identityOf)
				return err
			},
			"get": func() error { _, err := Get[thing](t.Context(), c, "/v1/things/a"); return err },
		} {
			if err := read(); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: error %v", name, fmt.Sprint(err))
			}
		}
	})
}
