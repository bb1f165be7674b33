package thalassa

import (
	"fmt"
	"maps"
	"net/http"
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

// TestMisspeltRestrictions: a restriction whose name or port does not fit opens nothing, and changes nothing that is
// open.
func TestMisspeltRestrictions(t *testing.T) {
	for name, apply := range map[string]func(*corev1.Service){
		"a name": annotated("acl-allowed-source", "10.0.0.0/8"), "a port": annotated("acl-port-htps", "10.0.0.0/8"),
		"a group": annotated("security-group", "sg-one"), "an own group": annotated("create-securty-group", "true"),
		"internal":                 annotated("internall", "true"),
		"a port after a dot":       annotated("acl-port.p443", "10.0.0.0/8"),
		"a name with a port":       annotated("acl-allowed-source.p443", "10.0.0.0/8"),
		"a group for a port":       annotated("security-group.p443", "sg-one"),
		"internal for a port":      annotated("internl.p80", "true"),
		"a name of our own making": annotated("acl-https", "10.0.0.0/8"), "half a name": annotated("acl", "10.0.0.0/8"),
		"one of others": annotated("allowed-cidrs", "10.0.0.0/8"), "a scheme": annotated("scheme", "internal"),
	} {
		t.Run(name, func(t *testing.T) {
			l := newFeatureLab(t)
			nodes := l.nodes("a")
			if _, err := l.ensure(serviceWith(apply), nodes); err == nil || len(l.everything()) > 0 {
				t.Errorf("error %v, made %v; want nothing opened", err, l.everything())
			}
		})
	}
}

// TestRenamedPortStaysClosed: its access list names a port that is not there any more.
func TestRenamedPortStaysClosed(t *testing.T) {
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	apply := annotated("acl-port-p443", "10.0.0.0/8", "enable-proxy-protocol.p443", "true")
	l.settle(serviceWith(apply), nodes)
	renamed := serviceWith(apply)
	renamed.Spec.Ports[1].Name = "tls"
	l.settle(renamed, nodes)
	if got := sourceText(l); got != "[] [10.0.0.0/8]" || !l.only().Listeners[1].TargetGroup.EnableProxyProtocol {
		t.Errorf("sources %s, PROXY protocol %t; want both as they were", got,
			l.only().Listeners[1].TargetGroup.EnableProxyProtocol)
	}
}

// wordless is a Service that does not even say that it is public.
func wordless(s *corev1.Service) { delete(s.Annotations, label.AnnotationPrefix+nameType) }

// defaultEffect is what a default of the cloud-config does.
type defaultEffect struct {
	value string
	also  map[string]string // other defaults that it needs
	look  func(*lab) string
	want  string
}

func defaultEffects() map[string]defaultEffect {
	sources := func(l *lab) string { return sourceText(l) }
	return map[string]defaultEffect{
		"acl-allowed-sources": {"10.0.0.0/8", nil, sources, "[10.0.0.0/8] [10.0.0.0/8]"},
		"create-security-group": {"true", nil, managedText,
			"16 letters, attached true: tcp/80-80/0.0.0.0/0 tcp/80-80/::/0 tcp/443-443/0.0.0.0/0 tcp/443-443/::/0"},
		"security-group-allow-icmp": {"true", map[string]string{"create-security-group": "true",
			"acl-allowed-sources": "10.0.0.0/8"}, managedText,
			"16 letters, attached true: tcp/80-80/10.0.0.0/8 tcp/443-443/10.0.0.0/8 icmp/1-1/10.0.0.0/8"},
		"security-group-icmp-allowed-sources": {"192.0.2.0/24",
			map[string]string{"create-security-group": "true", "acl-allowed-sources": "10.0.0.0/8",
				"security-group-allow-icmp": "true"}, managedText,
			"16 letters, attached true: tcp/80-80/10.0.0.0/8 tcp/443-443/10.0.0.0/8 icmp/1-1/192.0.2.0/24"},
		"security-groups": {"one", nil, groupText, "sg-one"},
		"delete-protection": {"true", nil, func(l *lab) string {
			return fmt.Sprint(l.only().DeleteProtection)
		}, "true"},
		"enable-proxy-protocol": {"true", nil, func(l *lab) string {
			return fmt.Sprint(l.only().Listeners[0].TargetGroup.EnableProxyProtocol)
		}, "true"},
		"health-check-enabled": {"false", nil, healthText, "none none"},
		"health-check-port":    {"10256", nil, healthText, "http:10256/healthz/5/3 http:10256/healthz/5/3"},
		"health-check-path": {"/x", map[string]string{"health-check-protocol": "http"}, healthText,
			"http:30080/x/5/3 http:30443/x/5/3"},
		"health-check-protocol": {"https", nil, healthText, "https:30080/healthz/5/3 https:30443/healthz/5/3"},
		"health-check-interval": {"30", nil, healthText, "tcp:30080/healthz/30/3 tcp:30443/healthz/30/3"},
		"health-check-timeout":  {"4", nil, healthText, "tcp:30080/healthz/5/4 tcp:30443/healthz/5/4"},
		"health-check-up-threshold": {"9", nil, func(l *lab) string {
			return fmt.Sprint(l.only().Listeners[0].TargetGroup.HealthCheck.HealthyThreshold)
		}, "9"},
		"health-check-down-threshold": {"9", nil, func(l *lab) string {
			return fmt.Sprint(l.only().Listeners[0].TargetGroup.HealthCheck.UnhealthyThreshold)
		}, "9"},
		"idle-connection-timeout": {"60", nil, func(l *lab) string {
			return fmt.Sprint(l.only().Listeners[0].ConnectionIdleTimeout)
		}, "60"},
		"max-connections": {"7", nil, func(l *lab) string {
			return fmt.Sprint(l.only().Listeners[0].MaxConnections)
		}, "7"},
		"loadbalancing-policy": {"MAGLEV", nil, func(l *lab) string {
			return l.only().Listeners[0].TargetGroup.LoadbalancingPolicy
		}, "MAGLEV"},
		"instance-size": {"lb-gp-small", nil, func(l *lab) string {
			return l.only().InstanceSize
		}, "lb-gp-small"},
		"internal": {"true", nil, func(l *lab) string {
			return fmt.Sprint(len(l.only().ExternalIPAddresses))
		}, "0"},
		"type": {"internal", nil, func(l *lab) string {
			return fmt.Sprint(len(l.only().ExternalIPAddresses))
		}, "0"},
		"subnet": {"second", nil, func(l *lab) string {
			return l.only().SubnetIdentity
		}, "subnet-second"},
		"labels": {"team=shop", nil, func(l *lab) string { return l.only().Labels["team"] }, "shop"},
		"publish": {"ip", nil, func(l *lab) string {
			return fmt.Sprint(strings.Contains(ips(l.settle(serviceWith(wordless), l.allNodes)), " "))
		}, "false"},
		"on-delete": {"keep", nil, func(l *lab) string {
			l.remove(serviceWith(wordless))
			return fmt.Sprint(len(l.list("/v1/loadbalancers")))
		}, "1"},
	}
}

// TestEveryDefaultHasAnEffect: what the cloud-config may say for all Services is done for a Service that says nothing.
func TestEveryDefaultHasAnEffect(t *testing.T) {
	effects := defaultEffects()
	for _, name := range Annotations().DefaultNames() {
		effect, known := effects[name]
		if !known {
			t.Errorf("nobody says what the default of %s does", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				l.config.LoadBalancer.Defaults = map[string]string{name: effect.value}
				maps.Copy(l.config.LoadBalancer.Defaults, effect.also)
				if problems := Annotations().SetDefaults(l.config.LoadBalancer.Defaults); len(problems) > 0 {
					t.Fatal(problems)
				}
				l.restart()
				l.settle(serviceWith(wordless), l.nodes("a"))
				if got := effect.look(l); got != effect.want {
					t.Errorf("%q, want %q", got, effect.want)
				}
				if got := l.warnings(); got != "" {
					t.Errorf("reported %s", got)
				}
			})
		})
	}
}

