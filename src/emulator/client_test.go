package emulator_test

import (
	"net/http/httptest"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"
	"github.com/thalassa-cloud/client-go/thalassa"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// cloud is an emulator behind a real HTTP server and the official client.
type cloud struct {
	*emulator.Emulator
	url string
	api *iaas.Client
}

func newCloud(t *testing.T, adjust ...func(*emulator.Config)) *cloud {
	t.Helper()
	cfg := emulator.Config{Seed: emulator.DefaultSeed()}
	for _, f := range adjust {
		f(&cfg)
	}
	e, err := emulator.NewDescribed(t, cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	server := httptest.NewServer(e)
	t.Cleanup(func() {
		server.Close()
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	c := &cloud{Emulator: e, url: server.URL}
	c.api = c.client(t)
	return c
}

// client is the official client with the default credentials, or others.
func (c *cloud) client(t *testing.T, options ...vendor.Option) *iaas.Client {
	t.Helper()
	options = append([]vendor.Option{
		vendor.WithBaseURL(c.url),
		vendor.WithOrganisation(emulator.DefaultOrganisation),
		vendor.WithAuthPersonalToken(emulator.DefaultToken),
	}, options...)
	client, err := thalassa.NewClient(options...)
	if err != nil {
		t.Fatalf("NewClient: %v", err)
	}
	return client.IaaS()
}

func (c *cloud) machine(t *testing.T, name string) string {
	t.Helper()
	identity, err := c.AddMachine(emulator.MachineSpec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

func (c *cloud) group(t *testing.T, name string, port int) *iaas.VpcLoadbalancerTargetGroup {
	t.Helper()
	group, err := c.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
		Name: name, Vpc: emulator.DefaultVPC, TargetPort: port, Protocol: iaas.ProtocolTCP,
	})
	if err != nil {
		t.Fatalf("CreateTargetGroup: %v", err)
	}
	return group
}

func (c *cloud) loadbalancer(t *testing.T, name string) *iaas.VpcLoadbalancer {
	t.Helper()
	lb, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: name,
		Subnet: emulator.DefaultSubnet})
	if err != nil {
		t.Fatalf("CreateLoadbalancer: %v", err)
	}
	return lb
}

func (c *cloud) listener(t *testing.T, lb, group string, port int) *iaas.VpcLoadbalancerListener {
	t.Helper()
	l, err := c.api.CreateListener(t.Context(), lb, listenerOn(port, group))
	if err != nil {
		t.Fatalf("CreateListener: %v", err)
	}
	return l
}

func listenerOn(port int, group string) iaas.CreateListener {
	return iaas.CreateListener{Name: "http", Port: port, Protocol: iaas.ProtocolTCP, TargetGroup: group}
}
