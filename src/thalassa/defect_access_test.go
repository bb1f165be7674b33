package thalassa

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestDefect10_SecurityGroupsBlockTheService: for the existing CCM an empty list, or one with blanks, is an error of
// every sync. Ours attaches what is named. When one of them is not there, what is attached stays, the Service goes on
// following its ports and nodes, and no port is opened that would be without its security groups.
func TestDefect10_SecurityGroupsBlockTheService(t *testing.T) {
	l := newLab(t, emulator.Config{})
	nodes, web := l.nodes("a"), service("web", 80)
	groups := l.securityGroups("one", "two")
	slices.Sort(groups)
	annotated("security-groups", "")(web)
	if status, err := l.ensure(web, nodes); err != nil || len(status.Ingress) != 1 {
		t.Errorf("with an empty list: status %+v, error %v; want an address", status, err)
	}
	annotated("security-groups", " "+groups[1]+" ,  "+groups[0])(web)
	l.settle(web, nodes)
	if got := l.attached(); !slices.Equal(got, groups) {
		t.Errorf("with blanks: security groups %v, want %v", got, groups)
	}
	annotated("security-groups", "sg-1, "+groups[0]+", sg-2")(web)
	web.Spec.Ports[0].NodePort = 31000
	l.settle(web, append(nodes, l.nodes("b")...))
	if group := l.group(); group.TargetPort != 31000 || len(l.machines(group.Name)) != 2 ||
		!slices.Equal(l.attached(), groups) {
		t.Errorf(
			"target port %d, machines %v, security groups %v; want the new port, both, and the groups as they were",
			group.TargetPort, l.machines(group.Name), l.attached())
	}
	reported := strings.Join(l.eventsAbout(reasonUnknownGroup), "\n")
	for _, want := range []string{label.AnnotationPrefix + "security-groups", `"sg-1"`, `"sg-2"`} {
		if !strings.Contains(reported, want) {
			t.Errorf("events %q, want them to name %s", reported, want)
		}
	}
	web.Spec.Ports = append(web.Spec.Ports, service("more", 443).Spec.Ports...)
	if _, err := l.ensure(web, nodes); err == nil || !strings.Contains(err.Error(), "security groups") ||
		len(l.balancer().LoadbalancerListeners) != 1 {
		t.Errorf("error = %v, want one about the port that stays closed", err)
	}
	fresh := service("fresh", 80)
	annotated("security-groups", "sg-1, sg-2")(fresh)
	if _, err := l.ensure(fresh, nodes); err == nil || !strings.Contains(err.Error(), "security-groups") ||
		len(l.leftovers()) != 2 {
		t.Errorf("error = %v, in the cloud: %v; want a refusal that names the annotation", err, l.leftovers())
	}
}

// attached are the load balancer's security groups, sorted.
func (l *lab) attached() []string {
	l.Helper()
	var identities []string
	for _, group := range l.balancer().SecurityGroups {
		identities = append(identities, group.Identity)
	}
	slices.Sort(identities)
	return identities
}

// ranges are source ranges in the spec.
func ranges(texts ...string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = texts }
}

// misunderstandings ask for less than everybody, and nobody knows for whom; by what the Service's owner is informed
// about.
var misunderstandings = map[string]func(*corev1.Service){
	"acl-allowed-sources":                         annotated("acl-allowed-sources", "everybody, 10.0.0.0/99"),
	"acl-allowed-sources: \"10.0.0.0/8, office\"": annotated("acl-allowed-sources", "10.0.0.0/8, office"),
	"acl-allowed-sources: \",\"":                  annotated("acl-allowed-sources", ","),
	"acl-port-p80":                                annotated("acl-port-p80", "nobody"),
	"acl-port-80": annotated("acl-allowed-sources", "10.0.0.0/8", "acl-port-80",
		"10.0.0.300"),
	"source-ranges: has no effect":  annotated("source-ranges", "10.0.0.0/8"),
	"spec.loadBalancerSourceRanges": ranges("10.0.0.0/8", "everybody"),
	corev1.AnnotationLoadBalancerSourceRangesKey: func(s *corev1.Service) {
		s.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey] = "everybody"
	},
}

// TestDefect15_InvalidSourcesOpenToEverybody: the existing CCM drops sources that it cannot read, and a list without
// any is one of everybody. Ours opens no port whose sources it does not know, leaves those alone that are open, whoever
// may reach them, and says what it cannot read.
func TestDefect15_InvalidSourcesOpenToEverybody(t *testing.T) {
	for asked, restrict := range misunderstandings {
		t.Run(asked, func(t *testing.T) {
			l := newLab(t, emulator.Config{})
			nodes, fresh := l.nodes("a"), service("fresh", 80)
			restrict(fresh)
			if _, err := l.ensure(fresh, nodes); err == nil ||
				!strings.Contains(err.Error(),
					"80/TCP is not opened, because the annotation about its allowed sources is not valid") {
				t.Errorf("error = %v, want a refusal that names the port", err)
			}
			reported := l.eventsAbout(reasonAnnotation)
			if len(reported) != 1 || !strings.Contains(reported[0], asked) {
				t.Errorf("reported %q, want one event with %s", reported, asked)
			}
			if left := l.leftovers(); len(left) > 0 {
				t.Errorf("created nevertheless: %v", left)
			}
			web := service("web", 80, 443)
			old := legacyOf(web, nil)
			old.listeners[0].AllowedSources = []string{"192.0.2.0/24"}
			l.plant(old, nodes)
			l.restart()
			restrict(web)
			annotated("idle-connection-timeout", "60", "acl-port-443", "nobody")(web)
			l.settle(web, append(nodes, l.nodes("b")...))
			if got := l.allowed(); !slices.Equal(got[80], []string{"192.0.2.0/24"}) || len(got[443]) > 0 {
				t.Errorf("allowed sources %v; want those of port 80 as they were, and port 443 open to everybody as "+
					"it was", got)
			}
			for _, listener := range l.balancer().LoadbalancerListeners {
				if *listener.ConnectionIdleTimeout != 60 || len(l.machines(listener.Name)) != 2 {
					t.Errorf("timeout %d, machines %v: the Service must go on being followed in everything else",
						*listener.ConnectionIdleTimeout, l.machines(listener.Name))
				}
			}
		})
	}
}

