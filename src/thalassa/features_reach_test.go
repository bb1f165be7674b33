package thalassa

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// warnings are all that were reported since the last look.
func (l *lab) warnings() string {
	l.Helper()
	var all []string
	for event := l.nextEvent(); event != ""; event = l.nextEvent() {
		all = append(all, event)
	}
	return strings.Join(all, "\n")
}

// reported wants one warning with the texts, and no other; without texts, none.
func (l *lab) reported(what string, texts ...string) {
	l.Helper()
	got := l.warnings()
	if len(texts) == 0 && got != "" {
		l.Errorf("%s: warnings %q, want none", what, got)
	}
	if strings.Count(got, "\n") > 0 {
		l.Errorf("%s: more than one warning:\n%s", what, got)
	}
	for _, text := range texts {
		if !strings.Contains(got, text) {
			l.Errorf("%s: warning %q, want one with %q", what, got, text)
		}
	}
}

func ips(status *corev1.LoadBalancerStatus) string {
	var texts []string
	for _, ingress := range status.Ingress {
		texts = append(texts, strings.TrimSuffix(ingress.IP+" "+ingress.Hostname, " "))
	}
	return strings.Join(texts, ", ")
}

// TestInternal: an internal load balancer has an address of its subnet, and stays what it is.
func TestInternal(t *testing.T) {
	for name, apply := range map[string]func(*corev1.Service){"type": annotated("type", "internal"),
		"internal": annotated("internal", "true", "type", "public")} {
		for _, also := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, also external %t", name, also), func(t *testing.T) {
				c := featureCloud()
				c.Switches.InternalAddressAlsoExternal = also
				c.Switches.LoadbalancerHostnames = false
				l := newLab(t, c)
				nodes := l.nodes("a")
				address := ips(l.settle(serviceWith(apply), nodes))
				if ip, err := netip.ParseAddr(address); err != nil ||
					!netip.MustParsePrefix("10.0.0.0/17").Contains(ip) {
					t.Errorf("published %q, want an address of the subnet", address)
				}
				if got := l.warnings(); got != "" {
					t.Errorf("reported %s", got)
				}
				public := serviceWith(annotated("type", "public", "internal", "false"))
				public.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
				if got := ips(l.settle(public, nodes)); got != address {
					t.Errorf("published %q, want %q, which still leads there", got, address)
				}
				l.reported("made public", reasonImmutable, "delete the Service and create it again")
				public.Spec.Ports = append(public.Spec.Ports, service("more", 8443).Spec.Ports...)
				if _, err := l.ensure(public, nodes); err == nil ||
					!strings.Contains(err.Error(), "1 of the ports of Service shop/web are not opened") {
					t.Errorf("error %v, want one about the port that is not opened", err)
				}
				if got := len(l.only().Listeners); got != 2 {
					t.Errorf("%d listeners, want those that were there", got)
				}
			})
		}
	}
}

// TestInternalIsNotKnown: whether the public may come cannot be read, so nobody may.
func TestInternalIsNotKnown(t *testing.T) {
	for name, apply := range map[string]func(*corev1.Service){
		"internal: maybe": annotated("internal", "maybe"), "type: private": annotated("type", "private"),
		"both": annotated("type", "internal", "internal", "false"),
	} {
		t.Run(name, func(t *testing.T) {
			l := newFeatureLab(t)
			if _, err := l.ensure(serviceWith(apply), l.nodes("a")); err == nil ||
				!strings.Contains(err.Error(),
					"the annotations that make the load balancer internal or public are not valid") {
				t.Errorf("error %v", err)
			}
			if left := l.everything(); len(left) > 0 {
				t.Errorf("made nevertheless: %v", left)
			}
		})
	}
}

