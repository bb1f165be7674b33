package emulator_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// attached are the names of a group's machines, as the API lists them.
func (c *cloud) attached(t *testing.T, group string) []string {
	t.Helper()
	g, err := c.api.GetTargetGroup(t.Context(), iaas.GetTargetGroupRequest{Identity: group})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, a := range g.LoadbalancerTargetGroupAttachments {
		names = append(names, a.VirtualMachineInstance.Name)
	}
	return names
}

func (c *cloud) setTargets(t *testing.T, group string, machines ...string) error {
	t.Helper()
	batch := iaas.TargetGroupAttachmentsBatch{TargetGroupID: group}
	for _, m := range machines {
		batch.Attachments = append(batch.Attachments, iaas.AttachTarget{ServerIdentity: m})
	}
	return c.api.SetTargetGroupServerAttachments(t.Context(), batch)
}

func TestTargetGroupHasAllThatClientsRead(t *testing.T) {
	c := newCloud(t)
	created, err := c.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
		Name: "web", Description: "d", Vpc: emulator.DefaultVPC, TargetPort: 30080, Protocol: iaas.ProtocolTCP,
		Labels: iaas.Labels{"a": "b"}, EnableProxyProtocol: new(true),
		LoadbalancingPolicy: new(iaas.LoadbalancingPolicyMagLev),
		HealthCheck: &iaas.BackendHealthCheck{Protocol: "http", Port: 10256, Path: "/healthz", PeriodSeconds: 5,
			TimeoutSeconds: 5, UnhealthyThreshold: 2, HealthyThreshold: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	lb := c.loadbalancer(t, "a")
	l := c.listener(t, lb.Identity, created.Identity, 80)
	groups, err := c.api.ListTargetGroups(t.Context(), &iaas.ListTargetGroupsRequest{Filters: []filters.Filter{
		&filters.FilterKeyValue{Key: filters.FilterLoadbalancerIdentity, Value: lb.Identity},
	}})
	if err != nil || len(groups) != 1 {
		t.Fatalf("ListTargetGroups = %d, %v, want 1", len(groups), err)
	}
	g := groups[0]
	if g.Vpc.Identity != emulator.DefaultVPC || g.Organisation.Identity != emulator.DefaultOrganisation ||
		g.Labels["a"] != "b" {
		t.Errorf("target group %+v lacks VPC, organisation or labels", g)
	}
	if len(g.LoadbalancerListeners) != 1 || g.LoadbalancerListeners[0].Identity != l.Identity ||
		g.LoadbalancerListeners[0].TargetGroup != nil {
		t.Errorf("listeners %+v, want %s without its target group", g.LoadbalancerListeners, l.Identity)
	}
	if !*g.EnableProxyProtocol || *g.LoadbalancingPolicy != "MAGLEV" || g.HealthCheck.Port != 10256 ||
		g.TargetPort != 30080 {
		t.Errorf("settings %+v are not the ones that were sent", g)
	}
}

func TestTargetGroupUpdate(t *testing.T) {
	for mode, wantHealth := range map[emulator.UpdateMode]bool{emulator.Replace: false, emulator.Merge: true} {
		t.Run(string(mode), func(t *testing.T) {
			c := newCloud(t, func(cfg *emulator.Config) { cfg.Switches.Updates = mode })
			g, err := c.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
				Name: "web", Vpc: emulator.DefaultVPC, TargetPort: 80, Protocol: iaas.ProtocolTCP,
				HealthCheck: &iaas.BackendHealthCheck{Protocol: "tcp", Port: 80, PeriodSeconds: 5, TimeoutSeconds: 5,
					UnhealthyThreshold: 2, HealthyThreshold: 2},
			})
			if err != nil {
				t.Fatal(err)
			}
			g, err = c.api.UpdateTargetGroup(t.Context(), iaas.UpdateTargetGroupRequest{Identity: g.Identity,
				UpdateTargetGroup: iaas.UpdateTargetGroup{Name: "web2", TargetPort: 81, Protocol: iaas.ProtocolTCP}})
			if err != nil || g.Name != "web2" || g.TargetPort != 81 || (g.HealthCheck != nil) != wantHealth ||
				g.LoadbalancingPolicy != nil {
				t.Errorf("target group %+v, %v, want web2 on 81, health check %t", g, err, wantHealth)
			}
		})
	}
}