// TestGroupThatDoesNotFitIsNotMade: a security group without the rules that are asked for would close everything.
func TestGroupThatDoesNotFitIsNotMade(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("10.%d.0.0/16", i))
	}
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	l.settle(serviceWith(nil), nodes)
	full := serviceWith(annotated("create-security-group", "true", "acl-allowed-sources", strings.Join(many, ",")))
	l.settle(full, nodes)
	if got := managedText(l); got != "" || groupText(l) != "" {
		t.Errorf("security groups %q and %q, want none", got, groupText(l))
	}
	l.reported("too many", reasonGroupFull, "200 rules are needed", "room for 189")
	fresh := service("fresh", 80, 443)
	annotated("create-security-group", "true", "acl-allowed-sources", strings.Join(many, ","))(fresh)
	if _, err := l.ensure(fresh, nodes); err == nil || len(l.list("/v1/loadbalancers")) != 1 {
		t.Errorf("error %v; want nothing made without its security group", err)
	}
}

// TestKeepIsRemembered by the load balancer: whoever finds it without its Service knows that it is not to be removed.
func TestKeepIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a"), serviceWith(wordless)
		for i, value := range []string{"", onDeleteKeep, "neither", onDeleteDelete, onDeleteKeep, ""} {
			web.Annotations[label.AnnotationPrefix+"on-delete"] = value
			if value == "" {
				delete(web.Annotations, label.AnnotationPrefix+"on-delete")
			}
			l.settle(web, nodes)
			owned, err := l.cloud.balancers.ListManaged(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			kept := slices.ContainsFunc(owned, func(one cloud.ManagedObject) bool { return one.Retained })
			if want := value == onDeleteKeep || value == "neither"; kept != want {
				t.Errorf("change %d, to %q: kept %v, want %v", i, value, kept, want)
			}
			if l.emulator.ResetCounters(); i > 0 {
				l.settle(web, nodes)
			}
			if writes := l.writes(); len(writes) > 0 {
				t.Errorf("change %d: written again: %v", i, writes)
			}
		}
	})
}

