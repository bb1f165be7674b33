package thalassa

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestDefect10_SecurityGroupsBlockTheService: for the existing CCM an empty list, or one with blanks, is an error of every sync.
// An empty one asks for nothing. Any other cannot be applied by this version yet: such a Service is not opened to everybody, and one
// that is open already goes on following its Service and its nodes.
func TestDefect10_SecurityGroupsBlockTheService(t *testing.T) {
	l := newLab(t, emulator.Config{})
	nodes, web := l.nodes("a"), service("web", 80)
	annotated("security-groups", "")(web)
	if status, err := l.ensure(web, nodes); err != nil || len(status.Ingress) != 1 {
		t.Errorf("with an empty list: status %+v, error %v; want an address", status, err)
	}
	annotated("security-groups", "sg-1, sg-2")(web)
	web.Spec.Ports[0].NodePort = 31000
	if _, err := l.ensure(web, append(nodes, l.nodes("b")...)); err != nil {
		t.Errorf("the Service is blocked: %v", err)
	}
	if group := l.group(); group.TargetPort != 31000 || len(l.machines(group.Name)) != 2 {
		t.Errorf("target port %d, machines %v; want the new port and both", group.TargetPort, l.machines(group.Name))
	}
	var told []string
	for event := l.nextEvent(); event != ""; event = l.nextEvent() {
		told = append(told, event)
	}
	if want := "RestrictionNotApplied annotation loadbalancer.k8s.thalassa.cloud/security-groups"; !strings.Contains(strings.Join(told, "\n"), want) {
		t.Errorf("events %q, want one with %q", told, want)
	}
	fresh := service("fresh", 80)
	annotated("security-groups", "sg-1, sg-2")(fresh)
	if _, err := l.ensure(fresh, nodes); err == nil || !strings.Contains(err.Error(), "security-groups") {
		t.Errorf("error = %v, want a refusal that names the annotation", err)
	}
}

// restrictions ask for less than everybody, some of them in vain.
var restrictions = map[string]func(*corev1.Service){
	"internal":                         annotated("internal", "true"),
	"acl-allowed-sources":              annotated("acl-allowed-sources", "10.0.0.0/8"),
	"acl-allowed-sources, all invalid": annotated("acl-allowed-sources", "everybody, 10.0.0.0/99"),
	"acl-allowed-sources, one address": annotated("acl-allowed-sources", "192.0.2.1"),
	"acl-port-p80, invalid":            annotated("acl-port-p80", "nobody"),
	"loadBalancerSourceRanges":         func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} },
}

// TestDefect15_InvalidSourcesOpenToEverybody: the existing CCM drops sources that it cannot read, and a list without any is one of
// everybody. This version cannot apply sources yet: it opens no port for a Service that asks for a restriction, readable or not,
// and leaves what a port has that is open already.
func TestDefect15_InvalidSourcesOpenToEverybody(t *testing.T) {
	for name, restrict := range restrictions {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, emulator.Config{})
			nodes, fresh := l.nodes("a"), service("fresh", 80)
			restrict(fresh)
			asked, _, _ := strings.Cut(name, ",")
			if _, err := l.ensure(fresh, nodes); err == nil || !strings.Contains(err.Error(), asked) {
				t.Errorf("error = %v, want a refusal that names %s", err, asked)
			}
			if left := l.leftovers(); len(left) > 0 {
				t.Errorf("created nevertheless: %v", left)
			}

			web := service("web", 80)
			old := legacyOf(web, nil)
			old.listeners[0].AllowedSources = []string{"192.0.2.0/24"}
			l.plant(old, nodes)
			l.restart()
			restrict(web)
			annotated("idle-connection-timeout", "60")(web)
			l.settle(web, append(nodes, l.nodes("b")...))
			if got := l.balancer().LoadbalancerListeners[0]; !slices.Equal(got.AllowedSources, []string{"192.0.2.0/24"}) || *got.ConnectionIdleTimeout != 60 {
				t.Errorf("listener = %+v; want its sources as they were, and the new timeout", got)
			}
			if got := l.machines(l.group().Name); len(got) != 2 {
				t.Errorf("machines = %v: an existing load balancer must go on following the nodes", got)
			}
		})
	}
}

// TestDefect16_LoadBalancerIsAdoptedByName: the existing CCM takes any load balancer of the right name for its own, and deletes it
// with the Service.
func TestDefect16_LoadBalancerIsAdoptedByName(t *testing.T) {
	web := service("web", 80)
	owners := map[string]iaas.Labels{
		"nobody's":               nil,
		"a person's":             {"team": "shop"},
		"another cluster's":      {labelCluster: "k8s-other", labelManaged: "true", labelUID: string(web.UID)},
		"another Service's":      {labelCluster: "k8s-test", labelManaged: "true", labelUID: "another"},
		"not managed by any CCM": {labelCluster: "k8s-test", labelUID: string(web.UID)},
	}
	for name, labels := range owners {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				foreign := iaas.CreateLoadbalancer{Name: "a0a1b2c3dweb", Subnet: emulator.DefaultSubnet, Labels: labels}
				if _, err := l.api().CreateLoadbalancer(t.Context(), foreign); err != nil {
					t.Fatal(err)
				}
				nodes, before := l.nodes("a"), l.balancer()
				l.settle(web, nodes)
				l.remove(web)
				if diff := cmp.Diff(before, l.balancer()); diff != "" {
					t.Errorf("the other one (-was +is):\n%s", diff)
				}
				if left := l.leftovers(); len(left) != 1 {
					t.Errorf("left in the cloud: %v; want that load balancer and nothing else", left)
				}
			})
		})
	}
}

// TestDefect21_TypeIsNeverRead: with the existing CCM the annotation "type" has no effect, so whoever asks for another type than
// public gets a public load balancer.
func TestDefect21_TypeIsNeverRead(t *testing.T) {
	l := newLab(t, emulator.Config{})
	web := service("web", 80)
	annotated("type", "internal")(web)
	if _, err := l.ensure(web, l.nodes("a")); err == nil || !strings.Contains(err.Error(), "type: internal") {
		t.Errorf("error = %v; a Service that asks for an internal load balancer must not get a public one", err)
	}
	if left := l.leftovers(); len(left) > 0 {
		t.Errorf("created nevertheless: %v", left)
	}
}