func TestPublish(t *testing.T) {
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	host := ".loadbalancers.emulator.invalid"
	for publish, want := range map[string]func(string) bool{
		"":         func(got string) bool { return strings.HasPrefix(got, "198.18.") && strings.HasSuffix(got, host) },
		"both":     func(got string) bool { return strings.HasPrefix(got, "198.18.") && strings.HasSuffix(got, host) },
		"ip":       func(got string) bool { return strings.HasPrefix(got, "198.18.") && !strings.Contains(got, " ") },
		"hostname": func(got string) bool { return strings.HasPrefix(got, " lb-") && strings.HasSuffix(got, host) },
	} {
		apply := annotated("publish", publish)
		if publish == "" {
			apply = nil
		}
		status := l.settle(serviceWith(apply), nodes)
		if got := ips(status); !want(got) {
			t.Errorf("publish %q: %q", publish, got)
		}
		if proxy := status.Ingress[0].IPMode != nil; proxy != (status.Ingress[0].IP != "") {
			t.Errorf("publish %q: a mode %t, and an address %q", publish, proxy, status.Ingress[0].IP)
		}
	}
}

// TestHostnameThatIsNotThere: it is better reached by its address than not at all.
func TestHostnameThatIsNotThere(t *testing.T) {
	l := newLab(t, emulator.Config{})
	if got := ips(l.settle(serviceWith(annotated("publish", "hostname")), l.nodes("a"))); !strings.HasPrefix(got,
		"198.18.") {
		t.Errorf("published %q", got)
	}
	l.reported("no hostname", reasonUnsupported, "has no hostname")
}

// dualStack has public addresses of both families.
func dualStack() emulator.Config {
	c := featureCloud()
	c.Switches.LoadbalancerHostnames = false
	c.Seed.Regions[0].PublicAddresses = append(c.Seed.Regions[0].PublicAddresses,
		netip.MustParsePrefix("2001:db8::/64"))
	return c
}

// TestFamilies: of a load balancer with addresses of both families those are published that the Service has.
func TestFamilies(t *testing.T) {
	l := newLab(t, dualStack())
	nodes := l.nodes("a")
	families := func(policy corev1.IPFamilyPolicy, families ...corev1.IPFamily) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.IPFamilyPolicy, s.Spec.IPFamilies = &policy, families }
	}
	for _, tt := range []struct {
		apply  func(*corev1.Service)
		v4, v6 bool
	}{
		{nil, true, true},
		{families(corev1.IPFamilyPolicySingleStack, corev1.IPv4Protocol), true, false},
		{families(corev1.IPFamilyPolicySingleStack, corev1.IPv6Protocol), false, true},
		{families(corev1.IPFamilyPolicyRequireDualStack, corev1.IPv6Protocol, corev1.IPv4Protocol), true, true},
	} {
		got := ips(l.settle(serviceWith(tt.apply), nodes))
		if strings.Contains(got, "198.18.") != tt.v4 || strings.Contains(got, "2001:db8:") != tt.v6 {
			t.Errorf("published %q, want IPv4 %t and IPv6 %t", got, tt.v4, tt.v6)
		}
	}
	if got := l.warnings(); got != "" {
		t.Errorf("reported %s", got)
	}
}

// TestFamilyThatIsNotThere: the Service is reached by the other one, and its owner knows.
func TestFamilyThatIsNotThere(t *testing.T) {
	l := newLab(t, emulator.Config{})
	nodes := l.nodes("a")
	wants := func(policy corev1.IPFamilyPolicy) *corev1.Service {
		return serviceWith(func(s *corev1.Service) {
			s.Spec.IPFamilyPolicy, s.Spec.IPFamilies = &policy, []corev1.IPFamily{corev1.IPv6Protocol}
		})
	}
	if got := ips(l.settle(wants(corev1.IPFamilyPolicyPreferDualStack), nodes)); !strings.HasPrefix(got, "198.18.") {
		t.Errorf("published %q", got)
	}
	if got := l.warnings(); got != "" {
		t.Errorf("preferred only, and reported %s", got)
	}
	l.settle(wants(corev1.IPFamilyPolicySingleStack), nodes)
	l.reported("IPv6 alone", reasonUnsupported, "has no IPv6 address")
}

