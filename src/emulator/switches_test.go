package emulator_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"

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
		"target group": {"/v1/loadbalancer-target-groups",
			`{"name":"same","vpc":"emulator","targetPort":80,"protocol":"tcp"}`},
		"volume": {"/v1/volumes",
			`{"name":"same","size":1,"cloudRegionIdentity":"nl-01","volumeTypeIdentity":"block"}`},
		"service account": {"/v1/service-accounts", `{"name":"same"}`},
		"team":            {"/v1/teams", `{"name":"same"}`},
		"machine":         {"/v1/machines", `{"name":"same","subnet":"emulator","machineType":"pgp-small"}`},
		"cloud-init":      {"/v1/cloudinits", `{"name":"same","content":"c"}`},
		"TFS instance": {"/v1/tfs", `{"name":"same","size":1,"cloudRegionIdentity":"nl-01","vpcIdentity":"emulator",` +
			`"subnetIdentity":"emulator"}`},
		"peering": {"/v1/vpc-peering-connections", `{"name":"same","requesterVpcIdentity":"emulator",` +
			`"accepterVpcIdentity":"vpc-next","accepterOrganisationIdentity":"o-next"}`},
		"firewall rule": {"/v1/vpc-firewall-rules/emulator", `{"name":"same","protocols":{"any":true},` +
			`"direction":"inbound","action":"drop","priority":1,"state":"active"}`},
	}
}

