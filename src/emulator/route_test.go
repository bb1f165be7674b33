package emulator

import (
	"slices"
	"testing"
	"time"
)

func TestCanonicalPaths(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/vpcs": "/v1/vpcs", "//oidc//token/": "/oidc/token", "/api/v1/vpcs": "/v1/vpcs", "/": "/", "": "/", "/api": "/api", "/api/v2": "/api/v2",
	} {
		if got := canonical(path); got != want {
			t.Errorf("canonical(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestLogOfWritesIsBounded(t *testing.T) {
	var l ledger
	for i := range maxWrites + 1 {
		l.write(Write{Status: i})
	}
	if len(l.writes) > maxWrites || l.writes[len(l.writes)-1].Status != maxWrites {
		t.Errorf("%d writes are kept, the last is %d; want at most %d, and the newest", len(l.writes), l.writes[len(l.writes)-1].Status, maxWrites)
	}
	if !slices.IsSortedFunc(l.writes, func(a, b Write) int { return a.Status - b.Status }) {
		t.Error("the log is out of order")
	}
}

func TestExpiredTokensAreForgotten(t *testing.T) {
	g := &guard{lifetime: time.Minute, bearers: map[string]bearer{"old": {expires: time.Now().Add(-time.Hour)}}}
	fresh := g.issue(principal{subject: "me"}, g.lifetime)
	if _, found := g.bearers["old"]; found || len(g.bearers) != 1 {
		t.Errorf("%d tokens are kept, want the new one only", len(g.bearers))
	}
	if user, err := g.bearer(fresh.AccessToken); err != nil || user.subject != "me" {
		t.Errorf("the new token belongs to %+v, %v", user, err)
	}
}
