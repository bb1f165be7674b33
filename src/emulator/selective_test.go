package emulator

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Creating a machine asks the groups with a selector only, however many others
// there are.
func TestOnlySelectiveGroupsAreAsked(t *testing.T) {
	e, err := New(Config{Seed: DefaultSeed()})
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
		if len(org.selective) != groups {
			t.Errorf("%s: %d groups are asked about each machine, want %d", when, len(org.selective), groups)
		}
		if got := strings.Count(send("GET", "/v1/loadbalancer-target-groups/chosen", ""), "virtualMachineInstance"); got != attached {
			t.Errorf("%s: %d machines are attached, want %d", when, got, attached)
		}
	}
	const groups = "/v1/loadbalancer-target-groups"
	for i := range 100 {
		send("POST", groups, fmt.Sprintf(`{"name":"g-%d","vpc":"emulator","targetPort":80,"protocol":"tcp"}`, i))
	}
	send("POST", groups, `{"name":"chosen","vpc":"emulator","targetPort":80,"protocol":"tcp","targetSelector":{"a":"b"}}`)
	expect("with one selector", 1, 0)
	send("POST", "/v1/machines", `{"name":"m","subnet":"emulator","machineType":"pgp-small","labels":{"a":"b"}}`)
	expect("with a machine", 1, 1)
	send("PUT", groups+"/chosen", `{"name":"chosen","targetPort":80,"protocol":"tcp"}`)
	expect("without a selector", 0, 0)
	send("PUT", groups+"/chosen", `{"name":"chosen","targetPort":80,"protocol":"tcp","targetSelector":{"a":"b"}}`)
	expect("with it again", 1, 1)
	// A group that is not among the selective ones is not asked, even if it would match.
	clear(org.selective)
	send("POST", "/v1/machines", `{"name":"n","subnet":"emulator","machineType":"pgp-small","labels":{"a":"b"}}`)
	expect("unknown to the organisation", 0, 1)
	send("DELETE", groups+"/chosen", "")
	if len(org.selective) != 0 {
		t.Error("a deleted group is still asked")
	}
}

// Descriptions are shared during a read only.
func TestMentionsEndWithTheRequest(t *testing.T) {
	e, err := New(Config{Seed: DefaultSeed()})
	if err != nil {
		t.Fatal(err)
	}
	org, err := e.organisation("")
	if err != nil {
		t.Fatal(err)
	}
	if org.short() == org.short() { //nolint:staticcheck // two readings must be the same
		t.Error("outside of reads, descriptions are shared")
	}
	stop := e.store.share()
	if org.short() != org.short() { //nolint:staticcheck // two readings must be the same
		t.Error("during a read, descriptions are not shared")
	}
	stop()
	if org.short() == org.short() { //nolint:staticcheck // two readings must be the same
		t.Error("after a read, descriptions are shared")
	}
	for _, method := range []string{"GET", "PUT"} {
		request := httptest.NewRequestWithContext(t.Context(), method, "/v1/vpcs", nil)
		request.Header.Set("Authorization", "Token "+DefaultToken)
		e.ServeHTTP(httptest.NewRecorder(), request)
		if e.store.mentions != nil {
			t.Errorf("after %s, descriptions are kept", method)
		}
	}
}

func TestTraits(t *testing.T) {
	has := named("i", "s", "n").with("status", "one", "two").with("many", "a", "b", "c").with("none")
	for _, test := range []struct {
		key, value string
		want       bool
	}{
		{"identity", "i", true}, {"identity", "s", false}, {"status", "one", true}, {"status", "two", true}, {"status", "three", false},
		{"many", "c", true}, {"many", "d", false}, {"none", "", false}, {"unknown", "x", true}, {"name", "", false},
	} {
		if got := has.allows(test.key, test.value); got != test.want {
			t.Errorf("%s=%s: %t, want %t", test.key, test.value, got, test.want)
		}
	}
}

func TestTokenLifetimeBounds(t *testing.T) {
	for text, want := range map[string]time.Duration{"": time.Hour, "60": time.Minute, "1m": time.Minute, "24h": 24 * time.Hour, "59": 0, "24h1s": 0, "x": 0} {
		if got, refused := tokenLifetime(text, time.Hour); got != want && refused == nil || (want == 0) != (refused != nil) {
			t.Errorf("%q: %s, %v, want %s", text, got, refused, want)
		}
	}
}
