package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

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
				Name: "a", Subnet: emulator.DefaultSubnet,
				Listeners: []iaas.CreateListener{listenerOn(80, group.Identity)},
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
		"same port and protocol": {second: func(tcp, _ string) iaas.CreateListener {
			return listenerOn(80, tcp)
		}, want: "409"},
		"another port": {second: func(tcp, _ string) iaas.CreateListener {
			return listenerOn(81, tcp)
		}},
		"TCP and UDP on one port": {second: udpListener},
		"TCP and UDP on one port, switched": {switches: emulator.Switches{OneProtocolPerPort: true},
			second: udpListener, want: "409"},
		"group used twice, switched": {switches: emulator.Switches{ExclusiveTargetGroups: true},
			second: func(tcp, _ string) iaas.CreateListener { return listenerOn(81, tcp) }, want: "another listener"},
		"wrong protocol of group": {second: func(_, udp string) iaas.CreateListener {
			return listenerOn(81, udp)
		}, want: "serves udp"},
		"unknown group": {second: func(string, string) iaas.CreateListener { return listenerOn(81, "tg-x") },
			want: `"tg-x" not found`},
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
	if _, err := c.api.GetListener(t.Context(), iaas.GetLoadbalancerListenerRequest{Loadbalancer: lb.Identity,
		Listener: l.Slug}); err != nil {
		t.Errorf("reading by slug: %v", err)
	}
	if err := c.api.DeleteListener(t.Context(), other.Identity, l.Identity); !vendor.IsNotFound(err) {
		t.Errorf("deleting through another load balancer: %v, want not found", err)
	}
	if err := c.api.DeleteListener(t.Context(), lb.Identity, l.Identity); err != nil {
		t.Fatal(err)
	}
	listeners, err := c.api.ListListeners(t.Context(),
		&iaas.ListLoadbalancerListenersRequest{Loadbalancer: lb.Identity})
	if err != nil || len(listeners) != 0 {
		t.Errorf("listeners %v, %v, want none", listeners, err)
	}
}

func TestListenerRequestsThatFail(t *testing.T) {
	c := newCloud(t)
	tcp := c.group(t, "web", 80)
	lb := c.loadbalancer(t, "a")
	first, second := c.listener(t, lb.Identity, tcp.Identity, 80), c.listener(t, lb.Identity, tcp.Identity, 81)
	path := "/v1/loadbalancers/a/listeners"
	valid := func(port int) string {
		return fmt.Sprintf(`{"name":"x","port":%d,"protocol":"tcp","targetGroup":%q}`, port, tcp.Identity)
	}
	tests := map[string]struct {
		method, path, body string
		status             int
	}{
		"list of unknown load balancer":   {"GET", "/v1/loadbalancers/x/listeners", "", 404},
		"read of unknown load balancer":   {"GET", "/v1/loadbalancers/x/listeners/y", "", 404},
		"create on unknown load balancer": {"POST", "/v1/loadbalancers/x/listeners", valid(82), 404},
		"update on unknown load balancer": {"PUT", "/v1/loadbalancers/x/listeners/y", valid(82), 404},
		"delete on unknown load balancer": {"DELETE", "/v1/loadbalancers/x/listeners/y", "", 404},
		"read unknown":                    {"GET", path + "/y", "", 404},
		"update unknown":                  {"PUT", path + "/y", valid(82), 404},
		"delete unknown":                  {"DELETE", path + "/y", "", 404},
		"create without JSON":             {"POST", path, "x", 400},
		"update without JSON":             {"PUT", path + "/" + first.Identity, "x", 400},
		"update to a taken port":          {"PUT", path + "/" + first.Identity, valid(81), 409},
		"update to no name": {"PUT", path + "/" + first.Identity,
			strings.Replace(valid(80), `"x"`, `""`, 1), 400},
		"negative port":  {"POST", path, valid(-1), 400},
		"negative limit": {"POST", path, strings.Replace(valid(82), "{", `{"maxConnections":-1,`, 1), 400},
		"text as port":   {"POST", path, `{"name":"x","port":"80"}`, 400},
		"no protocol":    {"POST", path, `{"name":"x","port":82,"targetGroup":"` + tcp.Identity + `"}`, 400},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if status, _, body := c.call(t, test.method, test.path, test.body); status != test.status {
				t.Errorf("%s %s = %d %s, want %d", test.method, test.path, status, body, test.status)
			}
		})
	}
	listeners, err := c.api.ListListeners(t.Context(),
		&iaas.ListLoadbalancerListenersRequest{Loadbalancer: lb.Identity})
	if err != nil || len(listeners) != 2 || listeners[0].ObjectVersion != first.ObjectVersion ||
		listeners[1].ObjectVersion != second.ObjectVersion {
		t.Errorf("failed requests changed the listeners: %+v, %v", listeners, err)
	}
}

func TestListenerCanChangeItsTargetGroup(t *testing.T) {
	c := newCloud(t)
	one, two := c.group(t, "one", 80), c.group(t, "two", 81)
	lb := c.loadbalancer(t, "a")
	l := c.listener(t, lb.Identity, one.Identity, 80)
	l, err := c.api.UpdateListener(t.Context(), lb.Identity, l.Identity, iaas.UpdateListener{
		Name: "http", Port: 80, Protocol: "tcp", TargetGroup: two.Identity,
	})
	if err != nil || l.TargetGroup.Identity != two.Identity {
		t.Fatalf("UpdateListener = %+v, %v, want the second group", l, err)
	}
	if err := c.api.DeleteTargetGroup(t.Context(), iaas.DeleteTargetGroupRequest{Identity: one.Identity}); err != nil {
		t.Errorf("deleting the first group, which is free now: %v", err)
	}
	if err := c.api.DeleteTargetGroup(t.Context(), iaas.DeleteTargetGroupRequest{Identity: two.Identity}); err == nil {
		t.Error("the second group, which is in use, was deleted")
	}
}

// A group lists its listeners in the order in which they got it, whatever else of them changes.
func TestListenersKeepTheirOrder(t *testing.T) {
	c := newCloud(t)
	group := c.group(t, "web", 80)
	lb := c.loadbalancer(t, "a")
	first := c.listener(t, lb.Identity, group.Identity, 80)
	second := c.listener(t, lb.Identity, group.Identity, 81)
	if _, err := c.api.UpdateListener(t.Context(), lb.Identity, first.Identity, iaas.UpdateListener{
		Name: "renamed", Port: 82, Protocol: "tcp", TargetGroup: group.Identity,
	}); err != nil {
		t.Fatal(err)
	}
	got, err := c.api.GetTargetGroup(t.Context(), iaas.GetTargetGroupRequest{Identity: group.Identity})
	if err != nil || len(got.LoadbalancerListeners) != 2 || got.LoadbalancerListeners[0].Identity != first.Identity ||
		got.LoadbalancerListeners[0].Name != "renamed" || got.LoadbalancerListeners[1].Identity != second.Identity {
		t.Errorf("listeners %+v, %v, want the renamed one first", got.LoadbalancerListeners, err)
	}
}

func TestAtMostAHundredListeners(t *testing.T) {
	c := newCloud(t)
	group := c.group(t, "web", 80)
	lb := c.loadbalancer(t, "a")
	for i := range 100 {
		c.listener(t, lb.Identity, group.Identity, 1000+i)
	}
	if _, err := c.api.CreateListener(t.Context(), lb.Identity, listenerOn(80, group.Identity)); err == nil ||
		!strings.Contains(err.Error(), "403") || !strings.Contains(err.Error(), "100 of 100") {
		t.Errorf("listener 101: %v, want 403 with the number", err)
	}
}
