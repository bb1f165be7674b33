// Package cloud gives a test a Thalassa Cloud of its own: the emulator, served on loopback by the test's own process.
//
//	c := cloud.Start(t, emulator.DefaultSeed())
//	machine, err := c.AddMachine(emulator.MachineSpec{Name: "worker"})
//	values := map[string]any{"cloudConfig": c.Config("k8s-test")}
package cloud

import (
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

// Cloud is an emulated cloud. Its methods are the emulator's.
type Cloud struct {
	*emulator.Emulator
	// URL is where its API is, without a slash at the end.
	URL string
}

// Start starts a cloud with the state of a seed. It ends with the test.
func Start(tb testing.TB, seed emulator.Seed) Cloud {
	tb.Helper()
	return Run(tb, emulator.Config{Seed: seed})
}

// Run starts a cloud that is more than its seed: with a data plane, delays or faults. It ends with the test, and its
// data plane with it.
func Run(tb testing.TB, config emulator.Config) Cloud {
	tb.Helper()
	config.Middleware = openapitest.Sampled(tb)
	made, err := emulator.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewServer(made)
	tb.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := made.Close(); err != nil {
			tb.Error(err)
		}
	})
	return Cloud{made, server.URL}
}

// Loopback is the seed of a cloud whose machines have addresses in a network of the loopback range, such as
// 127.83.0.0/16: what runs on a machine can then listen on its address.
func Loopback(tb testing.TB, network string) emulator.Seed {
	tb.Helper()
	seed, err := emulator.LoopbackSeed(netip.MustParsePrefix(network))
	if err != nil {
		tb.Fatal(err)
	}
	return seed
}

// Config is what the cloud controller manager of a cluster of that name needs: the keys of its configuration
// without a default, and where the API is.
func (c Cloud) Config(cluster string) map[string]any {
	return map[string]any{
		"organisation": emulator.DefaultOrganisation, "vpcIdentity": emulator.DefaultVPC, "cluster": cluster,
		"endpoint": c.URL,
	}
}