func TestUniqueNames(t *testing.T) {
	for kind, of := range creations() {
		for _, unique := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, unique %t", kind, unique), func(t *testing.T) {
				created, updated, name := 201, 200, `"name":"same"`
				if unique {
					created, updated, name = 409, 409, `"name":"other"`
				}
				e := newEmulator(t, neighbour, withSwitches(emulator.Switches{UniqueNames: unique}))
				play(t, e, []step{
					{request: "POST " + of.path, body: of.body, status: 201},
					{request: "POST " + of.path, body: of.body, status: created},
					{request: "POST " + of.path, body: replaced(of.body, "same", "other"), status: 201},
					{request: "PUT " + of.path + "/other", body: of.body, status: updated},
					{request: "GET " + of.path + "/other", status: 200, has: []string{name}},
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
		{request: "POST /v1/subnets", body: subnet("emulator", "10.0.128.0/24"), status: 409,
			has: []string{"is called", "already"}},
		{request: "POST /v1/subnets", body: subnet("a", "10.0.128.0/24"), status: 201},
		{request: "PUT /v1/subnets/a", body: `{"name":"emulator"}`, status: 409},
		// The slugs of projects are unique in any case.
		{request: "POST /v1/projects", body: `{"name":"a"}`, status: 201},
		{request: "POST /v1/projects", body: `{"name":"b"}`, status: 201},
		{request: "PUT /v1/projects/b", body: `{"name":"a"}`, status: 409},
		{request: "PUT /v1/projects/b", body: `{"name":"b"}`, status: 200},
	})
	// Nor can an update of several rules give two of them one name.
	e := newEmulator(t, withSwitches(emulator.Switches{UniqueNames: true, Updates: emulator.Merge}))
	const rules = "/v1/vpc-firewall-rules/emulator"
	var batch []string
	for _, name := range []string{"a", "b"} {
		made := serve(e, apiRequest(t, "", "POST", rules, `{"name":"`+name+`","protocols":{"any":true},`+
			`"direction":"inbound","action":"drop","priority":1,"state":"active"}`))
		var rule object
		if err := json.Unmarshal(made.Body.Bytes(), &rule); err != nil {
			t.Fatal(err)
		}
		batch = append(batch, `{"identity":"`+rule.Identity+`","name":"c"}`)
	}
	play(t, e, []step{
		{request: "PUT " + rules, body: `{"firewallRules":[` + strings.Join(batch, ",") + `]}`, status: 409},
		{request: "PUT " + rules, body: `{"firewallRules":[` + batch[0] + `]}`, status: 200},
		{request: "PUT " + rules, body: `{"firewallRules":[` + batch[1] + `]}`, status: 409},
	})
}

// Does "healthCheck": null remove the health check, or is it as good as nothing?
func TestNullHealthCheck(t *testing.T) {
	const (
		path    = "/v1/loadbalancer-target-groups"
		check   = `"healthCheck":{"protocol":"tcp","port":80,"path":"","periodSeconds":10,"timeoutSeconds":5,"unhealthyThreshold":3,"healthyThreshold":2}`
		rest    = `{"name":"g","targetPort":80,"protocol":"tcp"`
		present = `"healthCheck":{`
		absent  = "!" + present
	)
	for _, test := range []struct {
		updates      emulator.UpdateMode
		removes      bool
		null, silent string // what is there afterwards
	}{
		{emulator.Replace, false, absent, absent},
		{emulator.Replace, true, absent, absent},
		{emulator.Merge, false, present, present},
		{emulator.Merge, true, absent, present},
	} {
		t.Run(fmt.Sprintf("%s, null removes %t", test.updates, test.removes), func(t *testing.T) {
			for body, want := range map[string]string{rest + `,"healthCheck":null}`: test.null,
				rest + `}`: test.silent} {
				e := newEmulator(t,
					withSwitches(emulator.Switches{Updates: test.updates, NullRemovesHealthCheck: test.removes}))
				play(t, e, []step{
					{request: "POST " + path, body: rest + `,"vpc":"emulator",` + check + `}`, status: 201,
						has: []string{present}},
					{request: "PUT " + path + "/g", body: rest + "," + check + `}`, status: 200,
						has: []string{present}},
					{request: "PUT " + path + "/g", body: body, status: 200, has: []string{want}},
					{request: "GET " + path + "/g", status: 200, has: []string{want}},
				})
			}
		})
	}
}

func TestApplicationProtocols(t *testing.T) {
	const groups, listeners = "/v1/loadbalancer-target-groups", "/v1/loadbalancers/web/listeners"
	for protocol, transport := range map[string]string{"http": "tcp", "https": "tcp", "grpc": "tcp", "quic": "udp"} {
		t.Run(protocol, func(t *testing.T) {
			play(t, newEmulator(t), []step{
				{request: "POST " + groups, body: replaced(groupNamed("g"), "tcp", protocol), status: 400,
					has: []string{"must be one of [tcp udp]"}},
			})
			plane := &recorder{}
			e := newEmulator(t, withSwitches(emulator.Switches{ApplicationProtocols: true}),
				func(cfg *emulator.Config) {
					cfg.DataPlane = plane
				})
			play(t, e, []step{
				{request: "POST " + groups, body: replaced(groupNamed("g"), "tcp", protocol), status: 201},
				{request: "POST " + groups, body: replaced(groupNamed("plain"), "tcp", transport), status: 201},
				{request: "POST " + groups, body: replaced(groupNamed("x"), "tcp", "sctp"), status: 400,
					has: []string{"tcp udp http https grpc quic"}},
				{request: "POST /v1/loadbalancers", body: `{"name":"web","subnet":"emulator"}`, status: 201},
			})
			listener := func(name, port, protocol, group string) string {
				return `{"name":"` + name + `","port":` + port + `,"protocol":"` + protocol + `","targetGroup":"` +
					identityOf(t, e, groups+"/"+group) + `"}`
			}
			play(t, e, []step{
				{request: "POST " + listeners, body: listener("l", "443", protocol, "g"), status: 201,
					has: []string{`"protocol":"` + protocol + `"`}},
				{request: "POST " + listeners, body: listener("m", "443", transport, "plain"), status: 409,
					has: []string{"port 443"}},
				{request: "POST " + listeners, body: listener("m", "444", transport, "g"), status: 400,
					has: []string{"serves " + protocol}},
			})
			if got := plane.last.Listeners; len(got) != 1 || string(got[0].Protocol) != transport {
				t.Errorf("the data plane carries %+v, want one listener over %s", got, transport)
			}
		})
	}
}

func TestLoadbalancerHostnames(t *testing.T) {
	for _, named := range []bool{false, true} {
		adjust := func(cfg *emulator.Config) {
			cfg.Switches.LoadbalancerHostnames, cfg.Delays.LoadbalancerCreate = named, minute
		}
		inVirtualTime(t, adjust, func(e *emulator.Emulator) {
			want := `"hostname":""`
			play(t, e,
				[]step{{request: "POST /v1/loadbalancers", body: `{"name":"web","subnet":"emulator"}`, status: 201,
					has: []string{want}}})
			if named {
				want = `"hostname":"` + identityOf(t, e, "/v1/loadbalancers/web") + `.loadbalancers.emulator.invalid"`
			}
			play(t, e, []step{{wait: minute, request: "GET /v1/loadbalancers/web", status: 200, has: []string{want}}})
		})
	}
}

func TestTargetStatus(t *testing.T) {
	const group = "/v1/loadbalancer-target-groups"
	for chosen, want := range map[int]int{0: 400, 400: 400, 404: 404, 409: 409, 422: 422} {
		e := newEmulator(t, withSecondRegion, func(cfg *emulator.Config) { cfg.Switches.TargetStatus = chosen })
		far, err := e.AddMachine(emulator.MachineSpec{Name: "far", Subnet: "subnet-far"})
		if err != nil {
			t.Fatal(err)
		}
		play(t, e, []step{{request: "POST " + group, body: groupNamed("g"), status: 201}})
		for _, body := range []string{`{"serverIdentity":"nothing"}`, `{"endpointIdentity":"nothing"}`,
			`{"serverIdentity":"` + far + `"}`} {
			play(t, e, []step{
				{request: "POST " + group + "/g/attach", body: body, status: want},
				{request: "POST " + group + "/g/attachments", body: `{"attachments":[` + body + `]}`, status: want},
			})
		}
		play(t, e, []step{{request: "POST " + group + "/g/attach", body: `{}`, status: 400}})
	}
}

// TestDoneBody: what has no content to answer with answers with some, and the vendor's client does not mind.
func TestDoneBody(t *testing.T) {
	for chosen, want := range map[emulator.DoneBody]string{
		"": "", emulator.NoBody: "", emulator.NullBody: "null",
		emulator.ObjectBody: `{"identity":"ID","message":"done"}`,
		emulator.ListBody:   `[{"identity":"ID","message":"done"}]`,
	} {
		t.Run(string(chosen), func(t *testing.T) {
			c := newCloud(t, withSwitches(emulator.Switches{DoneStatus: http.StatusOK, DoneBody: chosen}))
			group, server := c.group(t, "g", 80), c.machine(t, "m")
			want := strings.Replace(want, "ID", group.Identity, 1)
			attached := `{"attachments":[{"serverIdentity":"` + server + `"}]}`
			status, header, got := c.call(t, "POST", "/v1/loadbalancer-target-groups/g/attachments", attached)
			if strings.TrimSpace(got) != want || status != http.StatusOK ||
				(header.Get("Content-Type") == "application/json") != (want != "") {
				t.Errorf("attachments: %d %s %q, want 200 %q", status, header.Get("Content-Type"), got, want)
			}
			batch := iaas.TargetGroupAttachmentsBatch{TargetGroupID: group.Identity, Attachments: []iaas.AttachTarget{}}
			if err := c.api.SetTargetGroupServerAttachments(t.Context(), batch); err != nil {
				t.Errorf("the vendor's client: %v", err)
			}
			if err := c.api.DeleteTargetGroup(t.Context(),
				iaas.DeleteTargetGroupRequest{Identity: group.Identity}); err != nil {
				t.Errorf("the vendor's client: %v", err)
			}
		})
	}
	for name, bad := range map[string]emulator.Switches{
		`switch DoneBody is "text"`:         {DoneStatus: http.StatusOK, DoneBody: "text"},
		"set DoneStatus to 200 or 202":      {DoneBody: emulator.NullBody},
		"an answer with status 204 cannot ": {DoneBody: emulator.ListBody, DoneStatus: http.StatusNoContent},
	} {
		_, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(), Switches: bad})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: error %v, want %q", bad, err, name)
		}
	}
}

func TestDoneStatus(t *testing.T) {
	for chosen, want := range map[int]int{0: 204, 204: 204, 200: 200, 202: 202} {
		e := newEmulator(t, withSwitches(emulator.Switches{DoneStatus: chosen}))
		play(t, e, []step{
			{request: "POST /v1/machines", body: `{"name":"m","subnet":"emulator","machineType":"pgp-small"}`,
				status: 201},
			{request: "POST /v1/machines/m/stop", status: want, has: []string{"!{"}},
			{request: "DELETE /v1/machines/m", status: want, has: []string{"!{"}},
		})
	}
}
