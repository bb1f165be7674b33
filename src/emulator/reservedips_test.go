package emulator_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func (c *cloud) reservedIP(t *testing.T, name string) *iaas.ReservedIP {
	t.Helper()
	ip, err := c.api.CreateReservedIP(t.Context(), iaas.CreateReservedIpRequest{Name: name,
		Region: emulator.DefaultRegion})
	if err != nil {
		t.Fatalf("CreateReservedIP: %v", err)
	}
	return ip
}

func (c *cloud) putReserved(t *testing.T, lb string, ip *string) (*iaas.VpcLoadbalancer, error) {
	t.Helper()
	return c.api.UpdateLoadbalancer(t.Context(), lb, iaas.UpdateLoadbalancer{Name: "web", ReservedIpID: ip})
}

func TestReservedIPOfTheOfficialClient(t *testing.T) {
	c := newCloud(t)
	ip, err := c.api.CreateReservedIP(t.Context(), iaas.CreateReservedIpRequest{
		Name: "Ingress", Description: "d", Labels: iaas.Labels{"a": "b"}, Region: emulator.DefaultRegion,
	})
	if err != nil {
		t.Fatal(err)
	}
	if ip.Slug != "ingress" || ip.Status != iaas.ReservedIpStatusAvailable || ip.IPv4Address == "" ||
		ip.Region.Slug != emulator.DefaultRegion ||
		ip.AttachedToResourceType != "" || ip.Labels["a"] != "b" || ip.CreatedAt.IsZero() || ip.UpdatedAt == nil {
		t.Errorf("created %+v", ip)
	}
	if ip, err = c.api.UpdateReservedIP(t.Context(), "ingress",
		iaas.UpdateReservedIpRequest{Name: "other"}); err != nil || ip.Name != "other" || len(ip.Labels) != 0 {
		t.Errorf("updated %+v, %v", ip, err)
	}
	lb := c.loadbalancer(t, "web")
	got, err := c.api.AssociateReservedIP(t.Context(), ip.Identity,
		iaas.AssociateReservedIpRequest{LoadbalancerIdentity: &lb.Identity})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != iaas.ReservedIpStatusAttached ||
		got.AttachedToResourceType != iaas.ReservedIpAttachedLoadBalancer ||
		got.AttachedToResourceIdentity != lb.Identity {
		t.Errorf("associated %+v, want attached to %s", got, lb.Identity)
	}
	if !got.UpdatedAt.After(*ip.UpdatedAt) {
		t.Errorf("associated at %s, last updated %s", got.UpdatedAt, ip.UpdatedAt)
	}
	attached, err := c.api.GetLoadbalancer(t.Context(), lb.Identity)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(attached.ExternalIpAddresses, []string{ip.IPv4Address}) ||
		attached.ReservedIpIdentity != ip.Identity ||
		attached.ReservedIp.IPv4Address != ip.IPv4Address || attached.ObjectVersion != lb.ObjectVersion+1 {
		t.Errorf("load balancer %+v, want it at %s", attached, ip.IPv4Address)
	}
	if got, err = c.api.DisassociateReservedIP(t.Context(), ip.Identity); err != nil ||
		got.Status != iaas.ReservedIpStatusAvailable || got.AttachedToResourceIdentity != "" {
		t.Errorf("disassociated %+v, %v", got, err)
	}
	back, err := c.api.GetLoadbalancer(t.Context(), lb.Identity)
	if err != nil || len(back.ExternalIpAddresses) != 1 || back.ExternalIpAddresses[0] == ip.IPv4Address ||
		back.ReservedIp != nil || back.ReservedIpIdentity != "" {
		t.Errorf("load balancer %+v, %v, want it at an address of its own", back, err)
	}
	if err := c.api.DeleteReservedIP(t.Context(), ip.Identity); err != nil {
		t.Fatal(err)
	}
	if _, err := c.api.GetReservedIP(t.Context(), ip.Identity); !vendor.IsNotFound(err) {
		t.Errorf("reading a deleted one: %v, want not found", err)
	}
}

