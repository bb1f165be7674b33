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
	"github.com/thalassa-cloud/client-go/filters"
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
		t.Errorf("addresses external %v internal %v, want one external", got.ExternalIpAddresses, got.InternalIpAddresses)
	}
	if got.CreatedAt.IsZero() || got.ObjectVersion != 1 || got.Labels["k8s.thalassa.cloud/service"] != "x" {
		t.Errorf("meta data %+v is incomplete", got)
	}
}

func TestLoadbalancerLifeCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed(), Delays: emulator.Delays{
			LoadbalancerCreate: 30 * time.Second, LoadbalancerDelete: 10 * time.Second, LoadbalancerLinger: 5 * time.Second,
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
			if len(lb.InternalIpAddresses) != 1 || !strings.HasPrefix(lb.InternalIpAddresses[0], "10.0.") || !slices.Equal(lb.ExternalIpAddresses, want) {
				t.Errorf("internal %v, external %v, want an address of the subnet and %v", lb.InternalIpAddresses, lb.ExternalIpAddresses, want)
			}
			_, err = c.api.UpdateLoadbalancer(t.Context(), lb.Identity, iaas.UpdateLoadbalancer{Name: "a", Subnet: new("nowhere")})
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
		if _, err := c.api.UpdateLoadbalancer(t.Context(), lb.Identity, iaas.UpdateLoadbalancer{Name: "a", DeleteProtection: on}); err != nil {
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
			if err != nil || lb.Name != "b" || lb.Slug != "a" || len(lb.Labels) != test.labels || lb.ObjectVersion != 2 {
				t.Errorf("load balancer %+v, %v, want %d labels", lb, err, test.labels)
			}
			l, err = c.api.UpdateListener(t.Context(), lb.Identity, l.Identity, iaas.UpdateListener{
				Name: "http", Port: 81, Protocol: "tcp", TargetGroup: group.Identity,
			})
			if err != nil || l.Port != 81 || len(l.AllowedSources) != test.sources || (l.MaxConnections != nil) != test.max {
				t.Errorf("listener %+v, %v, want port 81, %d sources", l, err, test.sources)
			}
		})
	}
}

func TestListenersInCreateLoadbalancer(t *testing.T) {
	tests := map[emulator.InlineListeners]struct {
		want    int
		refused bool
	}{
		"":                       {want: 1},
		emulator.AcceptListeners: {want: 1},
		emulator.IgnoreListeners: {want: 0},
		emulator.RefuseListeners: {refused: true},
	}
	for mode, test := range tests {
		t.Run(string(mode), func(t *testing.T) {
			c := newCloud(t, func(cfg *emulator.Config) { cfg.Switches.InlineListeners = mode })
			group := c.group(t, "web", 80)
			lb, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
				Name: "a", Subnet: emulator.DefaultSubnet, Listeners: []iaas.CreateListener{listenerOn(80, group.Identity)},
			})
			if vendor.IsBadRequest(err) != test.refused {
				t.Fatalf("CreateLoadbalancer: %v, refused should be %t", err, test.refused)
			}
			if !test.refused && len(lb.LoadbalancerListeners) != test.want {
				t.Errorf("%d listeners, want %d", len(lb.LoadbalancerListeners), test.want)
			}
		})
	}
}

func TestBadInlineListenerCreatesNothing(t *testing.T) {
	c := newCloud(t)
	group := c.group(t, "web", 80)
	_, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
		Name: "a", Subnet: emulator.DefaultSubnet,
		Listeners: []iaas.CreateListener{listenerOn(80, group.Identity), listenerOn(80, group.Identity)},
	})
	if err == nil || !strings.Contains(err.Error(), "listeners[1]") {
		t.Errorf("error %v does not name the second listener", err)
	}
	lbs, err := c.api.ListLoadbalancers(t.Context(), nil)
	if err != nil || len(lbs) != 0 {
		t.Errorf("%d load balancers, %v, want none", len(lbs), err)
	}
	group, err = c.api.GetTargetGroup(t.Context(), iaas.GetTargetGroupRequest{Identity: group.Identity})
	if err != nil || len(group.LoadbalancerListeners) != 0 {
		t.Errorf("target group %+v, %v, want no listeners", group, err)
	}
}

func TestListenerConflicts(t *testing.T) {
	tests := map[string]struct {
		switches emulator.Switches
		second   func(tcp, udp string) iaas.CreateListener
		want     string
	}{
		"same port and protocol":            {second: func(tcp, _ string) iaas.CreateListener { return listenerOn(80, tcp) }, want: "409"},
		"another port":                      {second: func(tcp, _ string) iaas.CreateListener { return listenerOn(81, tcp) }},
		"TCP and UDP on one port":           {second: udpListener},
		"TCP and UDP on one port, switched": {switches: emulator.Switches{OneProtocolPerPort: true}, second: udpListener, want: "409"},
		"group used twice, switched": {switches: emulator.Switches{ExclusiveTargetGroups: true},
			second: func(tcp, _ string) iaas.CreateListener { return listenerOn(81, tcp) }, want: "another listener"},
		"wrong protocol of group": {second: func(_, udp string) iaas.CreateListener { return listenerOn(81, udp) }, want: "serves udp"},
		"unknown group":           {second: func(string, string) iaas.CreateListener { return listenerOn(81, "tg-x") }, want: `"tg-x" not found`},
		"bad source": {second: func(tcp, _ string) iaas.CreateListener {
			l := listenerOn(81, tcp)
			l.AllowedSources = []string{"10.0.0.1", "10.0.0.0/33"}
			return l
		}, want: `"10.0.0.0/33" is neither`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, func(cfg *emulator.Config) { cfg.Switches = test.switches })
			tcp := c.group(t, "tcp", 80)
			udp, err := c.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
				Name: "udp", Vpc: emulator.DefaultVPC, TargetPort: 80, Protocol: iaas.ProtocolUDP,
			})
			if err != nil {
				t.Fatal(err)
			}
			lb := c.loadbalancer(t, "a")
			c.listener(t, lb.Identity, tcp.Identity, 80)
			_, err = c.api.CreateListener(t.Context(), lb.Identity, test.second(tcp.Identity, udp.Identity))
			switch {
			case test.want == "" && err != nil:
				t.Errorf("CreateListener: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("CreateListener: %v, want an error with %q", err, test.want)
			}
		})
	}
}

