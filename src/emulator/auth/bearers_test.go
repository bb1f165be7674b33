package auth

import (
	"testing"
	"time"
)

func TestExpiredTokensAreForgotten(t *testing.T) {
	g := &Authenticator{lifetime: time.Minute, bearers: map[string]bearer{"old": {expires: time.Now().Add(-time.Hour)}}}
	fresh := g.issue(Principal{Subject: "me"}, g.lifetime)
	if _, found := g.bearers["old"]; found || len(g.bearers) != 1 {
		t.Errorf("%d tokens are kept, want the new one only", len(g.bearers))
	}
	if user, err := g.bearer(fresh.AccessToken); err != nil || user.Subject != "me" {
		t.Errorf("the new token belongs to %+v, %v", user, err)
	}
}

func TestTokenLifetimeBounds(t *testing.T) {
	for text, want := range map[string]time.Duration{"": time.Hour, "60": time.Minute, "1m": time.Minute,
		"24h": 24 * time.Hour, "59": 0, "24h1s": 0, "x": 0} {
		if got, refused := tokenLifetime(text, time.Hour); got != want && refused == nil ||
			(want == 0) != (refused != nil) {
			t.Errorf("%q: %s, %v, want %s", text, got, refused, want)
		}
	}
}
