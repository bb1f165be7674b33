package thalassa

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// shown is what the cloud's API shows, as much of it as settings are about.
type shown struct {
	Identity, Name      string
	Labels, Annotations map[string]string
	Status              string
	SubnetIdentity      string
	ExternalIPAddresses []string `json:"externalIpAddresses"`
	InternalIPAddresses []string `json:"internalIpAddresses"`
	DeleteProtection    bool
	InstanceSize        string
	SecurityGroups      []shown
	ReservedIPIdentity  string          `json:"reservedIpIdentity"`
	Listeners           []shownListener `json:"loadbalancerListeners"`
	EnableProxyProtocol bool
	LoadbalancingPolicy string
	TargetPort          int
	HealthCheck         *struct {
		Protocol           string `json:"protocol"`
		Port               int    `json:"port"`
		Path               string `json:"path"`
		PeriodSeconds      int    `json:"periodSeconds"`
		TimeoutSeconds     int    `json:"timeoutSeconds"`
		HealthyThreshold   int    `json:"healthyThreshold"`
		UnhealthyThreshold int    `json:"unhealthyThreshold"`
	}
	IngressRules []struct {
		Name, Protocol, RemoteAddress string
		PortRangeMin, PortRangeMax    int
	}
}

// shownListener is what it shows of a listener.
type shownListener struct {
	Identity, Name, Description, Protocol       string
	Labels, Annotations                         map[string]string
	Port, MaxConnections, ConnectionIdleTimeout int
	AllowedSources                              []string
	TargetGroup                                 shown
}

// request is a call of the cloud's API by somebody else, as its owner would make it by hand.
func (l *lab) request(method, path string, body any) []byte {
	l.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		l.Fatal(err)
	}
	request, err := http.NewRequestWithContext(l.Context(), method, "http://cloud.test"+path,
		strings.NewReader(string(text)))
	if err != nil {
		l.Fatal(err)
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	request.Header.Set("X-Organisation-Identity", l.config.Organisation)
	request.Header.Set("Content-Type", "application/json")
	response, err := l.emulator.Transport().RoundTrip(request)
	if err != nil {
		l.Fatal(err)
	}
	defer response.Body.Close()
	var answer json.RawMessage
	_ = json.NewDecoder(response.Body).Decode(&answer)
	if response.StatusCode >= http.StatusBadRequest {
		l.Fatalf("%s %s: %s %s", method, path, response.Status, answer)
	}
	return answer
}

// list is a collection of the cloud's API.
func (l *lab) list(path string) []shown {
	l.Helper()
	var all []shown
	if err := json.Unmarshal(l.request(http.MethodGet, path, nil), &all); err != nil {
		l.Fatal(err)
	}
	return all
}

// only is the only load balancer there is, with its target groups in place of what a listener shows of them.
func (l *lab) only() shown {
	l.Helper()
	all := l.list("/v1/loadbalancers")
	if len(all) != 1 {
		l.Fatalf("%d load balancers, want one", len(all))
	}
	groups := l.list("/v1/loadbalancer-target-groups")
	for i, listener := range all[0].Listeners {
		at := slices.IndexFunc(groups, func(g shown) bool { return g.Identity == listener.TargetGroup.Identity })
		if at >= 0 {
			all[0].Listeners[i].TargetGroup = groups[at]
		}
	}
	slices.SortFunc(all[0].Listeners, func(a, b shownListener) int { return a.Port - b.Port })
	return all[0]
}

// everything of the Service, and of others, in the cloud.
func (l *lab) everything() []string {
	l.Helper()
	names := l.leftovers()
	for _, group := range l.list("/v1/security-groups") {
		if len(group.Labels) > 0 {
			names = append(names, "security group "+group.Name)
		}
	}
	return names
}

