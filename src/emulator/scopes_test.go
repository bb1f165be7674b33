package emulator

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestScopesNarrow(t *testing.T) {
	for _, test := range []struct {
		have   scopes
		wanted string
		want   string
		bad    bool
	}{
		{nil, "", "", false},
		{nil, "api:read", "api:read", false},
		{scopes{scopeRead, "openid"}, "", "api:read openid", false},
		{scopes{scopeRead, "openid"}, " openid ", "openid", false},
		{scopes{scopeRead}, scopeWrite, "", true},
		{scopes{}, scopeRead, "", true},
		{nil, "nonsense", "", true},
	} {
		got, err := test.have.narrow(test.wanted)
		if (err != nil) != test.bad || err == nil && got.String() != test.want {
			t.Errorf("%v asked for %q: %v, %v, want %q, refused: %t", test.have, test.wanted, got, err, test.want, test.bad)
		}
	}
}

func TestScopesAllow(t *testing.T) {
	read, write := http.MethodGet, http.MethodDelete
	for _, test := range []struct {
		have   scopes
		method string
		want   bool
	}{
		{nil, read, true}, {nil, write, true},
		{scopes{scopeRead}, read, true}, {scopes{scopeRead}, http.MethodHead, true}, {scopes{scopeRead}, write, false},
		{scopes{scopeWrite}, read, true}, {scopes{scopeWrite}, write, true},
		{scopes{"openid"}, read, false}, {scopes{}, read, false},
	} {
		err := test.have.check(test.method)
		if (err == nil) != test.want {
			t.Errorf("%v may %s: %v, want %t", test.have, test.method, err, test.want)
		}
		if p, ok := errors.AsType[*problem](err); err != nil && (!ok || p.status != http.StatusForbidden || !strings.Contains(p.message, "api:")) {
			t.Errorf("%v may not %s: %v, want 403 with the scope that is missing", test.have, test.method, err)
		}
	}
}