// TestKeepOnDelete: what the Service had stays in the cloud with its traffic, is nobody's, and can be adopted by
// another one.
func TestKeepOnDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes := l.nodes("a", "b")
		first := serviceWith(annotated("on-delete", "keep", "create-security-group", "true", "max-connections", "77",
			"health-check-path", "/x", "health-check-port", "8080"))
		address := ips(l.settle(first, nodes))
		before := l.only()
		l.remove(first)
		after := l.only()
		if after.Identity != before.Identity || len(after.Listeners) != 2 || after.Labels[label.ServiceUID] != "" ||
			after.Labels[label.Managed] == "true" || after.Annotations[annotationCreatedBy] != "" {
			t.Errorf("left: %+v; want the same load balancer, without an owner", after)
		}
		l.remove(first)
		if owned, err := l.cloud.balancers.ListManaged(t.Context()); err != nil || len(owned) > 0 {
			t.Errorf("owned %v, error %v; want nothing, not even as an orphan", owned, err)
		}

		second := service("second", 80, 443)
		annotated("adopt", before.Identity)(second)
		if _, err := l.ensure(second, nodes); err == nil ||
			!strings.Contains(err.Error(), "does not say that it may be adopted") {
			t.Errorf("error %v, want one that says how it is permitted", err)
		}
		l.putBalancer(set("annotations", map[string]string{annotationAdoptable: "k8s-test/shop/second"}))
		if got := ips(l.settle(second, nodes[:1])); got != address {
			t.Errorf("published %q, want the address that was kept, %q", got, address)
		}
		lb := l.only()
		if lb.Identity != before.Identity || lb.Name != before.Name || lb.Listeners[0].MaxConnections != 77 ||
			healthText(l) != "http:8080/x/5/3 http:8080/x/5/3" {
			t.Errorf("adopted: %+v with health checks %s; want everything as it was", lb, healthText(l))
		}
		if got := len(l.list("/v1/loadbalancer-target-groups")); got != 2 ||
			len(l.machines(lb.Listeners[0].TargetGroup.Name)) != 1 {
			t.Errorf("%d target groups, machines %v; want the two there were, with the new Service's nodes", got,
				l.machines(lb.Listeners[0].TargetGroup.Name))
		}
		l.restart()
		l.emulator.ResetCounters()
		l.settle(second, nodes[:1])
		if writes := l.writes(); len(writes) > 0 {
			t.Errorf("looking again writes %v", writes)
		}
		annotated("max-connections", "88")(second)
		l.settle(second, nodes[:1])
		if got := l.only().Listeners[0].MaxConnections; got != 88 {
			t.Errorf("%d connections, want what the Service asks for now", got)
		}
		l.remove(second)
		if left := l.leftovers(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestAdoptWhatIsNotForUs: nothing is taken, and nothing made in its place.
func TestAdoptWhatIsNotForUs(t *testing.T) {
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	owned := service("owner", 80)
	l.settle(owned, nodes)
	theirs := l.only()
	for name, tt := range map[string]struct{ id, want string }{
		"unknown":   {"lb-unknown", "has no load balancer"},
		"another's": {theirs.Identity, "belongs to Service shop/owner of cluster k8s-test"},
	} {
		web := serviceWith(annotated("adopt", tt.id))
		if _, err := l.ensure(web, nodes); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tt.want)
		}
	}
	if got := l.list("/v1/loadbalancers"); len(got) != 1 || got[0].Labels[label.ServiceUID] != string(owned.UID) {
		t.Errorf("load balancers: %+v", got)
	}
}