// refusing makes the cloud refuse some calls, as long as on says.
func (l *lab) refusing(status int, on func(*http.Request) bool) {
	l.Helper()
	good := l.network
	l.network = roundTrip(func(request *http.Request) (*http.Response, error) {
		if on(request) {
			return refusal(request, status), nil
		}
		return good.RoundTrip(request)
	})
	l.restart()
}

// TestGroupsThatCannotBeListed: nobody knows whether there is one already, so none is made, and none taken off.
func TestGroupsThatCannotBeListed(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusInternalServerError} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				nodes := l.nodes("a")
				own := serviceWith(annotated("create-security-group", "true"))
				l.settle(own, nodes)
				before := managedText(l)
				good := l.network
				l.refusing(status, func(r *http.Request) bool {
					return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/security-groups")
				})
				annotated("labels", "team=shop")(own) // which is written meanwhile
				for range 3 {
					if _, err := l.ensure(own, append(nodes, l.allNodes...)); err == nil {
						t.Error("nothing is reported")
					}
					<-time.After(time.Minute)
				}
				if got := managedText(l); got != before {
					t.Errorf("security groups %q, want %q", got, before)
				}
				l.network = good
				l.restart()
				l.settle(serviceWith(nil), nodes)
				if got := managedText(l); got != "" {
					t.Errorf("not asked for any more: security group %q", got)
				}
				l.remove(own)
				if left := l.everything(); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		})
	}
}

// TestInternalStaysInItsSubnet: it cannot move, so nothing tries to when its annotation goes.
func TestInternalStaysInItsSubnet(t *testing.T) {
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	l.settle(serviceWith(annotated("type", "internal", "subnet", "second")), nodes)
	l.settle(serviceWith(annotated("type", "internal", "max-connections", "5")), nodes)
	if lb := l.only(); lb.SubnetIdentity != "subnet-second" || lb.Listeners[0].MaxConnections != 5 {
		t.Errorf("subnet %s, %d connections", lb.SubnetIdentity, lb.Listeners[0].MaxConnections)
	}
}

