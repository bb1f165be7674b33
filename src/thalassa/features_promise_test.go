package thalassa

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// givenUp leaves a load balancer in the cloud that was made for a Service, for one called second.
func (l *lab) givenUp(first *corev1.Service, nodes []*corev1.Node) (id string) {
	l.Helper()
	annotated("on-delete", "keep")(first)
	l.settle(first, nodes)
	l.remove(first)
	l.putBalancer(set("annotations", map[string]string{annotationAdoptable: "k8s-test/shop/second"}))
	return l.only().Identity
}

// TestAdoptedFromLocalToCluster: the check of the node port that Kubernetes has released goes with it.
func TestAdoptedFromLocalToCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, before := range []bool{false, true} { // it had that very check when it was adopted
			l := newFeatureLab(t)
			nodes, first, second := l.nodes("a"), serviceWith(nil), service("second", 80, 443)
			local(first, before)
			local(second, true)
			annotated("adopt", l.givenUp(first, nodes))(second)
			l.settle(second, nodes)
			if got := healthText(l); !strings.HasPrefix(got, "http:32000") {
				t.Fatalf("checks %s with policy Local", got)
			}
			local(second, false)
			l.restart()
			l.settle(second, nodes)
			if got := healthText(l); strings.Contains(got, "32000") {
				t.Errorf("checks %s: nobody answers there any more", got)
			}
		}
	})
}

// TestAdoptedGrows: ports that are added to an adopted load balancer are ours, with our defaults when a setting goes.
func TestAdoptedGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, second := l.nodes("a"), service("second", 80, 443, 8443)
		annotated("adopt", l.givenUp(serviceWith(nil), nodes), "max-connections.p8443", "5",
			"loadbalancing-policy.p8443",
			"MAGLEV")(second)
		l.settle(second, nodes)
		for _, name := range []string{"max-connections.p8443", "loadbalancing-policy.p8443"} {
			delete(second.Annotations, label.AnnotationPrefix+name)
		}
		l.settle(second, nodes)
		if got := l.only().Listeners[2]; got.MaxConnections != 10000 ||
			got.TargetGroup.LoadbalancingPolicy != "ROUND_ROBIN" {
			t.Errorf("%d connections, policy %s; want the defaults", got.MaxConnections,
				got.TargetGroup.LoadbalancingPolicy)
		}
		if id, found := l.only().Annotations[annotationAdoptable]; found {
			t.Errorf("it may be adopted again by %s", id)
		}
	})
}

// TestSharedTargetGroupIsNotTaken: another load balancer leads to it as well.
func TestSharedTargetGroupIsNotTaken(t *testing.T) {
	t.Parallel()
	l := newFeatureLab(t)
	nodes, second := l.nodes("a"), service("second", 80)
	second.Spec.Ports[0].NodePort = 31080
	var group struct{ Identity string }
	mustDecode(t, l.request(http.MethodPost, "/v1/loadbalancer-target-groups", map[string]any{"name": "shared",
		"vpc": emulator.DefaultVPC, "targetPort": 9000, "protocol": "tcp"}), &group)
	for _, name := range []string{"theirs", "others"} {
		l.request(http.MethodPost, "/v1/loadbalancers", map[string]any{
			"name": name, "subnet": emulator.DefaultSubnet,
			"annotations": map[string]string{annotationAdoptable: "k8s-test/shop/second"},
			"listeners": []map[string]any{{"name": name, "port": 80, "protocol": "tcp",
				"targetGroup": group.Identity}},
		})
	}
	id := l.list("/v1/loadbalancers")[0].Identity
	annotated("adopt", id)(second)
	l.settle(second, nodes)
	groups := l.list("/v1/loadbalancer-target-groups")
	shared := groups[slices.IndexFunc(groups, func(g shown) bool { return g.Name == "shared" })]
	if len(groups) != 2 || shared.TargetPort != 9000 || shared.Labels[label.ServiceUID] != "" ||
		len(l.machines("shared")) > 0 {
		t.Errorf("%d target groups, the shared one is now %+v", len(groups), shared)
	}
	l.remove(second)
	if groups := l.list("/v1/loadbalancer-target-groups"); len(groups) != 1 || groups[0].Name != "shared" {
		t.Errorf("left: %+v, want the shared one", groups)
	}
}

// TestReservedIPOfTheOneToAdopt: only a Service without a load balancer adopts, and gets what that one has.
func TestReservedIPOfTheOneToAdopt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, first, second := l.nodes("a"), serviceWith(annotated("reserved-ip", "rip-one")), service("second", 80)
		l.settle(first, nodes)
		id := l.only().Identity
		l.settle(second, nodes)
		annotated("adopt", id, "reserved-ip", "rip-one")(second)
		l.settle(second, nodes)
		if reported := l.warnings(); !strings.Contains(reported, reasonInUse) {
			t.Errorf("reported %q, want that it is in use", reported)
		}
	})
}

