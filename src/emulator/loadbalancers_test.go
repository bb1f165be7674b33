package emulator_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func TestLoadbalancerHasAllThatClientsRead(t *testing.T) {
	c := newCloud(t)
	group := c.group(t, "web", 8080)
	lb, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
		Name: "My LB", Description: "d", Subnet: emulator.DefaultSubnet,
		Labels: iaas.Labels{"k8s.thalassa.cloud/service": "x"}, Annotations: iaas.Annotations{"a": "b"},
		Listeners: []iaas.CreateListener{listenerOn(80, group.Identity)},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.api.GetLoadbalancer(t.Context(), lb.Identity)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.Identity, "lb-") || len(got.Identity) != len("lb-")+20 {
		t.Errorf("identity %q is not lb- and 20 characters", got.Identity)
	}
	type facts struct{ Slug, Status, VPC, Region, Subnet, Organisation, Listener, Group, GroupVPC string }
	want := facts{"my-lb", "ready", emulator.DefaultVPC, emulator.DefaultRegion, emulator.DefaultSubnet,
		emulator.DefaultOrganisation, "http", group.Identity, emulator.DefaultVPC}
	l := got.LoadbalancerListeners[0]
	have := facts{got.Slug, got.Status, got.Vpc.Identity, got.Vpc.CloudRegion.Slug, got.Subnet.Identity,
		got.Organisation.Identity, l.Name, l.TargetGroup.Identity, l.TargetGroup.Vpc.Identity}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("load balancer (-want +got):\n%s", diff)
	}
	if len(got.ExternalIpAddresses) != 1 || len(got.InternalIpAddresses) != 0 {
		t.Errorf("addresses external %v internal %v, want one external", got.ExternalIpAddresses,
			got.InternalIpAddresses)
	}
	if got.CreatedAt.IsZero() || got.ObjectVersion != 1 || got.Labels["k8s.thalassa.cloud/service"] != "x" {
		t.Errorf("meta data %+v is incomplete", got)
	}
}

func TestLoadbalancerLifeCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(), Delays: emulator.Delays{
			LoadbalancerCreate: 30 * time.Second, LoadbalancerDelete: 10 * time.Second,
			LoadbalancerLinger: 5 * time.Second,
		}})
		if err != nil {
			t.Fatal(err)
		}
		do := func(method, path, body string) (int, string) {
			request := newRequest(t, method, path, body)
			request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
			answer := serve(e, request)
			return answer.Code, answer.Body.String()
		}
		expect := func(when string, status int, parts ...string) {
			t.Helper()
			got, body := do("GET", "/v1/loadbalancers/a", "")
			if got != status {
				t.Errorf("%s: status %d, want %d", when, got, status)
			}
			for _, part := range parts {
				if !strings.Contains(body, part) {
					t.Errorf("%s: %s lacks %s", when, body, part)
				}
			}
		}
		do("POST", "/v1/loadbalancers", `{"name":"a","subnet":"emulator"}`)
		expect("new", 200, `"status":"creating"`, `"externalIpAddresses":[]`)
		<-time.After(29 * time.Second)
		expect("before the delay is over", 200, `"status":"creating"`)
		<-time.After(time.Second)
		expect("after the delay", 200, `"status":"ready"`, `"externalIpAddresses":["198.18.0.2"]`)
		if status, _ := do("DELETE", "/v1/loadbalancers/a", ""); status != http.StatusNoContent {
			t.Errorf("DELETE = %d, want 204", status)
		}
		expect("deleted", 200, `"status":"deleting"`)
		if status, _ := do("DELETE", "/v1/loadbalancers/a", ""); status != http.StatusNoContent {
			t.Errorf("DELETE again = %d, want 204", status)
		}
		if status, _ := do("PUT", "/v1/loadbalancers/a", `{"name":"a"}`); status != http.StatusConflict {
			t.Errorf("PUT while deleting = %d, want 409", status)
		}
		<-time.After(10 * time.Second)
		expect("lingering", 200, `"status":"deleted"`)
		<-time.After(5 * time.Second)
		expect("gone", 404)
	})
}

func TestInternalLoadbalancer(t *testing.T) {
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprintf("also external %t", both), func(t *testing.T) {
			c := newCloud(t, func(cfg *emulator.Config) { cfg.Switches.InternalAddressAlsoExternal = both })
			lb, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
				Name: "a", Subnet: emulator.DefaultSubnet, InternalLoadbalancer: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{}
			if both {
				want = lb.InternalIpAddresses
			}
			if len(lb.InternalIpAddresses) != 1 || !strings.HasPrefix(lb.InternalIpAddresses[0], "10.0.") ||
				!slices.Equal(lb.ExternalIpAddresses, want) {
				t.Errorf("internal %v, external %v, want an address of the subnet and %v", lb.InternalIpAddresses,
					lb.ExternalIpAddresses, want)
			}
			_, err = c.api.UpdateLoadbalancer(t.Context(), lb.Identity, iaas.UpdateLoadbalancer{Name: "a",
				Subnet: new("nowhere")})
			if !vendor.IsBadRequest(err) {
				t.Errorf("moving to an unknown subnet: %v, want bad request", err)
			}
		})
	}
}