// TestOneGroupForTwoPorts: each port gets its own again, and it stays so.
func TestOneGroupForTwoPorts(t *testing.T) {
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	l.settle(serviceWith(nil), nodes)
	other := l.only().Listeners[1].TargetGroup.Identity
	l.putListener(set("targetGroup", other))
	l.restart()
	l.settle(serviceWith(nil), nodes)
	for _, listener := range l.only().Listeners {
		if listener.TargetGroup.TargetPort != 30000+listener.Port {
			t.Errorf("port %d leads to %d", listener.Port, listener.TargetGroup.TargetPort)
		}
	}
}

// TestAdoptedLoadBalancer: it keeps what its new Service does not speak about, its address and who may connect above
// all, and loses the ports of the Service before.
func TestAdoptedLoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes := l.nodes("a")
		first := serviceWith(annotated("on-delete", "keep", "acl-allowed-sources", "10.0.0.0/8",
			"reserved-ip", "rip-one"))
		address := ips(l.settle(first, nodes))
		l.remove(first)
		second := service("second", 80)
		annotated("adopt", l.only().Identity, "reserved-ip", "rip-one")(second)
		l.putBalancer(set("annotations", map[string]string{annotationAdoptable: "k8s-test/shop/second"}))
		if got := ips(l.settle(second, nodes)); got != address {
			t.Errorf("address %q, want %q", got, address)
		}
		if got := sourceText(l); got != "[10.0.0.0/8]" {
			t.Errorf("sources by port: %s; want one port, for those who could reach it before", got)
		}
		l.restart()
		l.settle(second, nodes)
		if got := sourceText(l); got != "[10.0.0.0/8]" {
			t.Errorf("later: %s", got)
		}
		l.remove(second)
		if left := l.leftovers(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestRefusedSettingBlocksNoTraffic: whatever the cloud says about the load balancer itself, or about its security
// group, machines come and go, and ports are closed.
func TestRefusedSettingBlocksNoTraffic(t *testing.T) {
	for name, tt := range map[string]struct {
		apply func(*corev1.Service)
		on    func(*http.Request) bool
		ports bool // ports follow, too
	}{
		"size": {annotated("instance-size", "huge", "acl-allowed-sources", "10.0.0.0/8"), func(r *http.Request) bool {
			return r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, "/v1/loadbalancers/") &&
				!strings.Contains(r.URL.Path, "/listeners/")
		}, true},
		"own group": {annotated("create-security-group", "true", "acl-allowed-sources", "10.0.0.0/8"),
			func(r *http.Request) bool {
				return r.Method == http.MethodPost && r.URL.Path == "/v1/security-groups"
			}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newFeatureLab(t)
			nodes := l.nodes("a")
			l.settle(serviceWith(nil), nodes)
			l.refusing(http.StatusBadRequest, tt.on)
			if _, err := l.ensure(serviceWith(tt.apply), append(nodes, l.nodes("b")...)); err == nil {
				t.Error("nothing is reported")
			}
			if got := len(l.machines(l.only().Listeners[0].TargetGroup.Name)); got != 2 {
				t.Errorf("%d machines, want both", got)
			}
			if got := sourceText(l); tt.ports && got != "[10.0.0.0/8] [10.0.0.0/8]" {
				t.Errorf("sources %s, want those that the Service asks for", got)
			}
			fewer := serviceWith(tt.apply)
			fewer.Spec.Ports = fewer.Spec.Ports[:1]
			if _, err := l.ensure(fewer, nodes); err == nil || len(l.only().Listeners) != 1 {
				t.Errorf("error %v, %d ports; want the one that the Service still has", err, len(l.only().Listeners))
			}
		})
	}
}

// TestEmergenciesAreNotUndone: a write for something else repeats what is there now, not what was there minutes ago.
func TestEmergenciesAreNotUndone(t *testing.T) {
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	l.settle(serviceWith(nil), nodes)
	l.putListener(set("allowedSources", []string{"192.0.2.0/24"}))
	l.putBalancer(func(body map[string]any) {
		body["securityGroupAttachments"], body["deleteProtection"] = []string{"sg-two"}, true
	})
	l.settle(serviceWith(annotated("max-connections", "5", "labels", "team=shop")), nodes)
	if lb := l.only(); sourceText(l) != "[192.0.2.0/24] []" || groupText(l) != "sg-two" || !lb.DeleteProtection ||
		lb.Listeners[0].MaxConnections != 5 || lb.Labels["team"] != "shop" {
		t.Errorf("sources %s, groups %q, protected %t: what was done by hand is undone; or the Service is not "+
			"followed: %+v", sourceText(l), groupText(l), lb.DeleteProtection, lb)
	}
}