// The reserved IP of a load balancer: absent is unchanged, "" detaches, and a
// value attaches or replaces, whatever PUT does to other settings.
func TestLoadbalancerChangesItsReservedIP(t *testing.T) {
	for _, mode := range []emulator.UpdateMode{emulator.Replace, emulator.Merge} {
		t.Run(string(mode), func(t *testing.T) {
			c := newCloud(t, withSwitches(emulator.Switches{Updates: mode}))
			one, two := c.reservedIP(t, "one"), c.reservedIP(t, "two")
			lb, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "web",
				Subnet: emulator.DefaultSubnet, ReservedIpID: &one.Identity})
			if err != nil {
				t.Fatal(err)
			}
			expect := func(when string, lb *iaas.VpcLoadbalancer, err error, want *iaas.ReservedIP) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				at := lb.ExternalIpAddresses[0]
				if want == nil && (lb.ReservedIpIdentity != "" || at == one.IPv4Address || at == two.IPv4Address) {
					t.Errorf("%s: %+v, want an address of its own", when, lb)
				}
				if want != nil && (lb.ReservedIpIdentity != want.Identity || at != want.IPv4Address ||
					len(lb.ExternalIpAddresses) != 1) {
					t.Errorf("%s: %+v, want %s", when, lb, want.Name)
				}
				for _, ip := range []*iaas.ReservedIP{one, two} {
					now, err := c.api.GetReservedIP(t.Context(), ip.Identity)
					if err != nil || (now.AttachedToResourceIdentity != "") != (want == ip) {
						t.Errorf("%s: reserved IP %s is %+v, %v", when, ip.Name, now, err)
					}
				}
			}
			expect("created", lb, nil, one)
			lb, err = c.putReserved(t, lb.Identity, nil)
			expect("absent", lb, err, one)
			lb, err = c.putReserved(t, lb.Identity, &one.Identity)
			expect("the same", lb, err, one)
			lb, err = c.putReserved(t, lb.Identity, &two.Slug)
			expect("another, by slug", lb, err, two)
			lb, err = c.putReserved(t, lb.Identity, new(""))
			expect("detached", lb, err, nil)
			own := lb.ExternalIpAddresses[0]
			lb, err = c.putReserved(t, lb.Identity, new(""))
			expect("detached again", lb, err, nil)
			if got := lb.ExternalIpAddresses[0]; got != own {
				t.Errorf("detaching nothing changed the address from %s to %s", own, got)
			}
			lb, err = c.putReserved(t, lb.Identity, &two.Identity)
			expect("attached", lb, err, two)
			if err := c.api.DeleteReservedIP(t.Context(), two.Identity); err != nil {
				t.Fatal(err)
			}
			lb, err = c.api.GetLoadbalancer(t.Context(), lb.Identity)
			if err != nil || lb.ReservedIp != nil || len(lb.ExternalIpAddresses) != 1 ||
				lb.ExternalIpAddresses[0] == two.IPv4Address {
				t.Errorf("after the reserved IP is gone: %+v, %v", lb, err)
			}
		})
	}
}

