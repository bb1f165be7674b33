package emulator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func rule(name string, priority int32, ports ...int32) iaas.SecurityGroupRule {
	return iaas.SecurityGroupRule{
		Name: name, IPVersion: "ipv4", Protocol: "tcp", Priority: priority, RemoteType: "address",
		RemoteAddress: new("192.0.2.0/24"), PortRangeMin: ports[0], PortRangeMax: ports[len(ports)-1], Policy: "allow",
	}
}

func (c *cloud) securityGroup(t *testing.T, name string) *iaas.SecurityGroup {
	t.Helper()
	g, err := c.api.CreateSecurityGroup(t.Context(), iaas.CreateSecurityGroupRequest{Name: name,
		VpcIdentity: emulator.DefaultVPC})
	if err != nil {
		t.Fatalf("CreateSecurityGroup: %v", err)
	}
	return g
}

func TestSecurityGroupOfTheOfficialClient(t *testing.T) {
	c := newCloud(t)
	created, err := c.api.CreateSecurityGroup(t.Context(), iaas.CreateSecurityGroupRequest{
		Name: "web", Description: "d", Labels: iaas.Labels{"k8s.thalassa.cloud/x": "y"},
		VpcIdentity:           emulator.DefaultVPC,
		AllowSameGroupTraffic: true, IngressRules: []iaas.SecurityGroupRule{rule("a", 1, 80)},
		EgressRules: []iaas.SecurityGroupRule{rule("b", 2, 1, 65535)},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.api.GetSecurityGroup(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	if got.Identity != created.Identity || got.Status != iaas.SecurityGroupStatusActive ||
		got.Vpc.Identity != emulator.DefaultVPC ||
		got.Organisation.Identity != emulator.DefaultOrganisation || !got.AllowSameGroupTraffic ||
		got.Labels["k8s.thalassa.cloud/x"] != "y" {
		t.Errorf("security group %+v is not the one that was created", got)
	}
	if diff := cmp.Diff([][]iaas.SecurityGroupRule{{rule("a", 1, 80)}, {rule("b", 2, 1, 65535)}},
		[][]iaas.SecurityGroupRule{got.IngressRules, got.EgressRules}); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	batch := iaas.BatchUpdateSecurityGroupRulesRequest{Rules: []iaas.SecurityGroupRule{rule("c", 3, 443),
		rule("d", 4, 8443)}}
	if rules, err := c.api.BatchUpdateSecurityGroupIngressRules(t.Context(), got.Identity, batch); err != nil ||
		!cmp.Equal(rules, batch.Rules) {
		t.Errorf("ingress batch: %+v, %v", rules, err)
	}
	if rules, err := c.api.BatchUpdateSecurityGroupEgressRules(t.Context(), got.Identity,
		iaas.BatchUpdateSecurityGroupRulesRequest{}); err != nil || len(rules) != 0 {
		t.Errorf("egress batch: %+v, %v, want none", rules, err)
	}
	got, err = c.api.GetSecurityGroup(t.Context(), got.Identity)
	if err != nil || got.ObjectVersion != 3 || !cmp.Equal(got.IngressRules, batch.Rules) || len(got.EgressRules) != 0 ||
		!got.UpdatedAt.After(got.CreatedAt) {
		t.Errorf("after the batches: %+v, %v", got, err)
	}
	if err := c.api.DeleteSecurityGroup(t.Context(), got.Identity); err != nil {
		t.Fatal(err)
	}
	if _, err := c.api.GetSecurityGroup(t.Context(), got.Identity); !vendor.IsNotFound(err) {
		t.Errorf("reading a deleted group: %v, want not found", err)
	}
}

func TestSecurityGroupUpdates(t *testing.T) {
	for _, mode := range []emulator.UpdateMode{emulator.Replace, emulator.Merge} {
		for _, skip := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, skip %t", mode, skip), func(t *testing.T) {
				c := newCloud(t, withSwitches(emulator.Switches{Updates: mode}))
				g, err := c.api.CreateSecurityGroup(t.Context(), iaas.CreateSecurityGroupRequest{
					Name: "web", Labels: iaas.Labels{"a": "b"}, VpcIdentity: emulator.DefaultVPC,
					AllowSameGroupTraffic: true,
					IngressRules:          []iaas.SecurityGroupRule{rule("a", 1, 80)},
					EgressRules:           []iaas.SecurityGroupRule{rule("b", 2, 80)},
				})
				if err != nil {
					t.Fatal(err)
				}
				g, err = c.api.UpdateSecurityGroup(t.Context(), g.Identity, iaas.UpdateSecurityGroupRequest{
					Name: "other", ObjectVersion: g.ObjectVersion, SkipRulesUpdate: skip,
					IngressRules: []iaas.SecurityGroupRule{rule("c", 3, 81)},
				})
				if err != nil {
					t.Fatal(err)
				}
				ingress, egress, labels := "c", 0, 0
				if skip {
					ingress = "a"
				}
				if skip || mode == emulator.Merge {
					egress = 1
				}
				if mode == emulator.Merge {
					labels = 1
				}
				if g.Name != "other" || g.AllowSameGroupTraffic || g.ObjectVersion != 2 ||
					g.IngressRules[0].Name != ingress || len(g.EgressRules) != egress || len(g.Labels) != labels {
					t.Errorf("updated %+v, want ingress rule %s, %d egress rules, %d labels", g, ingress, egress,
						labels)
				}
			})
		}
	}
}