// TestForgottenInTime: what the Service asked for and somebody took away before it was given up is nobody's when it
// comes back.
func TestForgottenInTime(t *testing.T) {
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	l.settle(serviceWith(annotated("security-groups", "one", "reserved-ip", "rip-one", "delete-protection", "true",
		"acl-allowed-sources", "10.0.0.0/8")), nodes)
	l.putBalancer(func(body map[string]any) {
		body["securityGroupAttachments"], body["reservedIpId"], body["deleteProtection"] = []string{}, "", false
	})
	l.putListener(set("allowedSources", []string{}))
	l.restart()
	l.settle(serviceWith(nil), nodes)
	l.putBalancer(func(body map[string]any) {
		body["securityGroupAttachments"], body["reservedIpId"], body["deleteProtection"] = []string{"sg-one"},
			"rip-one", true
	})
	l.putListener(set("allowedSources", []string{"192.0.2.0/24"}))
	l.restart()
	l.settle(serviceWith(nil), nodes)
	if lb := l.only(); groupText(l) != "sg-one" || lb.ReservedIPIdentity != "rip-one" || !lb.DeleteProtection ||
		sourceText(l) != "[192.0.2.0/24] []" {
		t.Errorf("groups %q, reserved IP %q, protected %t, sources %s: what was done by hand is undone", groupText(l),
			lb.ReservedIPIdentity, lb.DeleteProtection, sourceText(l))
	}
}

// TestKeepNothing: where there is no load balancer to keep, what was made for it goes.
func TestKeepNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a"), serviceWith(annotated("on-delete", "keep", "create-security-group", "true"))
		l.refusing(http.StatusBadRequest, func(r *http.Request) bool {
			return r.Method == http.MethodPost && r.URL.Path == "/v1/loadbalancers"
		})
		if _, err := l.ensure(web, nodes); err == nil || len(l.everything()) == 0 {
			t.Fatalf("error %v, made %v; want what comes before the load balancer", err, l.everything())
		}
		l.remove(web)
		if left := l.everything(); len(left) > 0 || len(l.list("/v1/loadbalancer-target-groups")) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestKeepAfterCrashes: wherever the handing over is interrupted, it is finished, and nothing that it leads to is
// deleted.
func TestKeepAfterCrashes(t *testing.T) {
	for stop := range 5 {
		t.Run(fmt.Sprint(stop), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				nodes, web := l.nodes("a"), serviceWith(annotated("on-delete", "keep", "create-security-group", "true"))
				l.settle(web, nodes)
				before := l.only()
				l.dying(stop, func() { _ = l.library.EnsureLoadBalancerDeleted(t.Context(), "test", web) })
				<-time.After(2 * time.Minute)
				l.restart()
				l.remove(web)
				after := l.only()
				groups := l.list("/v1/security-groups")
				own := slices.ContainsFunc(groups, func(g shown) bool {
					return strings.Contains(groupText(l), g.Identity)
				})
				if after.Identity != before.Identity || len(after.Listeners) != 2 ||
					len(l.list("/v1/loadbalancer-target-groups")) != 2 || !own {
					t.Errorf("left: %+v with security groups %s", after, groupText(l))
				}
				if owned, err := l.cloud.balancers.ListManaged(t.Context()); err != nil || len(owned) > 0 {
					t.Errorf("owned %v, error %v; want nothing", owned, err)
				}
			})
		})
	}
}

// TestForbiddenLookKeepsTheFinalizer: that nothing may be seen does not mean that nothing is there.
func TestForbiddenLookKeepsTheFinalizer(t *testing.T) {
	l := newFeatureLab(t)
	web := serviceWith(annotated("create-security-group", "true"))
	l.settle(web, l.nodes("a"))
	l.request(http.MethodDelete, "/v1/loadbalancers/"+l.only().Identity, nil)
	l.refusing(http.StatusForbidden, func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/security-groups")
	})
	for range 3 {
		if err := l.library.EnsureLoadBalancerDeleted(t.Context(), "test", web); err == nil {
			t.Error("nothing is left, it says")
		}
	}
}

// TestPublicAfterInternal: who takes the setting away is informed that it stays, and a reserved IP is not pushed onto
// it.
func TestPublicAfterInternal(t *testing.T) {
	l := newFeatureLab(t)
	nodes := l.nodes("a")
	l.settle(serviceWith(annotated("internal", "true")), nodes)
	web := serviceWith(wordless)
	annotated("reserved-ip", "rip-one")(web)
	l.emulator.ResetCounters()
	l.settle(web, nodes)
	if reported := l.warnings(); !strings.Contains(reported, reasonImmutable) ||
		!strings.Contains(reported, "an internal load balancer cannot have a reserved IP") {
		t.Errorf("reported %q", reported)
	}
	if writes := l.writes(); len(writes) > 0 {
		t.Errorf("written: %v", writes)
	}
}