// TestUnknownReferences: what a Service names and is not there is reported once, blocks the making of a load balancer
// that would be another one than asked for, and nothing else; when it is there, all goes on by itself.
func TestUnknownReferences(t *testing.T) {
	for name, tt := range map[string]struct {
		apply  func(*corev1.Service)
		reason string
		names  string
		make   func(*lab)
		look   func(*lab) string
		want   string
	}{
		"subnet": {annotated("subnet", "third"), reasonUnknownSubnet, "subnet-second (second)", func(l *lab) {
			l.request(http.MethodPost, "/v1/subnets", map[string]any{"name": "third",
				"vpcIdentity": emulator.DefaultVPC, "cidr": "10.0.200.0/24"})
		}, func(l *lab) string { return fmt.Sprint(l.only().SubnetIdentity != emulator.DefaultSubnet) }, "true"},
		"security group": {annotated("security-groups", "three"), reasonUnknownGroup, "sg-one (one)", func(l *lab) {
			l.request(http.MethodPost, "/v1/security-groups", map[string]any{"name": "three",
				"vpcIdentity": emulator.DefaultVPC})
		}, func(l *lab) string { return fmt.Sprint(len(l.only().SecurityGroups)) }, "1"},
		"reserved IP": {annotated("reserved-ip", "three"), reasonUnknownIP, "has no reserved IP \"three\"",
			func(l *lab) {
				l.request(http.MethodPost, "/v1/reserved-ips", map[string]any{"name": "three",
					"region": emulator.DefaultRegion})
			}, func(l *lab) string { return fmt.Sprint(l.only().ReservedIPIdentity != "") }, "true"},
		"an address that is not reserved": {func(s *corev1.Service) {
			s.Spec.LoadBalancerIP = "198.18.77.77"
		}, reasonUnknownIP, "198.18.77.77", nil, nil, ""},
		"no address": {func(s *corev1.Service) {
			s.Spec.LoadBalancerIP = "web"
		}, reasonUnknownIP, "is not an IP address", nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				nodes := l.nodes("a")
				if _, err := l.ensure(serviceWith(tt.apply), nodes); err == nil {
					t.Error("a load balancer is made that is not what the Service asks for")
				}
				l.reported("new", tt.reason, tt.names)
				found, err := l.cloud.balancers.Diff(t.Context(), serviceWith(tt.apply), cloud.Targets{}, false)
				if err != nil || !found.Targets.LeftOut {
					t.Errorf("error %v, looked at again by itself: %t", err, found.Targets.LeftOut)
				}
				if left := l.leftovers(); len(left) > 0 {
					t.Errorf("made: %v", left)
				}
				l.settle(serviceWith(nil), nodes)
				moved := serviceWith(tt.apply)
				moved.Spec.Ports[0].NodePort = 31080
				l.settle(moved, append(nodes, l.nodes("b")...))
				l.reported("existing", tt.reason, tt.names)
				if got := l.only().Listeners[0].TargetGroup; got.TargetPort != 31080 || len(l.machines(got.Name)) != 2 {
					t.Errorf("target port %d, machines %v; want the Service followed in all else", got.TargetPort,
						l.machines(got.Name))
				}
				if tt.make == nil {
					return
				}
				tt.make(l)
				<-time.After(10 * time.Minute)
				l.settle(moved, l.allNodes)
				if got := tt.look(l); got != tt.want {
					t.Errorf("once it is there: %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// TestUnknownGroupOpensNothing: a new port would be open to more than its Service asks for.
func TestUnknownGroupOpensNothing(t *testing.T) {
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	l.settle(serviceWith(annotated("security-groups", "one")), nodes)
	more := serviceWith(annotated("security-groups", "one, unknown"))
	more.Spec.Ports = append(more.Spec.Ports, service("more", 8443).Spec.Ports...)
	if _, err := l.ensure(more, nodes); err == nil ||
		!strings.Contains(err.Error(),
			"1 of the ports of Service shop/web are not opened: its security groups do not exist") {
		t.Errorf("error %v", err)
	}
	if got := groupText(l); got != "sg-one" || len(l.only().Listeners) != 2 {
		t.Errorf("security groups %q and %d ports; want both as they were", got, len(l.only().Listeners))
	}
}

// TestReservedIPByAddress: spec.loadBalancerIP is the address of a reserved IP.
func TestReservedIPByAddress(t *testing.T) {
	l := newFeatureLab(t)
	var ips []struct {
		Identity    string
		IPv4Address string `json:"ipv4Address"`
	}
	mustDecode(t, l.request(http.MethodGet, "/v1/reserved-ips", nil), &ips)
	at := slices.IndexFunc(ips, func(ip struct {
		Identity    string
		IPv4Address string `json:"ipv4Address"`
	}) bool {
		return ip.Identity == "rip-two"
	})
	web := serviceWith(func(s *corev1.Service) { s.Spec.LoadBalancerIP = ips[at].IPv4Address })
	status := l.settle(web, l.nodes("a"))
	if got := l.only().ReservedIPIdentity; got != "rip-two" || status.Ingress[0].IP != ips[at].IPv4Address {
		t.Errorf("reserved IP %q, address %s; want rip-two and %s", got, status.Ingress[0].IP, ips[at].IPv4Address)
	}
	annotated("reserved-ip", "rip-one")(web)
	l.settle(web, l.allNodes)
	l.reported("two names", reasonConflict, "Remove one of the two")
	if got := l.only().ReservedIPIdentity; got != "rip-two" {
		t.Errorf("reserved IP %q, want the one there was", got)
	}
}

// TestReservedIPMoves: one Service gives it up, and another, which waited for it, gets it.
func TestReservedIPMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes := l.nodes("a")
		first, second := service("first", 80), service("second", 80)
		annotated("reserved-ip", "rip-one")(first)
		annotated("reserved-ip", "rip-one")(second)
		address := l.settle(first, nodes).Ingress[0].IP
		_, err := l.ensure(second, nodes)
		if err == nil || cloud.ReasonOf(err).Waits() {
			t.Errorf("error %v, want one that says who has it", err)
		}
		l.reported("in use", reasonInUse, "rip-one ("+address+") is attached to lb-")
		delete(first.Annotations, label.AnnotationPrefix+"reserved-ip")
		if got := l.settle(first, nodes).Ingress[0].IP; got == address {
			t.Errorf("address %s, want another one", got)
		}
		<-time.After(10 * time.Minute)
		if got := l.settle(second, nodes).Ingress[0].IP; got != address {
			t.Errorf("address %s, want %s", got, address)
		}
	})
}

// TestOthersReservedIPStays: what we did not attach we do not detach.
func TestOthersReservedIPStays(t *testing.T) {
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	l.settle(serviceWith(nil), nodes)
	l.putBalancer(set("reservedIpId", "rip-one"))
	l.putBalancer(set("securityGroupAttachments", []string{"sg-one"}))
	l.putBalancer(set("deleteProtection", true))
	l.restart()
	l.settle(serviceWith(annotated("labels", "team=shop")), nodes)
	if lb := l.only(); lb.ReservedIPIdentity != "rip-one" || groupText(l) != "sg-one" || !lb.DeleteProtection {
		t.Errorf("load balancer %+v; want what others gave it", lb)
	}
}

func TestQuotaIsExplained(t *testing.T) {
	for _, status := range []int{403, 409, 422, 429} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{Switches: emulator.Switches{QuotaStatus: status}})
				if err := l.emulator.SetQuota(emulator.DefaultOrganisation, "loadbalancers", 1); err != nil {
					t.Fatal(err)
				}
				nodes := l.nodes("a")
				l.settle(service("first", 80), nodes)
				_, err := l.ensure(service("second", 80), nodes)
				if err == nil || !strings.Contains(err.Error(), "loadbalancers, 1 of 1") ||
					!strings.Contains(err.Error(), "to raise the quotas") {
					t.Errorf("error %v, want one with the quota's name and number", err)
				}
			})
		})
	}
}