func TestDeleteProtection(t *testing.T) {
	c := newCloud(t)
	lb := c.loadbalancer(t, "a")
	protect := func(on bool) {
		t.Helper()
		if _, err := c.api.UpdateLoadbalancer(t.Context(), lb.Identity, iaas.UpdateLoadbalancer{Name: "a",
			DeleteProtection: on}); err != nil {
			t.Fatal(err)
		}
	}
	protect(true)
	if err := c.api.DeleteLoadbalancer(t.Context(), lb.Identity); err == nil || !strings.Contains(err.Error(), "409") {
		t.Errorf("deleting a protected load balancer: %v, want 409", err)
	}
	protect(false)
	if err := c.api.DeleteLoadbalancer(t.Context(), lb.Identity); err != nil {
		t.Error(err)
	}
	if err := c.api.WaitUntilLoadbalancerIsDeleted(t.Context(), lb.Identity); err != nil {
		t.Error(err)
	}
}

func TestLoadbalancerMoves(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) {
		org := &cfg.Seed.Organisations[0]
		org.VPCs[0].Subnets = append(org.VPCs[0].Subnets, emulator.SubnetSeed{Identity: "subnet-2", Name: "second",
			CIDRs: prefixes("10.0.200.0/24")})
		org.VPCs = append(org.VPCs, emulator.VPCSeed{Name: "other", Region: emulator.DefaultRegion,
			CIDRs:   prefixes("10.1.0.0/16"),
			Subnets: []emulator.SubnetSeed{{Identity: "subnet-other", Name: "other", CIDRs: prefixes("10.1.0.0/24")}}})
	})
	tests := map[string]struct {
		internal bool
		to, want string
	}{
		"public":                  {false, "subnet-2", "subnet-2"},
		"public, by slug":         {false, "second", "subnet-2"},
		"internal":                {true, "subnet-2", ""},
		"internal, where it is":   {true, emulator.DefaultSubnet, emulator.DefaultSubnet},
		"public, to another VPC":  {false, "subnet-other", ""},
		"public, to no known one": {false, "subnet-x", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			lb, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
				Name: "a", Subnet: emulator.DefaultSubnet, InternalLoadbalancer: test.internal,
			})
			if err != nil {
				t.Fatal(err)
			}
			moved, err := c.api.UpdateLoadbalancer(t.Context(), lb.Identity, iaas.UpdateLoadbalancer{Name: "a",
				Subnet: &test.to})
			if test.want == "" {
				if !vendor.IsBadRequest(err) {
					t.Errorf("moving to %s: %v, want bad request", test.to, err)
				}
				return
			}
			if err != nil || moved.Subnet.Identity != test.want || !slices.Equal(moved.ExternalIpAddresses,
				lb.ExternalIpAddresses) {
				t.Errorf("moving to %s: %+v, %v, want subnet %s and the same addresses", test.to, moved, err, test.want)
			}
		})
	}
}

func TestInstanceSize(t *testing.T) {
	c := newCloud(t)
	_, _, body := c.call(t, "POST", "/v1/loadbalancers",
		`{"name":"a","subnet":"emulator","instanceSize":"lb-gp-small"}`)
	if !strings.Contains(body, `"instanceSize":"lb-gp-small"`) {
		t.Errorf("created %s without its size", body)
	}
	if _, _, body = c.call(t, "PUT", "/v1/loadbalancers/a", `{"name":"a"}`); !strings.Contains(body,
		`"instanceSize":"lb-gp-small"`) {
		t.Errorf("an absent size changed it: %s", body)
	}
	if _, _, body = c.call(t, "PUT", "/v1/loadbalancers/a",
		`{"name":"a","instanceSize":"lb-gp-large"}`); !strings.Contains(body, `"instanceSize":"lb-gp-large"`) {
		t.Errorf("the new size is missing: %s", body)
	}
}

func TestUpdateModes(t *testing.T) {
	tests := map[string]struct {
		mode    emulator.UpdateMode
		labels  int
		sources int
		max     bool
	}{
		"replace clears what is left out": {emulator.Replace, 0, 0, false},
		"merge keeps it":                  {emulator.Merge, 1, 1, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, func(cfg *emulator.Config) { cfg.Switches.Updates = test.mode })
			group := c.group(t, "web", 80)
			lb, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
				Name: "a", Subnet: emulator.DefaultSubnet, Labels: iaas.Labels{"a": "b"},
			})
			if err != nil {
				t.Fatal(err)
			}
			create := listenerOn(80, group.Identity)
			create.AllowedSources, create.MaxConnections = []string{"10.0.0.0/8"}, new(uint32(5))
			l, err := c.api.CreateListener(t.Context(), lb.Identity, create)
			if err != nil {
				t.Fatal(err)
			}
			lb, err = c.api.UpdateLoadbalancer(t.Context(), lb.Identity, iaas.UpdateLoadbalancer{Name: "b"})
			if err != nil || lb.Name != "b" || lb.Slug != "a" || len(lb.Labels) != test.labels ||
				lb.ObjectVersion != 2 {
				t.Errorf("load balancer %+v, %v, want %d labels", lb, err, test.labels)
			}
			l, err = c.api.UpdateListener(t.Context(), lb.Identity, l.Identity, iaas.UpdateListener{
				Name: "http", Port: 81, Protocol: "tcp", TargetGroup: group.Identity,
			})
			if err != nil || l.Port != 81 || len(l.AllowedSources) != test.sources ||
				(l.MaxConnections != nil) != test.max {
				t.Errorf("listener %+v, %v, want port 81, %d sources", l, err, test.sources)
			}
		})
	}
}