// TestContradictingCheckOfANewPort has the defaults of both.
func TestContradictingCheckOfANewPort(t *testing.T) {
	l := newFeatureLab(t)
	l.settle(serviceWith(annotated("health-check-interval", "20", "health-check-timeout", "30")), l.nodes("a"))
	if got := healthText(l); got != "tcp:30080/healthz/5/3 tcp:30443/healthz/5/3" {
		t.Errorf("checks %s", got)
	}
	l.reported("contradiction", reasonConflict, "timeout of the health check is 30 seconds")
}

// TestTooManyPingers concerns pings only.
func TestTooManyPingers(t *testing.T) {
	l := newFeatureLab(t)
	var networks []string
	for i := range 11 {
		networks = append(networks, fmt.Sprintf("10.%d.0.0/16", i))
	}
	web := serviceWith(annotated("create-security-group", "true", "security-group-allow-icmp", "true",
		"acl-allowed-sources",
		strings.Join(networks, ",")))
	l.settle(web, l.nodes("a"))
	l.reported("full", reasonGroupFull, "security-group-icmp-allowed-sources")
	if got := managedText(l); strings.Count(got, "tcp/") != 22 || strings.Contains(got, "icmp") {
		t.Errorf("rules %s", got)
	}
}

// TestProtectionIsTakenBack by a Service that is being deleted.
func TestProtectionIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		web := serviceWith(annotated("delete-protection", "true"))
		l.settle(web, l.nodes("a"))
		if err := l.library.EnsureLoadBalancerDeleted(t.Context(), "test", web); err == nil || len(l.leftovers()) != 3 {
			t.Fatalf("error %v, in the cloud %v", err, l.leftovers())
		}
		delete(web.Annotations, label.AnnotationPrefix+"delete-protection")
		l.remove(web)
	})
}

// TestSpecAddressInOtherLetters is the same address, and no news for a load balancer that has it.
func TestSpecAddressInOtherLetters(t *testing.T) {
	l := newFeatureLab(t)
	nodes, web := l.nodes("a"), service("web", 80)
	l.plant(legacyOf(web, nil), nodes)
	web.Spec.LoadBalancerIP = l.settle(web, nodes).Ingress[0].IP
	l.settle(web, nodes)
	if reported := l.warnings(); reported != "" {
		t.Errorf("reported %q although it has that address", reported)
	}
}

// TestMisspeltNodeSelector leaves the targets as they are.
func TestMisspeltNodeSelector(t *testing.T) {
	for _, name := range []string{"node-selecter", "node-selector.p80", "nod-selector"} {
		l := newFeatureLab(t)
		web := serviceWith(annotated(name, "edge=true"))
		if selector, err := l.cloud.balancers.NodeSelector(web); err == nil {
			t.Errorf("%s: selector %v, want that it is not known", name, selector)
		}
		if selector, err := l.cloud.balancers.NodeSelector(serviceWith(annotated("publish", "ip", "max-connections",
			"5"))); err != nil || selector != nil {
			t.Errorf("without one: selector %v, error %v", selector, err)
		}
	}
}

// TestAdoptionAfterCrashes: wherever it is interrupted, it is finished, with the address, and nothing is made twice or
// lost.
func TestAdoptionAfterCrashes(t *testing.T) {
	for stop := range 8 {
		t.Run(fmt.Sprint(stop), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				nodes, second := l.nodes("a"), service("second", 80, 8443)
				second.Spec.Ports[0].NodePort = 31080
				id := l.givenUp(serviceWith(annotated("acl-allowed-sources", "10.0.0.0/8")), nodes)
				annotated("adopt", id, "create-security-group", "true")(second)
				l.dying(stop, func() {
					for range 3 {
						_, _ = l.ensure(second, nodes)
					}
				})
				<-time.After(2 * time.Minute)
				l.settle(second, nodes)
				lb := l.only()
				if lb.Identity != id || len(lb.Listeners) != 2 || len(l.list("/v1/loadbalancer-target-groups")) != 2 ||
					len(lb.SecurityGroups) != 1 || lb.Labels[label.ServiceUID] != string(second.UID) {
					t.Errorf("adopted: %+v", lb)
				}
				if got := sourceText(l); got != "[10.0.0.0/8] []" {
					t.Errorf("sources %s, want those of the port that was there", got)
				}
				l.remove(second)
				if left := l.everything(); len(left) > 0 || len(l.list("/v1/loadbalancer-target-groups")) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		})
	}
}