// TestUnreadablePing: what lets ping in stays.
func TestUnreadablePing(t *testing.T) {
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	asks := []string{"create-security-group", "true", "security-group-allow-icmp", "true",
		"security-group-icmp-allowed-sources", "192.0.2.0/24"}
	l.settle(serviceWith(annotated(asks...)), nodes)
	before := managedText(l)
	for _, bad := range [][2]string{{"security-group-icmp-allowed-sources", "10.0.0.0/8,foo"},
		{"security-group-allow-icmp", "perhaps"}} {
		l.settle(serviceWith(annotated(append(slices.Clone(asks), bad[0], bad[1])...)), nodes)
		if got := managedText(l); got != before {
			t.Errorf("%s: %q, want %q", bad[0], got, before)
		}
	}
	l.settle(serviceWith(annotated("create-security-group", "true", "security-group-allow-icmp", "true")), nodes)
	l.warnings()
}

// TestSpecAddressOfATakenOverLoadBalancer: its address would change, so it is only reported.
func TestSpecAddressOfATakenOverLoadBalancer(t *testing.T) {
	l := newFeatureLab(t)
	nodes, web := l.nodes("a"), serviceWith(func(s *corev1.Service) { s.Spec.LoadBalancerIP = "198.18.0.1" })
	l.plant(legacyOf(web, nil), nodes)
	l.settle(web, nodes)
	if writes := l.writes(); len(writes) > 0 {
		t.Errorf("writes: %v", writes)
	}
	l.reported("taken over", reasonImmutable, "reserved-ip")
}

// TestProtectedOrphanStays: nobody is there to say that it may go.
func TestProtectedOrphanStays(t *testing.T) {
	l := newFeatureLab(t)
	web := serviceWith(annotated("delete-protection", "true"))
	l.settle(web, l.nodes("a"))
	gone := &corev1.Service{ObjectMeta: *web.ObjectMeta.DeepCopy()}
	gone.Annotations = nil
	l.restart()
	if err := l.library.EnsureLoadBalancerDeleted(t.Context(), "test", gone); err == nil || len(l.leftovers()) != 3 {
		t.Errorf("error %v, in the cloud %v", err, l.leftovers())
	}
}

// TestAdoptedInternal: it publishes the address that it has.
func TestAdoptedInternal(t *testing.T) {
	l := newLab(t, emulator.Config{})
	nodes := l.nodes("a")
	l.request(http.MethodPost, "/v1/loadbalancers", map[string]any{"name": "theirs", "subnet": emulator.DefaultSubnet,
		"internalLoadbalancer": true,
		"annotations":          map[string]string{annotationAdoptable: "k8s-test/shop/web"}})
	web := serviceWith(wordless)
	annotated("adopt", l.list("/v1/loadbalancers")[0].Identity)(web)
	if got := ips(l.settle(web, nodes)); !strings.HasPrefix(got, "10.0.") {
		t.Errorf("published %q", got)
	}
}

// TestAdoptedCheckFollowsItsPort: a health check of the node port that was there before follows the one there is now.
func TestAdoptedCheckFollowsItsPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes := l.nodes("a")
		first := serviceWith(annotated("on-delete", "keep"))
		l.settle(first, nodes)
		l.remove(first)
		second := service("second", 80, 443)
		second.Spec.Ports[0].NodePort = 31080
		annotated("adopt", l.only().Identity)(second)
		l.putBalancer(set("annotations", map[string]string{annotationAdoptable: "k8s-test/shop/second"}))
		l.settle(second, nodes)
		if got := healthText(l); got != "tcp:31080/healthz/5/3 tcp:30443/healthz/5/3" {
			t.Errorf("health checks %s", got)
		}
	})
}