// featureCloud has what settings can name.
func featureCloud() emulator.Config {
	seed := emulator.DefaultSeed()
	owner := &seed.Organisations[0]
	vpc := &owner.VPCs[0]
	vpc.Subnets = append(vpc.Subnets, emulator.SubnetSeed{Identity: "subnet-second", Name: "second",
		CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.177.0/24")}})
	vpc.Subnets[0].Labels = map[string]string{label.SubnetRole: "true"}
	vpc.SecurityGroups = append(vpc.SecurityGroups,
		emulator.SecurityGroupSeed{Identity: "sg-one", Name: "one"}, emulator.SecurityGroupSeed{Identity: "sg-two",
			Name: "two"})
	owner.ReservedIPs = append(owner.ReservedIPs,
		emulator.ReservedIPSeed{Identity: "rip-one", Name: "one", Region: emulator.DefaultRegion},
		emulator.ReservedIPSeed{Identity: "rip-two", Name: "two", Region: emulator.DefaultRegion})
	return emulator.Config{Seed: seed, Switches: emulator.Switches{LoadbalancerHostnames: true,
		UniqueRulePriorities: true}}
}

// putListener changes a listener by hand.
func (l *lab) putListener(change func(body map[string]any)) {
	l.Helper()
	lb := l.only()
	listener := lb.Listeners[0]
	body := map[string]any{
		"name": listener.Name, "description": listener.Description, "labels": listener.Labels,
		"annotations": listener.Annotations,
		"port":        listener.Port, "protocol": listener.Protocol, "targetGroup": listener.TargetGroup.Identity,
		"maxConnections": listener.MaxConnections, "connectionIdleTimeout": listener.ConnectionIdleTimeout,
		"allowedSources": listener.AllowedSources,
	}
	change(body)
	l.request(http.MethodPut, "/v1/loadbalancers/"+lb.Identity+"/listeners/"+listener.Identity, body)
}

// putBalancer changes the load balancer by hand.
func (l *lab) putBalancer(change func(body map[string]any)) {
	l.Helper()
	lb := l.only()
	var groups []string
	for _, group := range lb.SecurityGroups {
		groups = append(groups, group.Identity)
	}
	body := map[string]any{
		"name": lb.Name, "labels": lb.Labels, "annotations": lb.Annotations, "deleteProtection": lb.DeleteProtection,
		"securityGroupAttachments": groups,
	}
	change(body)
	l.request(http.MethodPut, "/v1/loadbalancers/"+lb.Identity, body)
}

// putGroup changes the first target group by hand.
func (l *lab) putGroup(change func(body map[string]any)) {
	l.Helper()
	group := l.only().Listeners[0].TargetGroup
	body := map[string]any{
		"name": group.Name, "labels": group.Labels, "annotations": group.Annotations, "targetPort": group.TargetPort,
		"protocol":            "tcp",
		"enableProxyProtocol": group.EnableProxyProtocol, "loadbalancingPolicy": group.LoadbalancingPolicy,
		"healthCheck": group.HealthCheck,
	}
	change(body)
	l.request(http.MethodPut, "/v1/loadbalancer-target-groups/"+group.Identity, body)
}

func set(key string, value any) func(map[string]any) {
	return func(body map[string]any) { body[key] = value }
}

// managedText are the rules of the Service's own security group, if it has one.
func managedText(l *lab) string {
	var texts []string
	for _, group := range l.list("/v1/security-groups") {
		if group.Labels[label.Managed] != "true" {
			continue
		}
		attached := slices.ContainsFunc(l.only().SecurityGroups, func(one shown) bool {
			return one.Identity == group.Identity
		})
		texts = append(texts, fmt.Sprintf("%d letters, attached %t:", len(group.Name), attached))
		for _, rule := range group.IngressRules {
			texts = append(texts, fmt.Sprintf("%s/%d/%s", rule.Protocol, rule.PortRangeMin, rule.RemoteAddress))
		}
	}
	return strings.Join(texts, " ")
}

// serviceWith returns the Service web, with ports 80 and 443 and a setting.
func serviceWith(apply func(*corev1.Service)) *corev1.Service {
	web := service("web", 80, 443)
	if apply != nil {
		apply(web)
	}
	return web
}

// newFeatureLab is a cloud with everything that settings can name.
func newFeatureLab(t *testing.T) *lab {
	t.Helper()
	return newLab(t, featureCloud())
}

// mustDecode reads an answer of the API.
func mustDecode(t *testing.T, answer []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(answer, into); err != nil {
		t.Fatal(err)
	}
}

// settingsText is what the cloud shows of the only load balancer, as much as settings are about.
func settingsText(l *lab) string {
	lb := l.only()
	text := fmt.Sprintf("%s in %s, reserved IP %q, size %q, protected %t, team %q\n%d security groups\n%s\n", lb.Name,
		lb.SubnetIdentity, lb.ReservedIPIdentity, lb.InstanceSize, lb.DeleteProtection, lb.Labels["team"],
		len(lb.SecurityGroups), managedText(l))
	for _, listener := range lb.Listeners {
		group := listener.TargetGroup
		check := "none"
		if c := group.HealthCheck; c != nil {
			check = fmt.Sprintf("%s:%d%s %d/%d/%d/%d", c.Protocol, c.Port, c.Path,
				c.PeriodSeconds, c.TimeoutSeconds, c.HealthyThreshold, c.UnhealthyThreshold)
		}
		text += fmt.Sprintf("%d: %d connections, idle %d, from %v, %s, PROXY %t, check %s\n", listener.Port,
			listener.MaxConnections, listener.ConnectionIdleTimeout, listener.AllowedSources,
			group.LoadbalancingPolicy, group.EnableProxyProtocol, check)
	}
	return text
}

// changeByHand changes every setting in the cloud.
func changeByHand(l *lab) {
	l.putBalancer(func(body map[string]any) {
		body["name"], body["labels"], body["subnet"] = "mine", l.withoutTeam(), emulator.DefaultSubnet
		body["securityGroupAttachments"], body["deleteProtection"] = []string{}, false
		body["instanceSize"], body["reservedIpId"] = "lb-gp-huge", ""
	})
	l.putListener(func(body map[string]any) {
		body["maxConnections"], body["connectionIdleTimeout"], body["allowedSources"] = 1, 1, []string{}
	})
	l.putGroup(func(body map[string]any) {
		body["loadbalancingPolicy"], body["enableProxyProtocol"], body["healthCheck"] = "ROUND_ROBIN", false, nil
	})
}

// withoutTeam are the labels of the only load balancer without those that its Service asks for.
func (l *lab) withoutTeam() map[string]string {
	labels := l.only().Labels
	delete(labels, "team")
	return labels
}

// TestSettings: what is planned for every setting is written, once, when it is set, changed, removed and changed by
// hand, also by a process that has just started, and is gone with the Service. The plans are tested in the package
// balancer.
func TestSettings(t *testing.T) {
	for name, mode := range map[string]emulator.UpdateMode{"updates replace": emulator.Replace,
		"updates merge": emulator.Merge} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkSettings(t, mode) })
		})
	}
}