// TestDefaults: the cloud-config's defaults hold for load balancers that are ours from the beginning, and the Service's
// word before them.
func TestDefaults(t *testing.T) {
	l := newFeatureLab(t)
	l.config.LoadBalancer.Defaults = map[string]string{"loadbalancing-policy": "MAGLEV",
		"health-check-enabled": "false", "create-security-group": "true"}
	l.restart()
	nodes := l.nodes("a")
	l.settle(serviceWith(annotated("loadbalancing-policy.p80", "RANDOM")), nodes)
	policies := l.only().Listeners[0].TargetGroup.LoadbalancingPolicy + " " +
		l.only().Listeners[1].TargetGroup.LoadbalancingPolicy
	if policies != "RANDOM MAGLEV" || healthText(l) != "none none" ||
		!strings.Contains(managedText(l), "attached true") {
		t.Errorf("policies %s, health checks %s, security group %q", policies, healthText(l), managedText(l))
	}
	l.config.LoadBalancer.Defaults = nil
	l.restart()
	l.settle(serviceWith(nil), nodes)
	policies = l.only().Listeners[0].TargetGroup.LoadbalancingPolicy + " " +
		l.only().Listeners[1].TargetGroup.LoadbalancingPolicy
	if policies != "ROUND_ROBIN ROUND_ROBIN" || managedText(l) != "" {
		t.Errorf("without them: policies %s, security group %q", policies, managedText(l))
	}
}