func udpListener(_, udp string) iaas.CreateListener {
	return iaas.CreateListener{Name: "dns", Port: 80, Protocol: iaas.ProtocolUDP, TargetGroup: udp}
}

func TestListenerLifeCycle(t *testing.T) {
	c := newCloud(t)
	group := c.group(t, "web", 80)
	lb, other := c.loadbalancer(t, "a"), c.loadbalancer(t, "b")
	l := c.listener(t, lb.Identity, group.Identity, 80)
	if _, err := c.api.GetListener(t.Context(), iaas.GetLoadbalancerListenerRequest{Loadbalancer: lb.Identity, Listener: l.Slug}); err != nil {
		t.Errorf("reading by slug: %v", err)
	}
	if err := c.api.DeleteListener(t.Context(), other.Identity, l.Identity); !vendor.IsNotFound(err) {
		t.Errorf("deleting through another load balancer: %v, want not found", err)
	}
	if err := c.api.DeleteListener(t.Context(), lb.Identity, l.Identity); err != nil {
		t.Fatal(err)
	}
	listeners, err := c.api.ListListeners(t.Context(), &iaas.ListLoadbalancerListenersRequest{Loadbalancer: lb.Identity})
	if err != nil || len(listeners) != 0 {
		t.Errorf("listeners %v, %v, want none", listeners, err)
	}
}

func TestAtMostAHundredListeners(t *testing.T) {
	c := newCloud(t)
	group := c.group(t, "web", 80)
	lb := c.loadbalancer(t, "a")
	for i := range 100 {
		c.listener(t, lb.Identity, group.Identity, 1000+i)
	}
	if _, err := c.api.CreateListener(t.Context(), lb.Identity, listenerOn(80, group.Identity)); !vendor.IsBadRequest(err) {
		t.Errorf("listener 101: %v, want bad request", err)
	}
}

func TestListFilters(t *testing.T) {
	label := func(key, value string) filters.Filter {
		return &filters.LabelFilter{MatchLabels: map[string]string{key: value}}
	}
	is := func(key, value string) filters.Filter {
		return &filters.FilterKeyValue{Key: filters.FilterKey(key), Value: value}
	}
	tests := map[string]struct {
		filters []filters.Filter
		ignored []string
		want    []string
	}{
		"none":            {nil, nil, []string{"a", "b"}},
		"name":            {[]filters.Filter{is("name", "b")}, nil, []string{"b"}},
		"name ignored":    {[]filters.Filter{is("name", "b")}, []string{"name"}, []string{"a", "b"}},
		"VPC":             {[]filters.Filter{is("vpc", emulator.DefaultVPC)}, nil, []string{"a", "b"}},
		"VPC by slug":     {[]filters.Filter{is("vpc", "emulator")}, nil, []string{"a", "b"}},
		"another VPC":     {[]filters.Filter{is("vpc", "vpc-x")}, nil, nil},
		"subnet":          {[]filters.Filter{is("subnet", emulator.DefaultSubnet)}, nil, []string{"a", "b"}},
		"region":          {[]filters.Filter{is("region", "nl-02")}, nil, nil},
		"status":          {[]filters.Filter{is("status", "ready")}, nil, []string{"a", "b"}},
		"unknown key":     {[]filters.Filter{is("dbCluster", "x")}, nil, []string{"a", "b"}},
		"label":           {[]filters.Filter{label("k8s.thalassa.cloud/x", "a")}, nil, []string{"a"}},
		"label ignored":   {[]filters.Filter{label("k8s.thalassa.cloud/x", "a")}, []string{"matchLabels"}, []string{"a", "b"}},
		"label and name":  {[]filters.Filter{label("k8s.thalassa.cloud/x", "a"), is("name", "b")}, nil, nil},
		"label not there": {[]filters.Filter{label("other", "")}, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, func(cfg *emulator.Config) { cfg.Switches.IgnoredFilters = test.ignored })
			for _, name := range []string{"a", "b"} {
				_, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
					Name: name, Subnet: emulator.DefaultSubnet, Labels: iaas.Labels{"k8s.thalassa.cloud/x": name},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			lbs, err := c.api.ListLoadbalancers(t.Context(), &iaas.ListLoadbalancersRequest{Filters: test.filters})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, lb := range lbs {
				got = append(got, lb.Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