func TestReservedIPRequests(t *testing.T) {
	const ips = "/v1/reserved-ips"
	playWithReservedIPs(t, map[string][]step{
		"no name": {{request: "POST " + ips, body: `{"region":"nl-01"}`, status: 400,
			has: []string{`field \"name\"`}}},
		"no region": {{request: "POST " + ips, body: `{"name":"a"}`, status: 400,
			has: []string{`field \"region\"`}}},
		"no addresses there": {{request: "POST " + ips, body: `{"name":"a","region":"nl-03"}`, status: 409,
			has: []string{`region \"nl-03\" has no public addresses`}}},
		"none left": {{request: "POST " + ips, body: `{"name":"a","region":"nl-04"}`, status: 201},
			{request: "POST " + ips, body: `{"name":"b","region":"nl-04"}`, status: 409,
				has: []string{"no free address left"}}},
		"associate to none": {{request: "POST " + ips + "/i/associate", body: `{}`, status: 400,
			has: []string{"exactly one of"}}},
		"associate to both": {{request: "POST " + ips + "/i/associate",
			body: `{"loadbalancerIdentity":"l","natGatewayIdentity":"n"}`, status: 400,
			has: []string{"exactly one of"}}},
		"associate, unknown": {{request: "POST " + ips + "/i/associate", body: `{"loadbalancerIdentity":"x"}`,
			status: 400, has: []string{`load balancer \"x\" not found`}}},
		"associate, no NAT": {{request: "POST " + ips + "/i/associate", body: `{"natGatewayIdentity":"x"}`,
			status: 400, has: []string{`NAT gateway \"x\" not found`}}},
		"associate, internal": {{request: "POST " + ips + "/i/associate", body: `{"loadbalancerIdentity":"in"}`,
			status: 400, has: []string{"is internal"}}},
		"associate, far": {{request: "POST " + ips + "/far/associate", body: `{"loadbalancerIdentity":"l"}`,
			status: 400,
			has:    []string{"is in region nl-02", "in region nl-01"}}},
		"associate again": {
			{request: "POST " + ips + "/i/associate", body: `{"loadbalancerIdentity":"l"}`, status: 200},
			{request: "POST " + ips + "/i/associate", body: `{"loadbalancerIdentity":"l"}`, status: 200},
			{request: "POST /v1/loadbalancers", body: `{"reservedIpId":"i","name":"l","subnet":"emulator"}`,
				status: 409,
				has:    []string{"is attached; it must be available"}},
			{request: "GET /v1/loadbalancers?reservedIp=i", status: 200, has: []string{`"name":"l"`, `!"name":"in"`}},
			{request: "POST /v1/loadbalancers", body: `{"name":"m","subnet":"emulator"}`, status: 201},
			{request: "POST " + ips + "/i/associate", body: `{"loadbalancerIdentity":"m"}`, status: 409},
			{request: "PUT /v1/loadbalancers/m", body: `{"name":"m","reservedIpId":"i"}`, status: 409},
			{request: "GET " + ips + "?status=attached", status: 200, has: []string{`"name":"i"`, `!"name":"far"`}},
			{request: "GET " + ips + "?region=nl-02", status: 200, has: []string{`!"name":"i"`, `"name":"far"`}},
			{request: "GET " + ips + "?reservedIp=far", status: 200, has: []string{`!"name":"i"`, `"name":"far"`}},
			{request: "DELETE /v1/loadbalancers/l", status: 204},
			{request: "GET " + ips + "/i", status: 200, has: []string{`"status":"available"`}},
			{request: "POST " + ips + "/i/associate", body: `{"loadbalancerIdentity":"m"}`, status: 200},
		},
		"replace": {{request: "PUT " + ips + "/i", body: `{}`, status: 400}},
		"disassociate": {{request: "POST " + ips + "/i/disassociate", status: 409,
			has: []string{"is not attached to anything"}}},
		"unknown": {
			{request: "GET " + ips + "/x", status: 404, has: []string{`reserved IP \"x\" not found`}},
			{request: "PUT " + ips + "/x", body: `{}`, status: 404},
			{request: "DELETE " + ips + "/x", status: 404},
			{request: "POST " + ips + "/x/associate", body: `{}`, status: 404},
			{request: "POST " + ips + "/x/disassociate", status: 404},
		},
	})
}

func TestReservedIPsOfLoadBalancers(t *testing.T) {
	playWithReservedIPs(t, map[string][]step{
		"create, internal": {{request: "POST /v1/loadbalancers",
			body: `{"name":"a","subnet":"emulator","internalLoadbalancer":true,"reservedIpId":"i"}`, status: 400,
			has: []string{"is internal"}}},
		"create, far": {{request: "POST /v1/loadbalancers",
			body: `{"name":"a","subnet":"emulator","reservedIpId":"far"}`, status: 400,
			has: []string{"is in region nl-02"}}},
		"create, unknown": {{request: "POST /v1/loadbalancers",
			body: `{"name":"a","subnet":"emulator","reservedIpId":"x"}`, status: 400,
			has: []string{`reserved IP \"x\" not found`}}},
		"update, internal": {{request: "PUT /v1/loadbalancers/in", body: `{"name":"in","reservedIpId":"i"}`,
			status: 400}},
		"update, internal, \"\"": {{request: "PUT /v1/loadbalancers/in", body: `{"name":"in","reservedIpId":""}`,
			status: 200, has: []string{`"internalIpAddresses":["10.0.0.2"]`}}},
		"a refused update leaves nothing": {
			{request: "PUT /v1/loadbalancers/l", body: `{"name":"","reservedIpId":"i"}`, status: 400},
			{request: "PUT /v1/loadbalancers/l",
				body: `{"name":"l","reservedIpId":"i","securityGroupAttachments":["x"]}`, status: 400},
			{request: "GET /v1/reserved-ips/i", status: 200, has: []string{`"status":"available"`}},
			{request: "GET /v1/loadbalancers/l", status: 200, has: []string{`"objectVersion":1`}},
		},
	})
}

