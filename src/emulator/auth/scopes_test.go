package auth

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
)

func TestScopesNarrow(t *testing.T) {
	for _, test := range []struct {
		have   Scopes
		active string
		want   string
		bad    bool
	}{
		{nil, "", "", false},
		{nil, "api:read", "api:read", false},
		{Scopes{scopeRead, "openid"}, "", "api:read openid", false},
		{Scopes{scopeRead, "openid"}, " openid ", "openid", false},
		{Scopes{scopeRead}, scopeWrite, "", true},
		{Scopes{}, scopeRead, "", true},
		{nil, "nonsense", "", true},
	} {
		got, err := test.have.narrow(test.active)
		if (err != nil) != test.bad || err == nil && got.String() != test.want {
			t.Errorf("%v asked for %q: %v, %v, want %q, refused: %t", test.have, test.active, got, err, test.want,
				test.bad)
		}
	}
}

func TestScopesAmong(t *testing.T) {
	both := Scopes{scopeRead, scopeWrite}
	for _, test := range []struct{ have, others, want Scopes }{
		{nil, nil, nil}, {nil, Scopes{}, Scopes{}}, {Scopes{}, nil, Scopes{}}, {nil, both, both}, {both, nil, both},
		{both, Scopes{scopeWrite}, Scopes{scopeWrite}}, {Scopes{scopeRead}, Scopes{"openid"}, Scopes{}},
	} {
		if got := test.have.among(test.others); !got.equal(test.want) {
			t.Errorf("%#v among %#v = %#v, want %#v", test.have, test.others, got, test.want)
		}
	}
}

func TestScopesAllow(t *testing.T) {
	read, write := http.MethodGet, http.MethodDelete
	for _, test := range []struct {
		have   Scopes
		method string
		want   bool
	}{
		{nil, read, true}, {nil, write, true},
		{Scopes{scopeRead}, read, true}, {Scopes{scopeRead}, http.MethodHead, true}, {Scopes{scopeRead}, write, false},
		{Scopes{scopeWrite}, read, true}, {Scopes{scopeWrite}, write, true},
		{Scopes{"openid"}, read, false}, {Scopes{}, read, false},
	} {
		err := test.have.Check(test.method)
		if (err == nil) != test.want {
			t.Errorf("%v may %s: %v, want %t", test.have, test.method, err, test.want)
		}
		if p, ok := errors.AsType[*apierror.Error](err); err != nil && (!ok || p.Status != http.StatusForbidden ||
			!strings.Contains(err.Error(), "api:")) {
			t.Errorf("%v may not %s: %v, want 403 with the scope that is missing", test.have, test.method, err)
		}
	}
}