// TestRestrictionsChangeHands: from one way to restrict a port to another one, whatever write the process dies at, it
// is never open to all.
func TestRestrictionsChangeHands(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*corev1.Service){
		"sources": annotated("acl-allowed-sources", "10.0.0.0/8"), "groups": annotated("security-groups", "sg-one"),
		"own group": annotated("create-security-group", "true", "acl-allowed-sources", "10.0.0.0/8"),
		"both":      annotated("security-groups", "sg-two", "acl-allowed-sources", "192.0.2.0/24"),
	}
	for from, before := range ways {
		for to, after := range ways {
			t.Run(from+" to "+to, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					for write, died := 0, true; died; write++ {
						l := newFeatureLab(t)
						nodes := l.nodes("a")
						l.settle(serviceWith(before), nodes)
						dying := &failing{next: l.network, writes: write}
						l.network = dying
						l.restart()
						_, _ = l.ensure(serviceWith(after), nodes)
						died = dying.writes < 0
						for _, listener := range l.only().Listeners {
							if len(listener.AllowedSources) == 0 && len(l.only().SecurityGroups) == 0 {
								t.Errorf("before write %d port %d is open to everybody", write, listener.Port)
							}
						}
					}
				})
			})
		}
	}
}

// TestTakenOverGroupIsNotCut: a security group of the existing CCM keeps what it lets in when the Service no longer
// says who that is.
func TestTakenOverGroupIsNotCut(t *testing.T) {
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	asks := annotated("create-security-group", "true", "acl-allowed-sources", "10.0.0.0/8")
	l.settle(serviceWith(asks), nodes)
	want := managedText(l)
	l.putBalancer(func(body map[string]any) { body["annotations"] = map[string]string{} })
	for range 2 {
		l.putListener(func(body map[string]any) { body["annotations"] = map[string]string{} })
	}
	group := l.list("/v1/security-groups")
	at := slices.IndexFunc(group, func(g shown) bool { return g.Labels[label.Managed] == "true" })
	var whole map[string]any
	mustDecode(t, l.request(http.MethodGet, "/v1/security-groups/"+group[at].Identity, nil), &whole)
	whole["annotations"] = map[string]string{}
	l.request(http.MethodPut, "/v1/security-groups/"+group[at].Identity, whole)
	l.restart()
	l.settle(serviceWith(annotated("create-security-group", "true")), nodes)
	if got := managedText(l); got != want {
		t.Errorf("security group %q, want %q", got, want)
	}
}

// TestUnreadableEnd: what cannot be undone waits until it is clear what is meant.
func TestUnreadableEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		web := serviceWith(annotated("on-delete", "kepe"))
		l.settle(web, l.nodes("a"))
		err := l.library.EnsureLoadBalancerDeleted(t.Context(), "test", web)
		if err == nil || !strings.Contains(err.Error(), "on-delete is not valid") || len(l.leftovers()) != 3 {
			t.Errorf("error %v, in the cloud %v; want everything there", err, l.leftovers())
		}
		delete(web.Annotations, label.AnnotationPrefix+"on-delete")
		l.remove(web)
		_, err = l.ensure(serviceWith(annotated("adopt", "a b")), l.allNodes)
		if err == nil || len(l.leftovers()) > 0 {
			t.Errorf("adopting something unreadable: error %v, made %v", err, l.leftovers())
		}
	})
}

// TestDeleteProtection: a Service whose load balancer is protected waits, says so, and goes once it is not.
func TestDeleteProtection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		web := serviceWith(annotated("delete-protection", "true"))
		l.settle(web, l.nodes("a"))
		err := l.library.EnsureLoadBalancerDeleted(t.Context(), "test", web)
		if err == nil || !strings.Contains(err.Error(), "is protected from deletion by an annotation of the Service") ||
			len(l.leftovers()) != 3 {
			t.Errorf("error %v, in the cloud %v; want everything there", err, l.leftovers())
		}
		annotated("delete-protection", "false")(web)
		l.remove(web)
		if left := l.leftovers(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		byHand := serviceWith(nil)
		l.settle(byHand, l.allNodes)
		l.putBalancer(set("deleteProtection", true))
		l.restart()
		err = l.library.EnsureLoadBalancerDeleted(t.Context(), "test", byHand)
		if err == nil || !strings.Contains(err.Error(), "protected from deletion in the cloud") {
			t.Errorf("error %v, want one that says where the protection is", err)
		}
	})
}
