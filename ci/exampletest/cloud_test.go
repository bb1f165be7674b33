package exampletest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	contract "github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/conformance"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
)

// configuration is the cloud-config of the examples' cluster; the endpoint is added.
const configuration = `organisation: ` + emulator.DefaultOrganisationSlug + `
vpcIdentity: ` + emulator.DefaultVPC + `
cluster: ` + clusterName + `
cloudCredentials: {personalAccessToken: ` + emulator.DefaultToken + `}
defaultSubnet: ` + emulator.DefaultSubnet + `
loadBalancer: {creationPollInterval: 1}
`

// clusterName is the cluster's identity in the cloud.
const clusterName = "k8s-examples"

// cloud is an emulated cloud with everything that the examples name, and the provider that uses it.
type cloud struct {
	url      string
	provider cloudprovider.LoadBalancer
	events   *record.FakeRecorder
	nodes    []*corev1.Node
}

// seed has what the examples name.
func seed() emulator.Seed {
	seed := emulator.DefaultSeed()
	seed.Regions[0].PublicAddresses = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"),
		netip.MustParsePrefix("2001:db8::/64")}
	owner := &seed.Organisations[0]
	vpc := &owner.VPCs[0]
	vpc.Subnets = append(vpc.Subnets, emulator.SubnetSeed{Name: "frontend",
		CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.200.0/24")}})
	vpc.SecurityGroups = append(vpc.SecurityGroups, emulator.SecurityGroupSeed{Name: "office"})
	owner.ReservedIPs = append(owner.ReservedIPs,
		emulator.ReservedIPSeed{Name: "shop", Region: emulator.DefaultRegion},
		emulator.ReservedIPSeed{Name: "till", Region: emulator.DefaultRegion,
			Addresses: []netip.Addr{netip.MustParseAddr("203.0.113.10")}})
	return seed
}

// newCloud starts one for a test.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	emulated, err := emulator.New(emulator.Config{Seed: seed(), Switches: emulator.Switches{LoadbalancerHostnames: true,
		StrictSecurityGroups: true}, Middleware: openapitest.Sampled(t)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(emulated)
	t.Cleanup(func() {
		server.Close()
		if err := emulated.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &cloud{url: server.URL, events: record.NewFakeRecorder(100)}
	for name, labels := range map[string]map[string]string{"worker-1": nil,
		"worker-2": {"node-role.example.com/edge": "true"}} {
		id, err := emulated.AddMachine(emulator.MachineSpec{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec:       corev1.NodeSpec{ProviderID: thalassa.ProviderName + "://" + id},
		})
	}
	c.provider = c.connect(t)
	return c
}

// connect makes the provider as the program does, and records the events that it reports to the owners of Services.
func (c *cloud) connect(t *testing.T) cloudprovider.LoadBalancer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cloud-config.yaml")
	if err := os.WriteFile(file, []byte(configuration+"endpoint: "+c.url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := thalassa.New("test")(t.Context(), contract.Options{ConfigFile: file})
	if err != nil {
		t.Fatal(err)
	}
	if made.LoadBalancers == nil {
		t.Fatal("load balancers are switched off")
	}
	return conformance.NewLibrary(made.LoadBalancers, made.LoadBalancerBehaviour, c.events)
}

// serve applies a Service until its load balancer serves it.
func (c *cloud) serve(t *testing.T, service *corev1.Service) (status *corev1.LoadBalancerStatus) {
	t.Helper()
	c.until(t, func() (err error) {
		status, err = c.provider.EnsureLoadBalancer(t.Context(), clusterName, service, c.nodes)
		return err
	})
	return status
}

// remove takes a Service away until nothing in the cloud is its any more.
func (c *cloud) remove(t *testing.T, service *corev1.Service) {
	t.Helper()
	c.until(t, func() error { return c.provider.EnsureLoadBalancerDeleted(t.Context(), clusterName, service) })
}

// until does something again for as long as the cloud is busy.
func (c *cloud) until(t *testing.T, do func() error) {
	t.Helper()
	for {
		err := do()
		reason := contract.ReasonOf(err)
		switch {
		case err == nil:
			return
		case !reason.Waits():
			t.Fatal(err)
		}
		select {
		case <-time.After(reason.Until):
		case <-t.Context().Done():
			t.Fatal(err)
		}
	}
}

// warnings are all that were reported.
func (c *cloud) warnings() []string {
	var all []string
	for {
		select {
		case event := <-c.events.Events:
			if strings.HasPrefix(event, corev1.EventTypeWarning) {
				all = append(all, event)
			}
		default:
			return all
		}
	}
}

// call calls the cloud's API as its owner would, with the answer in into.
func (c *cloud) call(t *testing.T, method, path, body string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s", method, path, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}
