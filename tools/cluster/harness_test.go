//go:build linux

package cluster

import (
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

// serve serves a cloud without a data plane.
func serve(t *testing.T) (url string) {
	t.Helper()
	cloud, err := emulator.New(emulator.Config{Seed: emulator.DualStackSeed(), Middleware: openapitest.Sampled(t)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL
}

func addresses(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}
