package emulator_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// newConditional is a cloud with machines that answers conditional requests.
func newConditional(t *testing.T) *cloud {
	t.Helper()
	c := newCloud(t, withSwitches(emulator.Switches{ConditionalRequests: true}))
	if _, err := c.AddMachines(10); err != nil {
		t.Fatal(err)
	}
	return c
}

// conditional reads something with an ETag, or "" for none.
func (c *cloud) conditional(t *testing.T, path, tag string) *httptest.ResponseRecorder {
	t.Helper()
	request := apiRequest(t, "", "GET", path, "")
	if tag != "" {
		request.Header.Set("If-None-Match", tag)
	}
	return serve(c, request)
}

func TestConditionalRequests(t *testing.T) {
	c := newConditional(t)
	for _, path := range []string{machinesPath, "/v1/vpcs/emulator", "/v1/me/organisation-memberships"} {
		first := c.conditional(t, path, "")
		tag := first.Header().Get("ETag")
		if tag == "" || first.Code != http.StatusOK {
			t.Fatalf("GET %s = %d with the ETag %q", path, first.Code, tag)
		}
		for _, asked := range []string{tag, `"x", ` + tag} {
			same := c.conditional(t, path, asked)
			if same.Code != http.StatusNotModified || same.Body.Len() > 0 || same.Header().Get("ETag") != tag {
				t.Errorf("GET %s if not %s = %d with the ETag %q: %s", path, asked, same.Code,
					same.Header().Get("ETag"), same.Body)
			}
		}
		if other := c.conditional(t, path, `W/"x"`); other.Code != http.StatusOK ||
			other.Body.String() != first.Body.String() {
			t.Errorf("GET %s with another ETag = %d", path, other.Code)
		}
	}
	tag := c.conditional(t, machinesPath, "").Header().Get("ETag")
	if _, err := c.AddMachines(1); err != nil {
		t.Fatal(err)
	}
	if changed := c.conditional(t, machinesPath, tag); changed.Code != http.StatusOK ||
		changed.Header().Get("ETag") == tag {
		t.Errorf("after a change, GET with the old ETag = %d with %q", changed.Code, changed.Header().Get("ETag"))
	}
}

// TestCompressedAnswersHaveTheSameETag as those that are not.
func TestCompressedAnswersHaveTheSameETag(t *testing.T) {
	c := newConditional(t)
	request := apiRequest(t, "", "GET", machinesPath, "")
	request.Header.Set("Accept-Encoding", "gzip")
	answer := serve(c, request)
	tag := answer.Header().Get("ETag")
	if answer.Header().Get("Content-Encoding") != "gzip" || tag != c.conditional(t, machinesPath,
		"").Header().Get("ETag") {
		t.Errorf("encoding %q, ETag %q", answer.Header().Get("Content-Encoding"), tag)
	}
	request.Header.Set("If-None-Match", tag)
	if same := serve(c, request); same.Code != http.StatusNotModified || same.Body.Len() > 0 {
		t.Errorf("GET with the ETag = %d, %d bytes", same.Code, same.Body.Len())
	}
}

// TestETagsAreOfGoodReads only, and only with the switch.
func TestETagsAreOfGoodReads(t *testing.T) {
	c := newConditional(t)
	for _, request := range []string{"GET /v1/vpcs/none", "POST /v1/vpcs", "DELETE /v1/vpcs/none"} {
		method, path, _ := strings.Cut(request, " ")
		if tag := serve(c, apiRequest(t, "", method, path, "")).Header().Get("ETag"); tag != "" {
			t.Errorf("%s has the ETag %q", request, tag)
		}
	}
	c = manyMachines(t)
	if answer := c.conditional(t, machinesPath, `W/"x"`); answer.Header().Get("ETag") != "" {
		t.Errorf("without the switch, there is the ETag %q", answer.Header().Get("ETag"))
	}
}

// TestFaultsOfConditionalRequests: an answer that a fault changes is sent as without a condition, and without the ETag
// of the whole.
func TestFaultsOfConditionalRequests(t *testing.T) {
	c := newConditional(t)
	tag := c.conditional(t, machinesPath, "").Header().Get("ETag")
	for kind, status := range map[fault.Kind]int{
		fault.Partial: http.StatusOK, fault.Malformed: http.StatusOK, fault.Empty: http.StatusOK,
		fault.NoContent: http.StatusNoContent, fault.Truncate: http.StatusOK,
	} {
		if _, err := c.Inject(fault.Rule{Effect: fault.Effect{Kind: kind}, Count: 1}); err != nil {
			t.Fatal(err)
		}
		if answer := c.conditional(t, machinesPath, tag); answer.Code != status || answer.Header().Get("ETag") != "" {
			t.Errorf("%s: %d with the ETag %q, want %d", kind, answer.Code, answer.Header().Get("ETag"), status)
		}
	}
	if same := c.conditional(t, machinesPath, tag); same.Code != http.StatusNotModified {
		t.Errorf("after the faults, GET with the ETag = %d", same.Code)
	}
}

// TestStaleAnswersHaveTheirOwnETag, so that nobody takes them for new ones.
func TestStaleAnswersHaveTheirOwnETag(t *testing.T) {
	const path = "/v1/cloudinits"
	c := newConditional(t)
	if _, err := c.Inject(stale(time.Hour)); err != nil {
		t.Fatal(err)
	}
	c.call(t, "POST", path, `{"name":"web","content":"c"}`)
	old := c.conditional(t, path, "")
	c.ClearFaults()
	if now := c.conditional(t, path, old.Header().Get("ETag")); old.Body.String() != "[]\n" ||
		now.Code != http.StatusOK || now.Header().Get("ETag") == old.Header().Get("ETag") {
		t.Errorf("after the list %q, GET with its ETag = %d: %s", old.Body, now.Code, now.Body)
	}
}