func TestFailedUpdateChangesNothing(t *testing.T) {
	c := newCloud(t)
	g := c.group(t, "web", 80)
	c.listener(t, c.loadbalancer(t, "a").Identity, g.Identity, 80)
	for name, update := range map[string]iaas.UpdateTargetGroup{
		"port":             {Name: "x", TargetPort: 0, Protocol: iaas.ProtocolTCP},
		"name":             {Name: strings.Repeat("x", 63), TargetPort: 81, Protocol: iaas.ProtocolTCP},
		"protocol in use":  {Name: "x", TargetPort: 81, Protocol: iaas.ProtocolUDP},
		"unknown protocol": {Name: "x", TargetPort: 81, Protocol: "quic"},
	} {
		_, err := c.api.UpdateTargetGroup(t.Context(), iaas.UpdateTargetGroupRequest{Identity: g.Identity,
			UpdateTargetGroup: update})
		if !vendor.IsBadRequest(err) {
			t.Errorf("%s: %v, want bad request", name, err)
		}
	}
	after, err := c.api.GetTargetGroup(t.Context(), iaas.GetTargetGroupRequest{Identity: g.Identity})
	if err != nil || after.Name != "web" || after.TargetPort != 80 || after.ObjectVersion != g.ObjectVersion {
		t.Errorf("target group %+v, %v, want it unchanged", after, err)
	}
}

func TestTargetGroupInUseCannotBeDeleted(t *testing.T) {
	tests := map[string]struct {
		late          bool
		wantWhileLate string
	}{
		"released with the request":       {false, ""},
		"released with the load balancer": {true, "409"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, func(cfg *emulator.Config) {
				cfg.Switches.LateRelease = test.late
				cfg.Delays.LoadbalancerDelete = time.Hour
			})
			g, lb := c.group(t, "web", 80), c.loadbalancer(t, "a")
			c.listener(t, lb.Identity, g.Identity, 80)
			remove := func() string {
				if err := c.api.DeleteTargetGroup(t.Context(),
					iaas.DeleteTargetGroupRequest{Identity: g.Identity}); err != nil {
					return err.Error()
				}
				return ""
			}
			if got := remove(); !strings.Contains(got, "409") {
				t.Errorf("deleting a group in use: %q, want 409", got)
			}
			if err := c.api.DeleteLoadbalancer(t.Context(), lb.Identity); err != nil {
				t.Fatal(err)
			}
			if got := remove(); test.wantWhileLate == "" && got != "" || !strings.Contains(got, test.wantWhileLate) {
				t.Errorf("deleting while the load balancer is deleting: %q, want %q", got, test.wantWhileLate)
			}
		})
	}
}

func TestAttachmentsBatchReplaces(t *testing.T) {
	c := newCloud(t)
	one, two, three := c.machine(t, "one"), c.machine(t, "two"), c.machine(t, "three")
	g := c.group(t, "web", 80)
	steps := []struct {
		machines []string
		want     []string
	}{
		{[]string{one, two}, []string{"one", "two"}},
		{[]string{three, two, three}, []string{"three", "two"}},
		{[]string{two, one, three}, []string{"two", "one", "three"}},
		{nil, []string{}},
	}
	for _, step := range steps {
		if err := c.setTargets(t, g.Identity, step.machines...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, c.attached(t, g.Identity)); diff != "" {
			t.Errorf("attached (-want +got):\n%s", diff)
		}
	}
}

func TestAttachmentsKeepTheirIdentity(t *testing.T) {
	c := newCloud(t)
	one, two := c.machine(t, "one"), c.machine(t, "two")
	g := c.group(t, "web", 80)
	first, err := c.api.AttachServerToTargetGroup(t.Context(), iaas.AttachTargetGroupRequest{
		TargetGroupID: g.Identity, AttachTarget: iaas.AttachTarget{ServerIdentity: one},
	})
	if err != nil || first.LoadbalancerTargetGroup.Identity != g.Identity ||
		first.VirtualMachineInstance.Identity != one {
		t.Fatalf("attach = %+v, %v", first, err)
	}
	if err := c.setTargets(t, g.Identity, two, one); err != nil {
		t.Fatal(err)
	}
	after, err := c.api.GetTargetGroup(t.Context(), iaas.GetTargetGroupRequest{Identity: g.Identity})
	if err != nil || after.LoadbalancerTargetGroupAttachments[1].Identity != first.Identity {
		t.Errorf("attachments %+v, %v, want %s second", after.LoadbalancerTargetGroupAttachments, err, first.Identity)
	}
	for _, ref := range []string{first.Identity, two} {
		if err := c.api.DetachServerFromTargetGroup(t.Context(), iaas.DetachTargetRequest{TargetGroupID: g.Identity,
			AttachmentID: ref}); err != nil {
			t.Errorf("detaching %s: %v", ref, err)
		}
	}
	if err := c.api.DetachServerFromTargetGroup(t.Context(), iaas.DetachTargetRequest{TargetGroupID: g.Identity,
		AttachmentID: two}); !vendor.IsNotFound(err) {
		t.Errorf("detaching twice: %v, want not found", err)
	}
}