// playWithReservedIPs plays each test after a setup with two reserved IPs and two load balancers.
func playWithReservedIPs(t *testing.T, tests map[string][]step) {
	t.Helper()
	setup := []step{
		{request: "POST /v1/reserved-ips", body: `{"name":"i","region":"nl-01"}`, status: 201},
		{request: "POST /v1/reserved-ips", body: `{"name":"far","region":"region-2"}`, status: 201,
			has: []string{"203.0.113.2"}},
		{request: "POST /v1/loadbalancers", body: `{"name":"l","subnet":"emulator"}`, status: 201},
		{request: "POST /v1/loadbalancers", body: `{"name":"in","subnet":"emulator","internalLoadbalancer":true}`,
			status: 201},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEmulator(t, withSecondRegion, func(cfg *emulator.Config) {
				cfg.Seed.Regions = append(cfg.Seed.Regions,
					emulator.RegionSeed{Name: "nl-03", Zones: []string{"a"}},
					emulator.RegionSeed{Name: "nl-04", Zones: []string{"a"}, PublicAddresses: prefixes("192.0.2.0/30")})
			})
			play(t, e, append(slices.Clone(setup), steps...))
		})
	}
}

func TestReservedIPLifeCycle(t *testing.T) {
	const path = "/v1/reserved-ips"
	inVirtualTime(t, func(cfg *emulator.Config) {
		cfg.Delays = emulator.Delays{ReservedIPCreate: 10 * time.Second, NetworkDelete: minute, NetworkLinger: minute}
	}, func(e *emulator.Emulator) {
		play(t, e, []step{
			{request: "POST " + path, body: `{"name":"i","region":"nl-01"}`, status: 201,
				has: []string{`"status":"creating"`, "!ipv4Address"}},
			{request: "POST /v1/loadbalancers", body: `{"name":"l","subnet":"emulator","reservedIpId":"i"}`,
				status: 409, has: []string{"is creating; it must be available"}},
			{request: "POST /v1/loadbalancers", body: `{"name":"l","subnet":"emulator"}`, status: 201},
			{wait: 10 * time.Second, request: "GET " + path + "/i", status: 200,
				has: []string{`"status":"available"`, `"ipv4Address":"198.18.0.2"`}},
			{request: "PUT /v1/loadbalancers/l", body: `{"name":"l","reservedIpId":"i"}`, status: 200,
				has: []string{`"externalIpAddresses":["198.18.0.2"]`}},
			{request: "GET " + path + "/i", status: 200,
				has: []string{`"status":"attached"`, "cloud_vpc_loadbalancer"}},
			{request: "DELETE " + path + "/i", status: 204},
			{request: "DELETE " + path + "/i", status: 204},
			{request: "GET " + path + "/i", status: 200,
				has: []string{`"status":"deleting"`, "!cloud_vpc_loadbalancer"}},
			{request: "GET /v1/loadbalancers/l", status: 200, has: []string{"!198.18.0.2", "!reservedIp"}},
			{request: "PUT /v1/loadbalancers/l", body: `{"name":"l","reservedIpId":"i"}`, status: 409,
				has: []string{`reserved IP \"i\" is being deleted`}},
			{request: "POST " + path + "/i/associate", body: `{"loadbalancerIdentity":"l"}`, status: 409},
			{request: "PUT " + path + "/i", body: `{"name":"i"}`, status: 409},
			{wait: minute, request: "GET " + path + "/i", status: 200, has: []string{`"status":"deleted"`}},
			{wait: minute, request: "GET " + path + "/i", status: 404},
		})
	})
}

// An address is never given away twice, and comes back to the pool.
func TestReservedAddressesAreReused(t *testing.T) {
	e := newEmulator(t, func(cfg *emulator.Config) { cfg.Seed.Regions[0].PublicAddresses = prefixes("203.0.113.0/29") })
	lb := func(name string, more string) step {
		return step{request: "POST /v1/loadbalancers", body: `{"name":"` + name + `","subnet":"emulator"` + more + `}`,
			status: 201}
	}
	var steps []step
	for i := range 4 {
		steps = append(steps, lb(fmt.Sprint("l", i), ""))
	}
	play(t, e, append(steps,
		step{request: "POST /v1/reserved-ips", body: `{"name":"i","region":"nl-01"}`, status: 201},
		step{request: "POST /v1/reserved-ips", body: `{"name":"j","region":"nl-01"}`, status: 409},
		// Attaching frees the load balancer's own address, which somebody else takes.
		step{request: "PUT /v1/loadbalancers/l0", body: `{"name":"l0","reservedIpId":"i"}`, status: 200},
		step{request: "POST /v1/reserved-ips", body: `{"name":"j","region":"nl-01"}`, status: 201},
		step{request: "PUT /v1/loadbalancers/l0", body: `{"name":"l0","reservedIpId":""}`, status: 409,
			has: []string{"no free address left"}},
		step{request: "POST /v1/reserved-ips/i/disassociate", status: 409},
		step{request: "DELETE /v1/reserved-ips/i", status: 409},
		step{request: "GET /v1/reserved-ips/i", status: 200, has: []string{`"status":"attached"`}},
		step{request: "PUT /v1/loadbalancers/l0", body: `{"name":"l0","reservedIpId":"j"}`, status: 200},
		step{request: "DELETE /v1/reserved-ips/i", status: 204},
		step{request: "DELETE /v1/reserved-ips/j", status: 204},
		step{request: "DELETE /v1/loadbalancers/l0", status: 204},
		lb("l0", ""),
		step{request: "POST /v1/reserved-ips", body: `{"name":"k","region":"nl-01"}`, status: 201},
	))
}

