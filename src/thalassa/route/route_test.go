package route

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// sideSubnet is a subnet beside the default one.
const sideSubnet = "subnet-side"

// newProvider returns a provider in front of an emulated cloud with two subnets.
func newProvider(t *testing.T) *Provider {
	t.Helper()
	seed := emulator.DefaultSeed()
	vpc := &seed.Organisations[0].VPCs[0]
	vpc.Subnets[0].CIDRs = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/17")}
	vpc.Subnets = append(vpc.Subnets, emulator.SubnetSeed{Identity: sideSubnet, Name: "side",
		CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.128.0/18")}})
	emulated, err := emulator.New(emulator.Config{Seed: seed, Middleware: openapitest.Sampled(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := emulated.Close(); err != nil {
			t.Error(err)
		}
	})
	api, err := client.New(client.Options{
		Endpoint: "http://cloud.test", Organisation: emulator.DefaultOrganisationSlug, Network: emulated.Transport(),
		Secrets: secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: emulator.DefaultToken}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(cloudconfig.Config{VPCIdentity: emulator.DefaultVPC},
		inventory.New(api, inventory.Scope{VPC: emulator.DefaultVPC}))
}

// TestSubnetWithoutTable concerns only the nodes in it, and is no reason to think that tables are not needed.
func TestSubnetWithoutTable(t *testing.T) {
	member := func(name, address string) cloud.RouteMember {
		n := &corev1.Node{}
		n.Name = name
		return cloud.RouteMember{Node: n, Known: true, Addresses: []netip.Addr{netip.MustParseAddr(address)}}
	}
	shown := []inventory.RouteTable{{ID: "rtb-main", Subnets: []string{emulator.DefaultSubnet}}}
	got, err := newProvider(t).placed(t.Context(), shown,
		[]cloud.RouteMember{member("a", "10.0.0.5"), member("b", "10.0.128.5")})
	if err != nil || !got.used["rtb-main"] || len(got.used) != 1 || got.certain {
		t.Errorf("placed %+v, error %v", got, err)
	}
	if why := got.unserved["b"]; len(got.unserved) != 1 || !strings.Contains(why, sideSubnet) {
		t.Errorf("the reasons are %v", got.unserved)
	}
}

// TestRefusals: which errors say that the cloud refuses other routes, too.
func TestRefusals(t *testing.T) {
	type says struct {
		ofTable bool
		reason  string
	}
	for err, want := range map[error]says{
		client.ErrQuota: {true, cloud.RouteQuotaExceeded}, client.ErrUnauthorised: {true, ""},
		client.ErrForbidden: {true, ""}, client.ErrUnavailable: {true, ""}, client.ErrThrottled: {true, ""},
		context.DeadlineExceeded: {true, ""},
		client.ErrBadRequest:     {}, client.ErrNotFound: {}, client.ErrConflict: {},
	} {
		got, problem := refusalOf(fmt.Errorf("creating: %w", err)), &cloud.RouteProblem{}
		errors.As(got, &problem)
		if !errors.Is(got, err) || (says{problem.OfTable, problem.Reason}) != want {
			t.Errorf("%v: %+v, want %+v", err, problem, want)
		}
	}
}