func TestRefusedAttachments(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) {
		org := &cfg.Seed.Organisations[0]
		org.VPCs = append(org.VPCs, emulator.VPCSeed{
			Identity: "vpc-other", Name: "other", Region: emulator.DefaultRegion, CIDRs: prefixes("10.1.0.0/16"),
			Subnets: []emulator.SubnetSeed{{Identity: "subnet-other", Name: "other", CIDRs: prefixes("10.1.0.0/24")}},
		})
		org.Machines = []emulator.MachineSpec{{Identity: "vm-foreign", Name: "foreign", Subnet: "subnet-other"}}
	})
	one := c.machine(t, "one")
	g := c.group(t, "web", 80)
	if err := c.setTargets(t, g.Identity, one); err != nil {
		t.Fatal(err)
	}
	for name, ref := range map[string]string{"unknown machine": "vm-x", "slug": "one", "another VPC": "vm-foreign"} {
		if err := c.setTargets(t, g.Identity, one, ref); !vendor.IsBadRequest(err) {
			t.Errorf("%s: %v, want bad request", name, err)
		}
	}
	for body, want := range map[string]string{`{"serverIdentity":""}`: "is required",
		`{"serverIdentity":"","endpointIdentity":"e-x"}`: `e-x\" not found`} {
		if status, _, answer := c.call(t, "POST", "/v1/loadbalancer-target-groups/web/attach", body); status != 400 ||
			!strings.Contains(answer, want) {
			t.Errorf("attach %s = %d %s, want 400 with %s", body, status, answer, want)
		}
	}
	if got := c.attached(t, g.Identity); !slices.Equal(got, []string{"one"}) {
		t.Errorf("attached after refused requests: %v, want one", got)
	}
}

func prefixes(cidrs ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, cidr := range cidrs {
		out = append(out, netip.MustParsePrefix(cidr))
	}
	return out
}

func TestTargetGroupRequestsThatFail(t *testing.T) {
	c := newCloud(t)
	c.group(t, "web", 80)
	path := "/v1/loadbalancer-target-groups"
	tests := map[string]struct {
		method, path, body string
		status             int
	}{
		"read unknown":             {"GET", path + "/x", "", 404},
		"update unknown":           {"PUT", path + "/x", "{}", 404},
		"delete unknown":           {"DELETE", path + "/x", "", 404},
		"attach to unknown":        {"POST", path + "/x/attach", "{}", 404},
		"attachments of unknown":   {"POST", path + "/x/attachments", "{}", 404},
		"detach from unknown":      {"DELETE", path + "/x/detach/y", "", 404},
		"detach unknown":           {"DELETE", path + "/web/detach/y", "", 404},
		"create without JSON":      {"POST", path, "x", 400},
		"update without JSON":      {"PUT", path + "/web", "x", 400},
		"attach without JSON":      {"POST", path + "/web/attach", "x", 400},
		"attachments without JSON": {"POST", path + "/web/attachments", "x", 400},
		"nameless":                 {"POST", path, `{"vpc":"emulator","targetPort":80,"protocol":"tcp"}`, 400},
		"update with a bad path": {"PUT", path + "/web", `{"name":"web","targetPort":80,"protocol":"tcp",
			"healthCheck":{"protocol":"http","port":80,"path":":","periodSeconds":5,"timeoutSeconds":5,"unhealthyThreshold":1,"healthyThreshold":1}}`, 400},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if status, _, body := c.call(t, test.method, test.path, test.body); status != test.status {
				t.Errorf("%s %s = %d %s, want %d", test.method, test.path, status, body, test.status)
			}
		})
	}
}