func TestReservedIPsAreListed(t *testing.T) {
	c := newCloud(t, withForeign)
	if _, err := c.api.CreateReservedIP(t.Context(), iaas.CreateReservedIpRequest{Name: "a", Region: "nl-01",
		Labels: iaas.Labels{"k8s.thalassa.cloud/x": "1"}}); err != nil {
		t.Fatal(err)
	}
	b := c.reservedIP(t, "b")
	for filter, want := range map[filters.Filter][]string{
		&filters.LabelFilter{MatchLabels: map[string]string{"k8s.thalassa.cloud/x": "1"}}: {"a"},
		&filters.FilterKeyValue{Key: filters.FilterReservedIp, Value: b.Identity}:         {"b"},
		&filters.FilterKeyValue{Key: filters.FilterName, Value: "b"}:                      {"b"},
		&filters.FilterKeyValue{Key: filters.FilterStatus, Value: "available"}:            {"a", "b"},
		&filters.FilterKeyValue{Key: filters.FilterRegion, Value: "nl-01"}:                {"a", "b"},
	} {
		ips, err := c.api.ListReservedIPs(t.Context(), &iaas.ListReservedIPsRequest{Filters: []filters.Filter{filter}})
		var got []string
		for _, ip := range ips {
			got = append(got, ip.Name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: %v, %v, want %v", filter.ToParams(), got, err, want)
		}
	}
	foreign := c.client(t, vendor.WithOrganisation("other"), vendor.WithAuthPersonalToken("other-token"))
	if ips, err := foreign.ListReservedIPs(t.Context(), nil); err != nil || len(ips) != 0 {
		t.Errorf("another organisation sees %v, %v", ips, err)
	}
	state := c.State().ReservedIPs
	if len(state) != 2 || state[1].Identity != b.Identity || state[1].Status != "available" ||
		!slices.Equal(state[1].Addresses, []string{b.IPv4Address}) || state[1].AttachedTo != "" {
		t.Errorf("state %+v", state)
	}
}

func TestDualStackAddresses(t *testing.T) {
	for _, only := range []bool{false, true} {
		t.Run(fmt.Sprintf("IPv4 only %t", only), func(t *testing.T) {
			e := newEmulator(t, func(cfg *emulator.Config) {
				cfg.Seed.Regions[0].PublicAddresses = prefixes("203.0.113.0/24", "fd01::/64")
				v := &cfg.Seed.Organisations[0].VPCs[0]
				v.CIDRs, v.Subnets[0].CIDRs = prefixes("10.0.0.0/16", "fd00::/48"), prefixes("10.0.0.0/17", "fd00::/64")
				cfg.Switches.IPv4OnlyLoadbalancers = only
			})
			// The second IPv6 address of the region, if the first was taken.
			v6 := "fd01::3"
			addresses := func(v4, v6 string) string {
				if only {
					return `IpAddresses":["` + v4 + `"]`
				}
				return `IpAddresses":["` + v4 + `","` + v6 + `"]`
			}
			play(t, e, []step{
				{request: "POST /v1/loadbalancers", body: `{"name":"out","subnet":"emulator"}`, status: 201,
					has: []string{addresses("203.0.113.2", "fd01::2")}},
				{request: "POST /v1/loadbalancers",
					body: `{"name":"in","subnet":"emulator","internalLoadbalancer":true}`, status: 201,
					has: []string{addresses("10.0.0.2", "fd00::2")}},
				{request: "POST /v1/reserved-ips", body: `{"name":"i","region":"nl-01"}`, status: 201,
					has: []string{`"ipv4Address":"203.0.113.3"`, `"ipv6Address":"fd01::`}},
				{request: "PUT /v1/loadbalancers/out", body: `{"name":"out","reservedIpId":"i"}`, status: 200,
					has: []string{`IpAddresses":["203.0.113.3"`}},
				{request: "GET /v1/loadbalancers/out", status: 200, has: []string{addresses("203.0.113.3", v6)}},
			})
		})
	}
}
