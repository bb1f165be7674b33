package emulator_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestRequestsPerSecond: what is too much is refused and says when to come back; the admin API always answers.
func TestRequestsPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(),
			Switches: emulator.Switches{RequestsPerSecond: 10}})
		if err != nil {
			t.Fatal(err)
		}
		if answered, refused := flood(t, e, 25); answered != 10 || refused != 15 {
			t.Errorf("of 25 requests at once %d were answered and %d refused, want 10 and 15", answered, refused)
		}
		if code, _ := status(t, e, "/_emulator/counters"); code != http.StatusOK {
			t.Errorf("the admin API answers %d", code)
		}
		<-time.After(time.Second)
		if answered, _ := flood(t, e, 10); answered != 10 {
			t.Errorf("a second later %d of 10 requests were answered", answered)
		}
	})
	switches := emulator.Switches{RequestsPerSecond: -1}
	if _, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(),
		Switches: switches}); err == nil ||
		!strings.Contains(err.Error(), "RequestsPerSecond is -1") {
		t.Errorf("error = %v", err)
	}
}

// flood makes requests and counts those that were answered, and those that were to come back in a second.
func flood(t *testing.T, e *emulator.Emulator, requests int) (answered, refused int) {
	t.Helper()
	for range requests {
		switch code, after := status(t, e, "/v1/vpcs"); {
		case code == http.StatusOK:
			answered++
		case code == http.StatusTooManyRequests && after == "1":
			refused++
		default:
			t.Fatalf("status %d, Retry-After %q", code, after)
		}
	}
	return answered, refused
}

// status makes a request in process, because sockets block virtual time.
func status(t *testing.T, e *emulator.Emulator, path string) (code int, retryAfter string) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://cloud.test"+path, nil)
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	recorder := httptest.NewRecorder()
	e.ServeHTTP(recorder, request)
	return recorder.Code, recorder.Header().Get("Retry-After")
}

// TestPermissionStatus: which status says so is not known.
func TestPermissionStatus(t *testing.T) {
	for status, want := range map[int]int{0: 403, 401: 401, 404: 404} {
		c := newCloud(t, func(cfg *emulator.Config) {
			cfg.Switches.PermissionStatus, cfg.Switches.NoProjects = status, true
		})
		if got, _, _ := c.call(t, "GET", "/v1/projects", ""); got != want {
			t.Errorf("with PermissionStatus %d the status is %d, want %d", status, got, want)
		}
	}
}
