package thalassa

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
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

// feature is a setting: how a Service asks for it, and what the cloud then shows.
type feature struct {
	first, second func(*corev1.Service)
	look          func(*lab) string
	// none is what the cloud shows without the setting, one and two with the first and the second.
	none, one, two string
	// drift changes it in the cloud by hand; nil: it cannot be, or what is there then is nobody's business.
	drift func(*lab)
	// sticky: removing it restores nothing, because the API has no word for its default.
	sticky bool
}

// port is a setting of one listener or target group, for each port.
func eachPort(l *lab, look func(i int) any) string {
	var texts []string
	for i := range l.only().Listeners {
		texts = append(texts, fmt.Sprint(look(i)))
	}
	return strings.Join(texts, " ")
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

func healthText(l *lab) string {
	return eachPort(l, func(i int) any {
		check := l.only().Listeners[i].TargetGroup.HealthCheck
		if check == nil {
			return "none"
		}
		return fmt.Sprintf("%s:%d%s/%d/%d", check.Protocol, check.Port, check.Path, check.PeriodSeconds,
			check.TimeoutSeconds)
	})
}

func sourceText(l *lab) string {
	return eachPort(l, func(i int) any { return l.only().Listeners[i].AllowedSources })
}

func groupText(l *lab) string {
	var names []string
	for _, group := range l.only().SecurityGroups {
		names = append(names, group.Identity)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// managedText are the rules of the Service's own security group, if it has one.
func managedText(l *lab) string {
	var texts []string
	for _, group := range l.list("/v1/security-groups") {
		if group.Labels[label.Managed] != "true" {
			continue
		}
		texts = append(texts, fmt.Sprintf("%d letters, attached %t:", len(group.Name), strings.Contains(groupText(l),
			group.Identity)))
		for _, rule := range group.IngressRules {
			texts = append(texts, fmt.Sprintf("%s/%d-%d/%s", rule.Protocol, rule.PortRangeMin, rule.PortRangeMax,
				rule.RemoteAddress))
		}
	}
	return strings.Join(texts, " ")
}

func features() map[string]feature {
	all := featuresOfPorts()
	maps.Copy(all, featuresOfLoadBalancers())
	return all
}

// featuresOfPorts are those that listeners and target groups have.
func featuresOfPorts() map[string]feature {
	policy := func(l *lab) string {
		return eachPort(l, func(i int) any { return l.only().Listeners[i].TargetGroup.LoadbalancingPolicy })
	}
	proxy := func(l *lab) string {
		return eachPort(l, func(i int) any { return l.only().Listeners[i].TargetGroup.EnableProxyProtocol })
	}
	limit := func(l *lab) string {
		return eachPort(l, func(i int) any { return l.only().Listeners[i].MaxConnections })
	}
	idle := func(l *lab) string {
		return eachPort(l, func(i int) any { return l.only().Listeners[i].ConnectionIdleTimeout })
	}
	const usual = "tcp:30080/healthz/5/3 tcp:30443/healthz/5/3"
	ranges := func(texts ...string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = texts }
	}
	return map[string]feature{
		"policy": {annotated("loadbalancing-policy", "MAGLEV"), annotated("loadbalancing-policy", "RANDOM"), policy,
			"ROUND_ROBIN ROUND_ROBIN", "MAGLEV MAGLEV", "RANDOM RANDOM", func(l *lab) {
				l.putGroup(set("loadbalancingPolicy", "ROUND_ROBIN"))
			}, false},
		"policy of one port": {annotated("loadbalancing-policy.p443", "MAGLEV"), annotated("loadbalancing-policy",
			"RANDOM", "loadbalancing-policy.443", "MAGLEV"), policy,
			"ROUND_ROBIN ROUND_ROBIN", "ROUND_ROBIN MAGLEV", "RANDOM MAGLEV", func(l *lab) {
				l.putGroup(set("loadbalancingPolicy", "MAGLEV"))
			}, false},
		"PROXY protocol": {annotated("enable-proxy-protocol", "true"), annotated("enable-proxy-protocol.p80", "true"),
			proxy,
			"false false", "true true", "true false", func(l *lab) {
				l.putGroup(set("enableProxyProtocol", false))
			}, false},
		"connections": {annotated("max-connections", "7"), annotated("max-connections", "8", "max-connections.p80",
			"9"), limit,
			"10000 10000", "7 7", "9 8", func(l *lab) { l.putListener(set("maxConnections", 1)) }, false},
		"idle timeout": {annotated("idle-connection-timeout", "60"), annotated("idle-connection-timeout.80", "61"),
			idle,
			"6000 6000", "60 60", "61 6000", func(l *lab) { l.putListener(set("connectionIdleTimeout", 1)) }, false},
		"health check": {annotated("health-check-port", "8081", "health-check-path", "/ready"),
			annotated("health-check-protocol", "http", "health-check-interval.p80", "30"), healthText,
			usual, "http:8081/ready/5/3 http:8081/ready/5/3", "http:30080/healthz/30/3 http:30443/healthz/5/3",
			func(l *lab) { l.putGroup(set("healthCheck", nil)) }, false},
		"no health check": {annotated("health-check-enabled", "false"), annotated("health-check-enabled.p443", "false"),
			healthText,
			usual, "none none", "tcp:30080/healthz/5/3 none", nil, false},
		"sources": {annotated("acl-allowed-sources", "10.0.0.0/8, 192.0.2.1"), annotated("acl-allowed-sources",
			"10.0.0.0/8", "acl-port-p443", "192.0.2.0/24,2001:db8::/32"), sourceText,
			"[] []", "[10.0.0.0/8 192.0.2.1/32] [10.0.0.0/8 192.0.2.1/32]",
			"[10.0.0.0/8] [10.0.0.0/8 192.0.2.0/24 2001:db8::/32]",
			func(l *lab) { l.putListener(set("allowedSources", []string{})) }, false},
		"source ranges": {ranges("203.0.113.0/24"), func(s *corev1.Service) {
			ranges("203.0.113.0/24")(s)
			annotated("acl-port-443", "10.0.0.0/8")(s)
		}, sourceText,
			"[] []", "[203.0.113.0/24] [203.0.113.0/24]", "[203.0.113.0/24] [10.0.0.0/8 203.0.113.0/24]",
			func(l *lab) { l.putListener(set("allowedSources", []string{"0.0.0.0/0"})) }, false},
	}
}

func featuresOfLoadBalancers() map[string]feature {
	address := func(l *lab) string { return l.only().ReservedIPIdentity }
	return map[string]feature{
		"reserved IP": {annotated("reserved-ip", "rip-one"), annotated("reserved-ip", "two"), address,
			"", "rip-one", "rip-two", func(l *lab) { l.putBalancer(set("reservedIpId", "")) }, false},
		"security groups": {annotated("security-groups", "sg-one"), annotated("security-groups", "two, sg-one"),
			groupText,
			"", "sg-one", "sg-one sg-two", func(l *lab) {
				l.putBalancer(set("securityGroupAttachments", []string{}))
			}, false},
		"security group of its own": {
			annotated("create-security-group", "true"),
			annotated("create-security-group", "true", "acl-port-p80", "10.0.0.0/8", "security-group-allow-icmp",
				"true", "security-group-icmp-allowed-sources", "192.0.2.0/24"),
			managedText, "",
			"16 letters, attached true: tcp/80-80/0.0.0.0/0 tcp/80-80/::/0 tcp/443-443/0.0.0.0/0 tcp/443-443/::/0",
			"16 letters, attached true: tcp/80-80/10.0.0.0/8 tcp/443-443/0.0.0.0/0 tcp/443-443/::/0 " +
				"icmp/1-1/192.0.2.0/24",
			func(l *lab) { l.putBalancer(set("securityGroupAttachments", []string{})) }, false,
		},
		"name": {annotated("name", "shop-front"), annotated("name", "shop-back"), func(l *lab) string {
			return l.only().Name
		},
			"a0a1b2c3dweb", "shop-front", "shop-back", func(l *lab) { l.putBalancer(set("name", "mine")) }, false},
		"labels": {annotated("labels", "team=shop,stage=test"), annotated("labels", "team=till"),
			func(l *lab) string {
				lb := l.only()
				return lb.Labels["team"] + "/" + lb.Labels["stage"] + "/" + lb.Labels[label.Cluster]
			},
			"//k8s-test", "shop/test/k8s-test", "till//k8s-test", func(l *lab) {
				labels := l.only().Labels
				delete(labels, "team")
				l.putBalancer(set("labels", labels))
			}, false},
		"size": {annotated("instance-size", "lb-gp-small"), annotated("instance-size", "lb-gp-large"),
			func(l *lab) string {
				return l.only().InstanceSize
			},
			"", "lb-gp-small", "lb-gp-large", func(l *lab) { l.putBalancer(set("instanceSize", "lb-gp-huge")) }, true},
		"delete protection": {annotated("delete-protection", "true"), annotated("delete-protection", "false"),
			func(l *lab) string { return fmt.Sprint(l.only().DeleteProtection) },
			"false", "true", "false", func(l *lab) { l.putBalancer(set("deleteProtection", false)) }, false},
		"subnet": {annotated("subnet", "second"), annotated("subnet", emulator.DefaultSubnet), func(l *lab) string {
			return l.only().SubnetIdentity
		},
			emulator.DefaultSubnet, "subnet-second", emulator.DefaultSubnet, func(l *lab) {
				l.putBalancer(set("subnet", emulator.DefaultSubnet))
			}, false},
	}
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

// TestFeatures: every setting is applied when it is set, changed and removed, also by a process that has just started,
// written once, put right when it is changed by hand, and gone with the Service.
func TestFeatures(t *testing.T) {
	t.Parallel()
	for name, f := range features() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				nodes := l.nodes("a", "b")
				expect := func(when string, apply func(*corev1.Service), want string) {
					t.Helper()
					l.settle(serviceWith(apply), nodes)
					if diff := cmp.Diff(want, f.look(l)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", when, diff)
					}
					l.emulator.ResetCounters()
					l.settle(serviceWith(apply), nodes)
					l.restart()
					l.settle(serviceWith(apply), nodes)
					if writes := l.writes(); len(writes) > 0 {
						t.Errorf("%s: looking again writes %v", when, writes)
					}
				}
				expect("without it", nil, f.none)
				expect("set", f.first, f.one)
				if f.drift != nil {
					f.drift(l)
					if f.look(l) == f.one {
						t.Error("the change by hand changes nothing")
					}
					l.restart()
					expect("after a change by hand", f.first, f.one)
				}
				expect("changed", f.second, f.two)
				if f.sticky {
					f.none = f.two
				}
				expect("removed", nil, f.none)
				expect("set again", f.first, f.one)
				gone := serviceWith(nil)
				annotated("delete-protection", "false")(gone)
				l.remove(gone)
				if left := l.everything(); len(left) > 0 {
					t.Errorf("left in the cloud: %v", left)
				}
			})
		})
	}
}