func TestSecurityGroupVersions(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strict %t", strict), func(t *testing.T) {
			c := newCloud(t, withSwitches(emulator.Switches{StrictSecurityGroups: strict}))
			g := c.securityGroup(t, "web")
			update := func(version int) error {
				_, err := c.api.UpdateSecurityGroup(t.Context(), g.Identity,
					iaas.UpdateSecurityGroupRequest{Name: "web", ObjectVersion: version})
				return err
			}
			if err := update(1); err != nil {
				t.Error(err)
			}
			if err := update(1); err == nil || !strings.Contains(err.Error(), "409") ||
				!strings.Contains(err.Error(), "objectVersion 2, not 1") {
				t.Errorf("update of an old version: %v, want 409", err)
			}
			if err := update(0); (err != nil) != strict {
				t.Errorf("update without a version: %v, want refused: %t", err, strict)
			}
		})
	}
}

// attachable is something that security groups can be attached to.
type attachable struct {
	create string
	path   string
	body   string // of a PUT that leaves the groups out
}

func attachables() map[string]attachable {
	return map[string]attachable{
		"load balancer": {`{"name":"x","subnet":"emulator"`, "/v1/loadbalancers", `{"name":"x"`},
		"machine":       {`{"name":"x","subnet":"emulator","machineType":"pgp-small"`, "/v1/machines", `{"name":"x"`},
		"NAT gateway":   {`{"name":"x","subnetIdentity":"emulator"`, "/v1/nat-gateways", `{"name":"x"`},
	}
}

