package emulator_test

import (
	"fmt"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// creation is how an object of a kind is made, under the name "same".
type creation struct{ path, body string }

func creations() map[string]creation {
	return map[string]creation{
		"VPC":            {"/v1/vpcs", `{"name":"same","cloudRegionIdentity":"nl-01","vpcCidrs":["10.1.0.0/16"]}`},
		"route table":    {"/v1/route-tables", `{"name":"same","vpcIdentity":"emulator"}`},
		"security group": {"/v1/security-groups", `{"name":"same","vpcIdentity":"emulator"}`},
		"reserved IP":    {"/v1/reserved-ips", `{"name":"same","region":"nl-01"}`},
		"NAT gateway":    {"/v1/nat-gateways", `{"name":"same","subnetIdentity":"emulator"}`},
		"load balancer":  {"/v1/loadbalancers", `{"name":"same","subnet":"emulator"}`},
		"target group":   {"/v1/loadbalancer-target-groups", `{"name":"same","vpc":"emulator","targetPort":80,"protocol":"tcp"}`},
		"machine":        {"/v1/machines", `{"name":"same","subnet":"emulator","machineType":"pgp-small"}`},
	}
}

func TestUniqueNames(t *testing.T) {
	for kind, of := range creations() {
		for _, unique := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, unique %t", kind, unique), func(t *testing.T) {
				created, updated := 201, 200
				if unique {
					created, updated = 409, 409
				}
				e := newEmulator(t, withSwitches(emulator.Switches{UniqueNames: unique}))
				play(t, e, []step{
					{request: "POST " + of.path, body: of.body, status: 201},
					{request: "POST " + of.path, body: of.body, status: created},
					{request: "POST " + of.path, body: replaced(of.body, "same", "other"), status: 201},
					{request: "PUT " + of.path + "/other", body: of.body, status: updated},
					{request: "PUT " + of.path + "/other", body: replaced(of.body, "same", "other"), status: 200},
				})
			})
		}
	}
	// A subnet cannot be made twice from one body.
	subnet := func(name, cidr string) string {
		return `{"name":"` + name + `","vpcIdentity":"emulator","cidr":"` + cidr + `"}`
	}
	play(t, newEmulator(t, withSwitches(emulator.Switches{UniqueNames: true})), []step{
		{request: "POST /v1/subnets", body: subnet("emulator", "10.0.128.0/24"), status: 409, has: []string{"is called", "already"}},
		{request: "POST /v1/subnets", body: subnet("a", "10.0.128.0/24"), status: 201},
		{request: "PUT /v1/subnets/a", body: `{"name":"emulator"}`, status: 409},
	})
}