// TestFeaturesFromTheBeginning: a Service that is made with a setting has it from the first moment, and loses it with
// it.
func TestFeaturesFromTheBeginning(t *testing.T) {
	for name, f := range features() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				nodes := l.nodes("a", "b")
				l.emulator.ResetCounters()
				l.settle(serviceWith(f.first), nodes)
				if diff := cmp.Diff(f.one, f.look(l)); diff != "" {
					t.Errorf("made with it (-want +got):\n%s", diff)
				}
				extra := 0
				if name == "security group of its own" {
					extra = 1
				}
				if writes := l.writes(); len(writes) > 2*2+1+extra {
					t.Errorf("%d writes, want at most two a port and one, and %d: %v", len(writes), extra, writes)
				}
				l.settle(serviceWith(nil), nodes)
				want := f.none
				if f.sticky {
					want = f.one
				}
				if diff := cmp.Diff(want, f.look(l)); diff != "" {
					t.Errorf("removed (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestFeaturesAfterCrashes: the process dies before or after any write of a change, and the next one finishes it.
func TestFeaturesAfterCrashes(t *testing.T) {
	t.Parallel()
	for name, f := range features() {
		for _, step := range []struct {
			name     string
			from, to func(*corev1.Service)
			want     string
		}{{"made with it", nil, f.first, f.one}, {"set", func(*corev1.Service) {}, f.first, f.one},
			{"changed", f.first, f.second, f.two}, {"removed", f.first, nil, f.none}} {
			if !tier.Has(name+step.name, 4) {
				continue
			}
			t.Run(name+" "+step.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if f.sticky && step.to == nil {
						step.want = f.one
					}
					crashes(t, f, step.from, step.to, step.want)
				})
			})
		}
	}
}