func TestHealthCheckLimits(t *testing.T) {
	c := newCloud(t)
	valid := iaas.BackendHealthCheck{Protocol: "http", Port: 80, Path: "/", PeriodSeconds: 5, TimeoutSeconds: 1,
		UnhealthyThreshold: 1, HealthyThreshold: 10}
	tests := map[string]struct {
		change func(*iaas.BackendHealthCheck)
		ok     bool
	}{
		"as it is":        {func(*iaas.BackendHealthCheck) {}, true},
		"longest":         {func(h *iaas.BackendHealthCheck) { h.PeriodSeconds, h.TimeoutSeconds = 300, 300 }, true},
		"https":           {func(h *iaas.BackendHealthCheck) { h.Protocol = "https" }, true},
		"udp":             {func(h *iaas.BackendHealthCheck) { h.Protocol = "udp" }, true},
		"no path":         {func(h *iaas.BackendHealthCheck) { h.Path = "" }, true},
		"grpc":            {func(h *iaas.BackendHealthCheck) { h.Protocol = "grpc" }, false},
		"no port":         {func(h *iaas.BackendHealthCheck) { h.Port = 0 }, false},
		"period":          {func(h *iaas.BackendHealthCheck) { h.PeriodSeconds = 4 }, false},
		"long period":     {func(h *iaas.BackendHealthCheck) { h.PeriodSeconds = 301 }, false},
		"no timeout":      {func(h *iaas.BackendHealthCheck) { h.TimeoutSeconds = 0 }, false},
		"no threshold":    {func(h *iaas.BackendHealthCheck) { h.UnhealthyThreshold = 0 }, false},
		"large threshold": {func(h *iaas.BackendHealthCheck) { h.HealthyThreshold = 11 }, false},
	}
	for name, test := range tests {
		check := valid
		test.change(&check)
		_, err := c.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
			Name: "web", Vpc: emulator.DefaultVPC, TargetPort: 80, Protocol: iaas.ProtocolTCP, HealthCheck: &check,
		})
		if (err == nil) != test.ok {
			t.Errorf("%s: %v, want success %t", name, err, test.ok)
		}
	}
}

func TestTargetSelector(t *testing.T) {
	c := newCloud(t)
	add := func(name, role string) string {
		identity, err := c.AddMachine(emulator.MachineSpec{Name: name, Labels: map[string]string{"role": role}})
		if err != nil {
			t.Fatal(err)
		}
		return identity
	}
	add("one", "web")
	two := add("two", "db")
	g, err := c.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
		Name: "web", Vpc: emulator.DefaultVPC, TargetPort: 80, Protocol: iaas.ProtocolTCP,
		TargetSelector: map[string]string{"role": "web"},
	})
	if err != nil {
		t.Fatal(err)
	}
	add("three", "web")
	if _, err := c.api.UpdateMachine(t.Context(), two, iaas.UpdateMachine{Name: "two",
		Labels: iaas.Labels{"role": "web"}}); err != nil {
		t.Fatal(err)
	}
	if got := c.attached(t, g.Identity); !slices.Equal(got, []string{"one", "three", "two"}) {
		t.Errorf("attached = %v, want one, three and two", got)
	}
	if _, err := c.api.UpdateMachine(t.Context(), two, iaas.UpdateMachine{Name: "two"}); err != nil {
		t.Fatal(err)
	}
	if got := c.attached(t, g.Identity); !slices.Equal(got, []string{"one", "three"}) {
		t.Errorf("attached after a label was removed = %v, want one and three", got)
	}
}

func TestDeletedMachinesLeaveTargetGroups(t *testing.T) {
	for keep, want := range map[bool]int{false: 0, true: 1} {
		c := newCloud(t, func(cfg *emulator.Config) {
			cfg.Switches.KeepDeletedMachines = keep
			cfg.Delays.MachineDelete = time.Hour
		})
		one := c.machine(t, "one")
		g := c.group(t, "web", 80)
		if err := c.setTargets(t, g.Identity, one); err != nil {
			t.Fatal(err)
		}
		if err := c.DeleteMachine(one); err != nil {
			t.Fatal(err)
		}
		if got := c.attached(t, g.Identity); len(got) != want {
			t.Errorf("keep %t: attached %v, want %d", keep, got, want)
		}
		if err := c.setTargets(t, g.Identity, one); !vendor.IsBadRequest(err) {
			t.Errorf("attaching a machine that is being deleted: %v, want bad request", err)
		}
	}
}

func TestLateReleaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := emulator.NewDescribed(t, emulator.Config{
			Seed: emulator.DefaultSeed(), Switches: emulator.Switches{LateRelease: true},
			Delays: emulator.Delays{LoadbalancerDelete: time.Minute},
		})
		if err != nil {
			t.Fatal(err)
		}
		do := func(method, path, body string) int {
			request := newRequest(t, method, path, body)
			request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
			return serve(e, request).Code
		}
		do("POST", "/v1/loadbalancer-target-groups", `{"name":"web","vpc":"emulator","targetPort":80,"protocol":"tcp"}`)
		g := e.Writes()[0].Identity
		do("POST", "/v1/loadbalancers", `{"name":"a","subnet":"emulator","listeners":[{"name":"x","port":80,"protocol":"tcp","targetGroup":"`+g+`"}]}`)
		do("DELETE", "/v1/loadbalancers/a", "")
		if got := do("DELETE", "/v1/loadbalancer-target-groups/web", ""); got != 409 {
			t.Errorf("deleting the group at once = %d, want 409", got)
		}
		<-time.After(time.Minute)
		if got := do("DELETE", "/v1/loadbalancer-target-groups/web", ""); got != 204 {
			t.Errorf("deleting the group later = %d, want 204", got)
		}
	})
}
