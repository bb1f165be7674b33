package emulator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	"github.com/thalassa-cloud/client-go/pkg/base"
	"github.com/thalassa-cloud/client-go/quotas"
	"github.com/thalassa-cloud/client-go/tfs"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// populated is a cloud with one of everything, and everything connected.
func populated(t *testing.T) *cloud {
	t.Helper()
	c := newCloud(t)
	group, ip := c.populatedNetwork(t)
	if _, err := c.api.CreateMachine(t.Context(), iaas.CreateMachine{
		Name: "one", SecurityGroupAttachments: []string{group}, Subnet: emulator.DefaultSubnet,
		MachineType: "pgp-small", MachineImage: "ubuntu-22.04",
		Description: "d", Labels: iaas.Labels{"a": "b"}, Annotations: iaas.Annotations{"c": "d"}, CloudInit: "x",
	}); err != nil {
		t.Fatal(err)
	}
	g, err := c.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
		Name: "web", Vpc: emulator.DefaultVPC, TargetPort: 80, Protocol: iaas.ProtocolTCP,
		EnableProxyProtocol: new(true),
		TargetSelector:      map[string]string{"a": "b"}, LoadbalancingPolicy: new(iaas.LoadbalancingPolicyRandom),
		HealthCheck: &iaas.BackendHealthCheck{Protocol: "tcp", Port: 80, PeriodSeconds: 5, TimeoutSeconds: 5,
			UnhealthyThreshold: 2, HealthyThreshold: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	l := listenerOn(80, g.Identity)
	l.AllowedSources, l.MaxConnections, l.ConnectionIdleTimeout = []string{"10.0.0.0/8"}, new(uint32(1)), new(uint32(2))
	lb, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
		Name: "web", Subnet: emulator.DefaultSubnet, SecurityGroupAttachments: []string{group}, ReservedIpID: &ip,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.api.CreateListener(t.Context(), lb.Identity, l); err != nil {
		t.Fatal(err)
	}
	return c
}

// populatedNetwork adds what lives in a VPC beside machines and load balancers.
func (c *cloud) populatedNetwork(t *testing.T) (group, ip string) {
	t.Helper()
	g, err := c.api.CreateSecurityGroup(t.Context(), iaas.CreateSecurityGroupRequest{
		Name: "web", VpcIdentity: emulator.DefaultVPC, IngressRules: []iaas.SecurityGroupRule{rule("a", 1, 80)},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := c.reservedIP(t, "out")
	if _, err := c.api.CreateNatGateway(t.Context(), iaas.CreateVpcNatGateway{
		Name: "out", SubnetIdentity: emulator.DefaultSubnet, ConfigureDefaultRoute: true, ReservedIpID: &out.Identity,
		SecurityGroupAttachments: []string{g.Identity},
	}); err != nil {
		t.Fatal(err)
	}
	play(t, c.Emulator,
		[]step{{request: "POST /v1/route-tables/default/routes",
			body: `{"destinationCidrBlock":"10.244.0.0/24","gatewayAddress":"10.0.0.9"}`, status: 201}})
	return g.Identity, c.reservedIP(t, "in").Identity
}

// Every key that the emulator writes must be one that the vendor's client
// reads: a misspelt one would be ignored without a word.
func TestClientKnowsEveryKey(t *testing.T) {
	c := populated(t)
	for path, into := range map[string]any{
		"/v1/regions":                          &[]iaas.Region{},
		"/v1/machine-types":                    &[]iaas.MachineType{},
		"/v1/machine-types/by-categories":      &[]iaas.MachineTypeCategory{},
		"/v1/vpcs":                             &[]iaas.Vpc{},
		"/v1/subnets":                          &[]iaas.Subnet{},
		"/v1/machines":                         &[]iaas.Machine{},
		"/v1/machines/one":                     &iaas.Machine{},
		"/v1/loadbalancers":                    &[]iaas.VpcLoadbalancer{},
		"/v1/loadbalancers/web":                &iaas.VpcLoadbalancer{},
		"/v1/loadbalancers/web/listeners":      &[]iaas.VpcLoadbalancerListener{},
		"/v1/loadbalancers/web/listeners/http": &iaas.VpcLoadbalancerListener{},
		"/v1/loadbalancer-target-groups":       &[]iaas.VpcLoadbalancerTargetGroup{},
		"/v1/loadbalancer-target-groups/web":   &iaas.VpcLoadbalancerTargetGroup{},
		"/v1/vpcs/emulator":                    &iaas.Vpc{},
		"/v1/subnets/emulator":                 &iaas.Subnet{},
		"/v1/security-groups":                  &[]iaas.SecurityGroup{},
		"/v1/security-groups/web":              &iaas.SecurityGroup{},
		"/v1/reserved-ips":                     &[]iaas.ReservedIP{},
		"/v1/reserved-ips/in":                  &iaas.ReservedIP{},
		"/v1/nat-gateways":                     &[]iaas.VpcNatGateway{},
		"/v1/nat-gateways/out":                 &iaas.VpcNatGateway{},
		"/v1/route-tables":                     &[]iaas.RouteTable{},
		"/v1/route-tables/default":             &iaas.RouteTable{},
		"/v1/route-tables/default/routes":      &[]iaas.RouteEntry{},
		"/v1/me/organisation-memberships":      &[]base.OrganisationMember{},
	} {
		status, _, body := c.call(t, "GET", path, "")
		decoder := json.NewDecoder(strings.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(into); err != nil || status != http.StatusOK {
			t.Errorf("GET %s: status %d, %v", path, status, err)
		}
	}
}

// The same for what a controller does not need.
func TestClientKnowsEveryKeyOfTheRest(t *testing.T) {
	c := newCloud(t, withProject)
	for path, body := range map[string]string{
		"/v1/cloudinits": `{"name":"x","content":"x"}`,
		"/v1/tfs": `{"name":"x","size":1,"cloudRegionIdentity":"nl-01",` +
			`"vpcIdentity":"emulator","subnetIdentity":"emulator"}`,
		"/v1/vpc-firewall-rules/emulator": `{"name":"x","protocols":{"any":true},"direction":"inbound",` +
			`"action":"drop","priority":1,"sourceSubnetIdentity":"emulator"}`,
		"/v1/vpc-peering-connections": `{"name":"x","requesterVpcIdentity":"emulator",` +
			`"accepterVpcIdentity":"vpc-shop"}`,
		"/v1/quotas/increase-requests": `{"name":"machines","newMaxUsage":200000}`,
		"/v1/machines": `{"name":"x","subnet":"emulator","machineType":"pgp-small",` +
			`"rootVolume":{"size":1}}`,
		"/v1/vpc-firewall-rules/emulator//": `{"name":"y","protocols":{"tcp":true},"direction":"outbound",` +
			`"action":"allow","priority":1}`,
	} {
		if status, _, answer := c.call(t, "POST", path, body); status != http.StatusCreated {
			t.Fatalf("POST %s = %d %s", path, status, answer)
		}
	}
	c.storage(t)
	for path, into := range map[string]any{
		"/v1/images":                      &[]iaas.MachineImage{},
		"/v1/machines":                    &[]iaas.Machine{},
		"/v1/volume-types":                &[]iaas.VolumeType{},
		"/v1/volumes":                     &[]iaas.Volume{},
		"/v1/snapshots":                   &[]iaas.Snapshot{},
		"/v1/snapshot-policies":           &[]iaas.SnapshotPolicy{},
		"/v1/cloudinits":                  &[]iaas.CloudInitTemplate{},
		"/v1/tfs":                         &[]tfs.TfsInstance{},
		"/v1/vpcs":                        &[]iaas.Vpc{},
		"/v1/vpc-firewall-rules/emulator": &[]iaas.VpcFirewallRule{},
		"/v1/vpc-peering-connections":     &[]iaas.VpcPeeringConnection{},
		"/v1/quotas":                      &[]quotas.OrganisationQuota{},
	} {
		c.knowsEveryKey(t, path, into)
	}
}

// storage adds a volume, a snapshot of it, and a volume that is made from that and attached.
func (c *cloud) storage(t *testing.T) {
	t.Helper()
	c.object(t, "POST", "/v1/volumes", volumeNamed("data"), 201)
	c.object(t, "POST", "/v1/snapshots", snapshotNamed("backup", "data"), 201)
	c.object(t, "POST", "/v1/volumes", replaced(volumeNamed("copy"), "}", `,"restoreFromSnapshotId":"backup"}`), 201)
	c.object(t, "POST", "/v1/snapshot-policies", policyNamed("daily"), 201)
	if _, err := c.AddMachine(emulator.MachineSpec{Identity: "vm-storage", Name: "one"}); err != nil {
		t.Fatal(err)
	}
	c.object(t, "POST", "/v1/volumes/copy/attach", replaced(attachOne, "one", "vm-storage"), 200)
}

// Clients dereference these without looking; each is a path into the JSON, with
// numbers for elements of lists.
func TestNestedObjectsAreThere(t *testing.T) {
	c := populated(t)
	tests := map[string][]string{
		"/v1/vpcs": {"0.cloudRegion.slug", "0.subnets.0.identity", "0.subnets.0.slug", "0.subnets.0.labels",
			"0.organisation.identity", "0.routeTable.identity"},
		"/v1/subnets": {"0.vpc.identity", "0.vpcIdentity", "0.cidr"},
		"/v1/machines": {"0.vpc.identity", "0.vpc.cloudRegion.slug", "0.subnet.identity", "0.machineType.slug",
			"0.interfaces.0.ipAddresses.0", "0.status.status"},
		"/v1/loadbalancers": {"0.subnet.identity", "0.vpc.identity", "0.securityGroups.0.identity",
			"0.reservedIp.ipv4Address", "0.reservedIpIdentity", "0.loadbalancerListeners.0.port",
			"0.loadbalancerListeners.0.targetGroup.identity", "0.externalIpAddresses.0", "0.organisation.identity"},
		"/v1/security-groups": {"0.vpc.identity", "0.organisation.identity",
			"0.ingressRules.0.remoteAddress", "0.egressRules", "0.status"},
		"/v1/reserved-ips": {"0.region.slug", "0.attachedToResourceIdentity", "0.ipv4Address"},
		"/v1/nat-gateways": {"0.vpc.identity", "0.subnet.identity", "0.endpointIP",
			"0.reservedIp.identity", "0.securityGroups.0.identity", "0.organisation.identity"},
		"/v1/route-tables": {"0.vpc.identity", "0.routes.0.targetNatGateway.identity",
			"0.associatedSubnets.0.identity", "0.organisation.identity"},
		"/v1/loadbalancers/web/listeners": {"0.port", "0.protocol", "0.identity", "0.targetGroup.vpc.identity",
			"0.allowedSources.0"},
		"/v1/loadbalancer-target-groups": {"0.vpc.identity", "0.loadbalancerListeners.0.identity", "0.labels",
			"0.targetSelector.a",
			"0.loadbalancerTargetGroupAttachments.0.virtualMachineInstance.identity"},
	}
	for path, wanted := range tests {
		_, _, body := c.call(t, "GET", path, "")
		var answer any
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		for _, want := range wanted {
			if at(answer, strings.Split(want, ".")) == nil {
				t.Errorf("GET %s: nothing at %s in %s", path, want, body)
			}
		}
	}
}

// at is what a path leads to, or nil.
func at(value any, path []string) any {
	if len(path) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		return at(v[path[0]], path[1:])
	case []any:
		// Tests look at first elements only.
		if path[0] == "0" && len(v) > 0 {
			return at(v[0], path[1:])
		}
	}
	return nil
}

// Statuses and bodies as the API's documentation and its clients expect them.
func TestStatusCodes(t *testing.T) {
	c := populated(t)
	const groups, listeners = "/v1/loadbalancer-target-groups", "/v1/loadbalancers/web/listeners"
	steps := []struct {
		method, path, body string
		status             int
		answered           bool
	}{
		{"GET", "/v1/machines", "", 200, true},
		{"POST", "/v1/machines", `{"name":"two","subnet":"emulator","machineType":"pgp-small"}`, 201, true},
		{"PUT", "/v1/machines/two", `{"name":"two"}`, 200, true},
		{"POST", "/v1/machines/two/stop", "", 204, false},
		{"POST", "/v1/machines/two/start", "", 204, false},
		{"POST", "/v1/machines/two/restart", "", 204, false},
		{"DELETE", "/v1/machines/two", "", 204, false},
		{"POST", groups, `{"name":"x","vpc":"emulator","targetPort":80,"protocol":"tcp"}`, 201, true},
		{"PUT", groups + "/x", `{"name":"x","targetPort":81,"protocol":"tcp"}`, 200, true},
		{"POST", groups + "/x/attachments", `{"TargetGroupID":"x","attachments":null}`, 204, false},
		{"POST", groups + "/x/attachments", `{"TargetGroupID":"x"}`, 204, false},
		{"DELETE", groups + "/x", "", 204, false},
		{"DELETE", groups + "/web", "", 409, true},
		{"PUT", "/v1/loadbalancers/web", `{"name":"web"}`, 200, true},
		{"DELETE", listeners + "/http", "", 204, false},
		{"DELETE", "/v1/loadbalancers/web", "", 204, false},
		{"DELETE", "/v1/loadbalancers/web", "", 404, true},
		{"DELETE", groups + "/web", "", 204, false},
	}
	for _, step := range steps {
		status, header, body := c.call(t, step.method, step.path, step.body)
		if status != step.status || (body != "") != step.answered {
			t.Errorf("%s %s = %d %q, want %d, with a body: %t", step.method, step.path, status, body, step.status,
				step.answered)
		}
		if got := header.Get("Content-Type"); step.answered && got != "application/json" {
			t.Errorf("%s %s: Content-Type %q, want application/json", step.method, step.path, got)
		}
	}
}

// No timestamp may be empty: clients fail to decode the whole answer then.
func TestNoEmptyTimestamps(t *testing.T) {
	c := populated(t)
	for _, path := range []string{"/v1/regions", "/v1/vpcs", "/v1/subnets", "/v1/machines", "/v1/loadbalancers",
		"/v1/loadbalancer-target-groups",
		"/v1/security-groups", "/v1/reserved-ips", "/v1/nat-gateways", "/v1/route-tables"} {
		_, _, body := c.call(t, "GET", path, "")
		for _, bad := range []string{`At":""`, `Time":""`, "0001-01-01"} {
			if strings.Contains(body, bad) {
				t.Errorf("GET %s has %s in %s", path, bad, body)
			}
		}
	}
}