func TestSecurityGroupsAreAttached(t *testing.T) {
	with := func(body string, groups string) string { return body + `,"securityGroupAttachments":[` + groups + `]}` }
	for kind, a := range attachables() {
		for _, mode := range []emulator.UpdateMode{emulator.Replace, emulator.Merge} {
			t.Run(fmt.Sprint(kind, " ", mode), func(t *testing.T) {
				c := newCloud(t, withSecondRegion, func(cfg *emulator.Config) { cfg.Switches.Updates = mode })
				one, two := c.securityGroup(t, "one"), c.securityGroup(t, "two")
				left := []string{`!"securityGroups":[{`, "!" + one.Identity}
				freed := 204
				if mode == emulator.Merge {
					left, freed = []string{one.Identity, two.Identity}, 409
				}
				play(t, c.Emulator, []step{
					{request: "POST " + a.path, body: with(a.create, `"sg-far"`), status: 400,
						has: []string{`security group \"sg-far\" is in another VPC`}},
					{request: "POST " + a.path, body: with(a.create, `"sg-x"`), status: 400,
						has: []string{`security group \"sg-x\" not found`}},
					{request: "GET " + a.path, status: 200, has: []string{"![{"}},
					{request: "POST " + a.path, body: with(a.create, `"`+one.Identity+`","one","two"`), status: 201},
					{request: "GET " + a.path + "/x", status: 200,
						has: []string{`"securityGroups":[{"identity":"` + one.Identity,
							`{"identity":"` + two.Identity}},
					{request: "DELETE /v1/security-groups/one", status: 409, has: []string{"is in use by " + kind}},
					{request: "PUT " + a.path + "/x", body: with(a.body, `"sg-same"`), status: 400},
					{request: "PUT " + a.path + "/x", body: a.body + "}", status: 200, has: left},
					{request: "DELETE /v1/security-groups/one", status: freed},
					{request: "PUT " + a.path + "/x", body: with(a.body, `"two"`), status: 200,
						has: []string{two.Identity, "!" + one.Identity}},
					{request: "DELETE /v1/security-groups/two", status: 409},
					{request: "PUT " + a.path + "/x", body: with(a.body, ""), status: 200,
						has: []string{"!" + two.Identity}},
					{request: "PUT " + a.path + "/x", body: with(a.body, `"two"`), status: 200},
					{request: "DELETE " + a.path + "/x", status: 204},
					{request: "DELETE /v1/security-groups/two", status: 204},
				})
			})
		}
	}
}

func TestMachineNamesItsSecurityGroups(t *testing.T) {
	c := newCloud(t)
	g := c.securityGroup(t, "nodes")
	m, err := c.api.CreateMachine(t.Context(), iaas.CreateMachine{
		Name: "one", Subnet: emulator.DefaultSubnet, MachineType: "pgp-small",
		SecurityGroupAttachments: []string{g.Identity},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.SecurityGroupAttachments, []string{g.Identity}) || len(m.SecurityGroups) != 1 ||
		m.SecurityGroups[0].Name != "nodes" {
		t.Errorf("machine has %v and %+v, want group nodes", m.SecurityGroupAttachments, m.SecurityGroups)
	}
	if _, err := c.AddMachine(emulator.MachineSpec{Name: "two", SecurityGroups: []string{"nowhere"}}); err == nil {
		t.Error("a machine was added to an unknown security group")
	}
}

// Deleting a load balancer or gateway releases its groups and reserved IP at
// once, or, with the switch, when it is gone.
func TestLateReleaseOfAttachments(t *testing.T) {
	for _, late := range []bool{false, true} {
		for _, path := range []string{"/v1/loadbalancers", "/v1/nat-gateways"} {
			t.Run(fmt.Sprint(path, " late ", late), func(t *testing.T) {
				inVirtualTime(t, func(cfg *emulator.Config) {
					cfg.Switches.LateRelease = late
					cfg.Delays.LoadbalancerDelete, cfg.Delays.NetworkDelete = minute, minute
				}, func(e *emulator.Emulator) {
					held, status, address := "available", 204, `!"198.18.0.2"`
					if late {
						held, status, address = "attached", 409, `"198.18.0.2"`
					}
					play(t, e, []step{
						{request: "POST /v1/security-groups", body: `{"name":"g","vpcIdentity":"emulator"}`,
							status: 201},
						{request: "POST /v1/reserved-ips", body: `{"name":"i","region":"nl-01"}`, status: 201,
							has: []string{"198.18.0.2"}},
						{request: "POST " + path, status: 201,
							body: `{"name":"x","subnet":"emulator","subnetIdentity":"emulator","securityGroupAttachments":["g"],"reservedIpId":"i"}`},
						{request: "DELETE " + path + "/x", status: 204},
						{request: "GET " + path + "/x", status: 200, has: []string{`"status":"deleting"`, address}},
						{request: "GET /v1/reserved-ips/i", status: 200, has: []string{`"status":"` + held + `"`}},
						{request: "DELETE /v1/security-groups/g", status: status},
						{wait: minute, request: "GET " + path + "/x", status: 404},
						{request: "GET /v1/reserved-ips/i", status: 200, has: []string{`"status":"available"`}},
					})
				})
			})
		}
	}
}
