package emulator

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Creating a machine reads the groups with a selector only, however many others
// there are.
func TestOnlySelectiveGroupsAreAsked(t *testing.T) {
	e, err := NewDescribed(t, Config{Seed: DefaultSeed()})
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, path, body string) string {
		request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		request.Header.Set("Authorization", "Token "+DefaultToken)
		answer := httptest.NewRecorder()
		if e.ServeHTTP(answer, request); answer.Code >= http.StatusMultipleChoices {
			t.Fatalf("%s %s = %d %s", method, path, answer.Code, answer.Body)
		}
		return answer.Body.String()
	}
	org, err := e.organisation("")
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when string, groups, attached int) {
		t.Helper()
		if len(org.Selective) != groups {
			t.Errorf("%s: %d groups are asked about each machine, want %d", when, len(org.Selective), groups)
		}
		if got := strings.Count(send("GET", "/v1/loadbalancer-target-groups/chosen", ""),
			"virtualMachineInstance"); got != attached {
			t.Errorf("%s: %d machines are attached, want %d", when, got, attached)
		}
	}
	const groups = "/v1/loadbalancer-target-groups"
	for i := range 100 {
		send("POST", groups, fmt.Sprintf(`{"name":"g-%d","vpc":"emulator","targetPort":80,"protocol":"tcp"}`, i))
	}
	send("POST", groups,
		`{"name":"chosen","vpc":"emulator","targetPort":80,"protocol":"tcp","targetSelector":{"a":"b"}}`)
	expect("with one selector", 1, 0)
	send("POST", "/v1/machines", `{"name":"m","subnet":"emulator","machineType":"pgp-small","labels":{"a":"b"}}`)
	expect("with a machine", 1, 1)
	send("PUT", groups+"/chosen", `{"name":"chosen","targetPort":80,"protocol":"tcp","targetSelector":{}}`)
	expect("without a selector", 0, 0)
	send("PUT", groups+"/chosen", `{"name":"chosen","targetPort":80,"protocol":"tcp","targetSelector":{"a":"b"}}`)
	expect("with it again", 1, 1)
	// A group that is not among the selective ones is not asked, even if it would match.
	clear(org.Selective)
	send("POST", "/v1/machines", `{"name":"n","subnet":"emulator","machineType":"pgp-small","labels":{"a":"b"}}`)
	expect("unknown to the organisation", 0, 1)
	send("DELETE", groups+"/chosen", "")
	if len(org.Selective) != 0 {
		t.Error("a deleted group is still asked")
	}
}

// Descriptions are shared during a read only.
func TestMentionsEndWithTheRequest(t *testing.T) {
	e, err := NewDescribed(t, Config{Seed: DefaultSeed()})
	if err != nil {
		t.Fatal(err)
	}
	org, err := e.organisation("")
	if err != nil {
		t.Fatal(err)
	}
	if org.Short() == org.Short() { //nolint:staticcheck // two readings must be the same
		t.Error("outside of reads, descriptions are shared")
	}
	stop := e.api.Store.ShareViews()
	if org.Short() != org.Short() { //nolint:staticcheck // two readings must be the same
		t.Error("during a read, descriptions are not shared")
	}
	stop()
	if org.Short() == org.Short() { //nolint:staticcheck // two readings must be the same
		t.Error("after a read, descriptions are shared")
	}
	for _, method := range []string{"GET", "PUT"} {
		request := httptest.NewRequestWithContext(t.Context(), method, "/v1/vpcs", nil)
		request.Header.Set("Authorization", "Token "+DefaultToken)
		e.ServeHTTP(httptest.NewRecorder(), request)
		if org.Short() == org.Short() { //nolint:staticcheck // two readings must be the same
			t.Errorf("after %s, descriptions are shared", method)
		}
	}
}