// crashes makes the change again and again, with a process that dies at each write.
func crashes(t *testing.T, f feature, from, to func(*corev1.Service), want string) {
	t.Helper()
	for write := 0; ; write++ {
		for _, happened := range []bool{false, true} {
			l := newFeatureLab(t)
			nodes := l.nodes("a", "b")
			if from != nil {
				l.settle(serviceWith(from), nodes)
			}
			good := l.network
			dying := &failing{next: good, writes: write, happened: happened}
			l.network = dying
			l.restart()
			_, _ = l.ensure(serviceWith(to), nodes)
			died := dying.writes < 0
			l.network = good
			l.restart()
			<-time.After(2 * time.Minute)
			l.settle(serviceWith(to), nodes)
			if diff := cmp.Diff(want, f.look(l)); diff != "" {
				t.Errorf("write %d, happened %t (-want +got):\n%s", write, happened, diff)
			}
			gone := serviceWith(to)
			annotated("delete-protection", "false")(gone)
			l.remove(gone)
			if left := l.everything(); len(left) > 0 {
				t.Errorf("write %d, happened %t: left in the cloud: %v", write, happened, left)
			}
			if !died {
				return
			}
		}
	}
}

// mustDecode reads an answer of the API.
func mustDecode(t *testing.T, answer []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(answer, into); err != nil {
		t.Fatal(err)
	}
}
