package inventory

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// What the world has beside the emulator's own region, VPC and subnet.
const (
	otherRegion = "de-01"
	otherVPC    = "vpc-other"
	otherSubnet = "subnet-other" // of the emulator's VPC
	farSubnet   = "subnet-far"   // of the other VPC
)

// rig is an inventory of an emulated cloud. It owns what carries the label cluster=k1; the owner is in the label
// owner.
type rig struct {
	testing.TB
	*Inventory
	emulator *emulator.Emulator
}

func newRig(tb testing.TB, config emulator.Config) *rig {
	tb.Helper()
	prefixes := func(text string) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(text)} }
	seed := emulator.DefaultSeed()
	seed.Regions = append(seed.Regions, emulator.RegionSeed{Name: otherRegion, Zones: []string{"de-01a"},
		PublicAddresses: prefixes("203.0.113.0/24")})
	org := &seed.Organisations[0]
	org.VPCs[0].Subnets = append(org.VPCs[0].Subnets, emulator.SubnetSeed{Identity: otherSubnet, Name: "other",
		CIDRs: prefixes("10.0.128.0/24")})
	org.VPCs = append(org.VPCs, emulator.VPCSeed{Identity: otherVPC, Name: "other", Region: emulator.DefaultRegion,
		CIDRs:   prefixes("10.1.0.0/16"),
		Subnets: []emulator.SubnetSeed{{Identity: farSubnet, Name: "far", CIDRs: prefixes("10.1.0.0/17")}}})
	config.Seed, config.Middleware = seed, openapitest.Sampled(tb)
	emulated, err := emulator.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := emulated.Close(); err != nil {
			tb.Error(err)
		}
	})
	w := &rig{TB: tb, emulator: emulated}
	w.restart()
	return w
}

// restart makes an inventory that knows nothing of what was before.
func (w *rig) restart() {
	w.Helper()
	w.restartBy(w.emulator.Transport())
}

// restartBy is restart with another way to the cloud.
func (w *rig) restartBy(network http.RoundTripper) {
	w.Helper()
	api, err := client.New(client.Options{
		Endpoint: "http://cloud.test", Organisation: emulator.DefaultOrganisationSlug, Network: network,
		Secrets: secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: emulator.DefaultToken}},
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Inventory = New(api, Scope{VPC: emulator.DefaultVPC, Owned: resource.Labels{"cluster": "k1"},
		OwnerLabel: "owner"})
}

// must makes a failure of something that returns a value the test's.
func must[T any](w *rig) func(T, error) T {
	return func(value T, err error) T {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
		return value
	}
}

// ok makes a failure the test's.
func (w *rig) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// owned are the labels of an object of that owner.
func owned(by string) resource.Labels { return resource.Labels{"cluster": "k1", "owner": by} }

// balancer makes a load balancer of ours in the emulator's subnet.
func (w *rig) balancer(change ...func(*resource.NewLoadBalancer)) resource.LoadBalancer {
	w.Helper()
	create := resource.NewLoadBalancer{LoadBalancer: resource.LoadBalancer{Name: "web", Labels: owned("web"),
		Subnet: emulator.DefaultSubnet}}
	for _, change := range change {
		change(&create)
	}
	return must[resource.LoadBalancer](w)(w.CreateLoadBalancer(w.Context(), create))
}

// listed is what a list that begins now says about a load balancer.
func (w *rig) listed(id string) resource.LoadBalancer {
	w.Helper()
	w.ok(w.balancers.Refresh(w.Context(), Fresh))
	return inCopy(w, w.balancers, id)
}

// inCopy is the object with that identity in the copy as it is.
func inCopy[T any](tb testing.TB, s *store.Store[T], id string) (object T) {
	tb.Helper()
	if !s.ChangeStored(id, func(latest T) (T, bool) {
		object = latest
		return latest, false
	}) {
		tb.Errorf("%s is not in the copy", id)
	}
	return object
}

// groupByHand makes a security group that is not ours.
func (w *rig) groupByHand(name, vpc string, rules ...iaas.SecurityGroupRule) string {
	w.Helper()
	return w.post(iaas.SecurityGroupEndpoint, iaas.CreateSecurityGroupRequest{Name: name, VpcIdentity: vpc,
		IngressRules: rules})
}

// reserve makes a reserved IP.
func (w *rig) reserve(name, region string) string {
	w.Helper()
	return w.post(iaas.ReservedIPEndpoint, iaas.CreateReservedIpRequest{Name: name, Region: region})
}

// post creates something, not through the inventory, and returns its identity.
func (w *rig) post(path string, body any) string {
	w.Helper()
	return must[reference](w)(client.Post[reference](w.Context(), w.Inventory.cloud, path, body)).Identity
}

// calls is how often something was called since the last time, like "GET /v1/security-groups".
func (w *rig) calls(operation string) int {
	count := w.emulator.Counters()[operation]
	w.emulator.ResetCounters()
	return count
}

// injectFault makes the cloud do that to calls like that.
func (w *rig) injectFault(operation string, count int, effect fault.Effect) {
	w.Helper()
	must[string](w)(w.emulator.Inject(fault.Rule{Operation: operation, Count: count, Effect: effect}))
}