// allowed are the allowed sources of the load balancer's ports.
func (l *lab) allowed() map[int][]string {
	l.Helper()
	allowed := map[int][]string{}
	for _, listener := range l.balancer().LoadbalancerListeners {
		allowed[listener.Port] = listener.AllowedSources
	}
	return allowed
}

// TestDefect15_ReadableSourcesAreApplied, addresses without a length of the network too, which the existing CCM drops;
// and what was applied is taken away with the setting.
func TestDefect15_ReadableSourcesAreApplied(t *testing.T) {
	tests := map[string]struct {
		restrict func(*corev1.Service)
		want     map[int][]string
	}{
		"networks": {annotated("acl-allowed-sources", "10.0.0.0/8,2001:db8::/32"),
			map[int][]string{80: {"10.0.0.0/8", "2001:db8::/32"}, 443: {"10.0.0.0/8", "2001:db8::/32"}}},
		"addresses": {annotated("acl-allowed-sources", "192.0.2.1, 2001:db8::1"),
			map[int][]string{80: {"192.0.2.1/32", "2001:db8::1/128"}, 443: {"192.0.2.1/32", "2001:db8::1/128"}}},
		"of one port": {annotated("acl-port-p80", "192.0.2.1"), map[int][]string{80: {"192.0.2.1/32"}, 443: {}}},
		"of the spec": {ranges("10.0.0.0/8"), map[int][]string{80: {"10.0.0.0/8"}, 443: {"10.0.0.0/8"}}},
		"of all of them": {func(s *corev1.Service) {
			ranges("10.0.0.0/8")(s)
			annotated("acl-allowed-sources", "192.0.2.1", "acl-port-443", "198.51.100.0/24")(s)
		}, map[int][]string{80: {"10.0.0.0/8", "192.0.2.1/32"}, 443: {"10.0.0.0/8", "192.0.2.1/32",
			"198.51.100.0/24"}}},
	}
	for name, tt := range tests {
		for _, takenOver := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, taken over %t", name, takenOver), func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				nodes, web := l.nodes("a"), service("web", 80, 443)
				if takenOver {
					l.plant(legacyOf(web, nil), nodes)
					l.restart()
				}
				tt.restrict(web)
				l.settle(web, nodes)
				if diff := cmp.Diff(tt.want, l.allowed(), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("allowed sources (-want +got):\n%s", diff)
				}
				l.restart()
				l.settle(service("web", 80, 443), nodes)
				if diff := cmp.Diff(map[int][]string{80: {}, 443: {}}, l.allowed(), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("allowed sources of a Service that asks no more (-want +got):\n%s", diff)
				}
				if event := l.nextEvent(); event != "" {
					t.Errorf("event %q, want none", event)
				}
			})
		}
	}
}

// TestDefect16_LoadBalancerIsAdoptedByName: the existing CCM takes any load balancer of the right name for its own, and
// deletes it with the Service. Ours does not take one that is another owner's, and does not change it.
func TestDefect16_LoadBalancerIsAdoptedByName(t *testing.T) {
	web := service("web", 80)
	for name, labels := range map[string]iaas.Labels{
		"another cluster's": {label.Cluster: "k8s-other", label.Managed: "true", label.ServiceUID: string(web.UID)},
		"another Service's": {label.Cluster: "k8s-test", label.Managed: "true", label.ServiceUID: "another"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				foreign := iaas.CreateLoadbalancer{Name: "a0a1b2c3dweb", Subnet: emulator.DefaultSubnet, Labels: labels}
				if _, err := l.api().CreateLoadbalancer(t.Context(), foreign); err != nil {
					t.Fatal(err)
				}
				nodes, before := l.nodes("a"), l.balancer()
				l.settle(web, nodes)
				if all := l.list("/v1/loadbalancers"); len(all) != 2 {
					t.Errorf("%d load balancers; want another one", len(all))
				}
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

// TestDefect21_TypeIsNeverRead: with the existing CCM the annotation "type" has no effect, so whoever asks for another
// type than public gets a public load balancer. Ours makes an internal one, and none at all for who asks for something
// that it does not know.
func TestDefect21_TypeIsNeverRead(t *testing.T) {
	l := newLab(t, emulator.Config{})
	web := service("web", 80)
	annotated("type", "internal")(web)
	if status, err := l.ensure(web, l.nodes("a")); err != nil || len(status.Ingress) != 1 ||
		!strings.HasPrefix(status.Ingress[0].IP, "10.") {
		t.Errorf("status %+v, error %v; want the internal address", status, err)
	}
	l.checkInternal(false)
	for name, ask := range map[string]func(*corev1.Service){
		"type: private": annotated("type", "private"), "internal: perhaps": annotated("internal", "perhaps"),
		"both, which differ": annotated("type", "internal", "internal", "false"),
	} {
		fresh := service("fresh", 80)
		ask(fresh)
		if _, err := l.ensure(fresh, l.allNodes); err == nil ||
			!strings.Contains(err.Error(),
				"the annotations that make the load balancer internal or public are not valid") {
			t.Errorf("%s: error = %v, want a refusal that says why", name, err)
		}
		if left := l.leftovers(); len(left) != 2 {
			t.Errorf("%s: created nevertheless: %v", name, left)
		}
	}
}