func checkSettings(t *testing.T, mode emulator.UpdateMode) {
	t.Helper()
	config := featureCloud()
	config.Switches.Updates, config.Switches.NullRemovesHealthCheck = mode, true
	l := newLab(t, config)
	nodes := l.nodes("a", "b")
	first := annotated("name", "shop", "subnet", "second", "reserved-ip", "rip-one", "instance-size", "lb-gp-small",
		"delete-protection", "true", "labels", "team=shop", "security-groups", "sg-one", "create-security-group",
		"true", "max-connections", "7", "idle-connection-timeout", "60", "acl-allowed-sources", "10.0.0.0/8",
		"loadbalancing-policy", "MAGLEV", "enable-proxy-protocol", "true", "health-check-port", "8081",
		"health-check-path", "/ready")
	second := annotated("name", "till", "subnet", emulator.DefaultSubnet, "reserved-ip", "two", "instance-size",
		"lb-gp-large", "delete-protection", "false", "labels", "team=till", "security-groups", "two, sg-one",
		"create-security-group", "true", "security-group-allow-icmp", "true", "max-connections.p80", "8",
		"idle-connection-timeout.443", "61", "acl-port-p443", "192.0.2.0/24,2001:db8::/32",
		"security-group-icmp-allowed-sources", "192.0.2.0/24", "loadbalancing-policy.p443", "RANDOM",
		"enable-proxy-protocol.80", "true", "health-check-protocol", "https", "health-check-interval", "30",
		"health-check-timeout", "4", "health-check-up-threshold", "9", "health-check-down-threshold", "8",
		"health-check-enabled.p443", "false")
	const none = `
a0a1b2c3dweb in subnet-emulator000000000001, reserved IP "", size "", protected false, team ""
0 security groups

80: 10000 connections, idle 6000, from [], ROUND_ROBIN, PROXY false, check tcp:30080/healthz 5/3/1/3
443: 10000 connections, idle 6000, from [], ROUND_ROBIN, PROXY false, check tcp:30443/healthz 5/3/1/3`
	const one = `
shop in subnet-second, reserved IP "rip-one", size "lb-gp-small", protected true, team "shop"
2 security groups
16 letters, attached true: tcp/80/10.0.0.0/8 tcp/443/10.0.0.0/8
80: 7 connections, idle 60, from [10.0.0.0/8], MAGLEV, PROXY true, check http:8081/ready 5/3/1/3
443: 7 connections, idle 60, from [10.0.0.0/8], MAGLEV, PROXY true, check http:8081/ready 5/3/1/3`
	const two = `
till in subnet-emulator000000000001, reserved IP "rip-two", size "lb-gp-large", protected false, team "till"
3 security groups
16 letters, attached true: tcp/80/0.0.0.0/0 tcp/80/::/0 tcp/443/192.0.2.0/24 tcp/443/2001:db8::/32 icmp/1/192.0.2.0/24
80: 8 connections, idle 6000, from [], ROUND_ROBIN, PROXY true, check https:30080/healthz 30/4/9/8
443: 10000 connections, idle 61, from [192.0.2.0/24 2001:db8::/32], RANDOM, PROXY false, check none`
	for _, step := range []struct {
		what  string
		apply func(*corev1.Service)
		hand  func(*lab)
		want  string
	}{
		{"without settings", nil, nil, none}, {"set", first, nil, one},
		{"changed by hand", first, changeByHand, one}, {"changed", second, nil, two},
		{"removed, but for the size", nil, nil, strings.Replace(none, `size ""`, `size "lb-gp-large"`, 1)},
		{"set again", first, nil, one},
	} {
		if step.hand != nil {
			step.hand(l)
			if strings.TrimSpace(settingsText(l)) == strings.TrimSpace(step.want) {
				t.Error("the change by hand changes nothing")
			}
			l.restart()
		}
		l.settle(serviceWith(step.apply), nodes)
		if got := settingsText(l); strings.TrimSpace(got) != strings.TrimSpace(step.want) {
			t.Errorf("%s:\n%s\nwant\n%s", step.what, got, step.want)
		}
		l.emulator.ResetCounters()
		l.settle(serviceWith(step.apply), nodes)
		l.restart()
		l.settle(serviceWith(step.apply), nodes)
		if writes := l.writes(); len(writes) > 0 {
			t.Errorf("%s: looking again writes %v", step.what, writes)
		}
	}
	l.remove(serviceWith(annotated("delete-protection", "false")))
	if left := l.everything(); len(left) > 0 {
		t.Errorf("left in the cloud: %v", left)
	}
}

// ranges are source ranges in the spec.
func ranges(texts ...string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = texts }
}
