package emulator

import (
	"testing"
)

func TestCanonicalPaths(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/vpcs": "/v1/vpcs", "//oidc//token/": "/oidc/token", "/api/v1/vpcs": "/v1/vpcs", "/": "/", "": "/",
		"/api": "/api", "/api/v2": "/api/v2",
	} {
		if got := canonical(path); got != want {
			t.Errorf("canonical(%q) = %q, want %q", path, got, want)
		}
	}
}
