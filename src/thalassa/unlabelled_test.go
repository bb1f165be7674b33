package thalassa

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// part is a kind of object that has the labels of a Service.
type part string

const (
	partBalancer      part = "load balancer"
	partListener      part = "listener"
	partGroup         part = "target group"
	partSecurityGroup part = "security group"
)

// relabel changes labels and annotations of all objects of a kind by hand, and nothing else of them. Security groups of
// others stay as they are.
func (l *lab) relabel(kind part, change func(labels, annotations map[string]string)) {
	l.Helper()
	changed := func(object shown) (labels, annotations map[string]string) {
		labels, annotations = map[string]string{}, map[string]string{}
		maps.Copy(labels, object.Labels)
		maps.Copy(annotations, object.Annotations)
		change(labels, annotations)
		return labels, annotations
	}
	switch kind {
	case partBalancer:
		l.putBalancer(func(body map[string]any) { body["labels"], body["annotations"] = changed(l.only()) })
	case partListener:
		lb := l.only()
		for _, listener := range lb.Listeners {
			body := map[string]any{
				"name": listener.Name, "description": listener.Description, "port": listener.Port,
				"protocol":    listener.Protocol,
				"targetGroup": listener.TargetGroup.Identity, "maxConnections": listener.MaxConnections,
				"connectionIdleTimeout": listener.ConnectionIdleTimeout, "allowedSources": listener.AllowedSources,
			}
			body["labels"], body["annotations"] = changed(shown{Labels: listener.Labels,
				Annotations: listener.Annotations})
			l.request(http.MethodPut, "/v1/loadbalancers/"+lb.Identity+"/listeners/"+listener.Identity, body)
		}
	case partGroup:
		for _, group := range l.list("/v1/loadbalancer-target-groups") {
			body := map[string]any{
				"name": group.Name, "targetPort": group.TargetPort, "protocol": "tcp",
				"enableProxyProtocol": group.EnableProxyProtocol,
				"loadbalancingPolicy": group.LoadbalancingPolicy, "healthCheck": group.HealthCheck,
			}
			body["labels"], body["annotations"] = changed(group)
			l.request(http.MethodPut, "/v1/loadbalancer-target-groups/"+group.Identity, body)
		}
	case partSecurityGroup:
		for _, group := range l.list("/v1/security-groups") {
			if group.Labels[label.ServiceUID] == "" {
				continue
			}
			var whole map[string]any
			if err := json.Unmarshal(l.request(http.MethodGet, "/v1/security-groups/"+group.Identity, nil),
				&whole); err != nil {
				l.Fatal(err)
			}
			whole["labels"], whole["annotations"] = changed(group)
			l.request(http.MethodPut, "/v1/security-groups/"+group.Identity, whole)
		}
	}
}

// dropping removes labels.
func dropping(keys ...string) func(labels, annotations map[string]string) {
	return func(labels, _ map[string]string) {
		for _, key := range keys {
			delete(labels, key)
		}
	}
}

// losses are the ways in which objects lose labels.
var losses = map[string]func(labels, annotations map[string]string){
	"all":                      func(labels, _ map[string]string) { clear(labels) },
	"all, and all annotations": func(labels, annotations map[string]string) { clear(labels); clear(annotations) },
	"the UID":                  dropping(label.ServiceUID),
	"the cluster":              dropping(label.Cluster),
	"that it is managed":       dropping(label.Managed),
	"the Service's name":       dropping(label.ServiceName, label.ServiceNamespace),
	"the port":                 dropping(label.ServicePort, label.ServiceProtocol),
	"the cluster's value":      func(labels, _ map[string]string) { labels[label.Cluster] = "" },
}

// identities are those of everything in the cloud that may be a Service's, and the addresses, sorted.
func (l *lab) identities() []string {
	l.Helper()
	var all []string
	for _, path := range []string{"/v1/loadbalancers", "/v1/loadbalancer-target-groups", "/v1/security-groups"} {
		for _, object := range l.list(path) {
			all = append(all, object.Identity)
			for _, listener := range object.Listeners {
				all = append(all, listener.Identity)
			}
		}
	}
	balancers, err := l.api().ListLoadbalancers(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	for _, balancer := range balancers {
		all = append(all, balancer.ExternalIpAddresses...)
	}
	slices.Sort(all)
	return all
}

// labelsOf are the labels of everything that the Service has, by identity.
func (l *lab) labelsOf() map[string]map[string]string {
	l.Helper()
	labels := map[string]map[string]string{}
	for _, path := range []string{"/v1/loadbalancers", "/v1/loadbalancer-target-groups", "/v1/security-groups"} {
		for _, object := range l.list(path) {
			labels[object.Identity] = object.Labels
			for _, listener := range object.Listeners {
				labels[listener.Identity] = listener.Labels
			}
		}
	}
	return labels
}

// labelled is a Service whose load balancer has one of everything, made by this program or by the existing CCM.
func (l *lab) labelled(byUs bool) (*corev1.Service, []*corev1.Node) {
	l.Helper()
	web, nodes := service("web", 80, 443), l.nodes("a", "b")
	annotated("create-security-group", "true", "acl-allowed-sources", "10.0.0.0/8")(web)
	if !byUs {
		old := legacyOf(web, nil)
		for i := range old.listeners {
			old.listeners[i].AllowedSources = []string{"10.0.0.0/8"}
		}
		l.plantGroup(web, &old, "10.0.0.0/8")
		l.plant(old, nodes)
	}
	web.Status.LoadBalancer = *l.settle(web, nodes)
	return web, nodes
}

// TestLostLabels: whatever loses labels, and whoever made it, gets them again: nothing is made anew and no address
// changes, whether the program starts or runs; and a Service that is deleted then leaves nothing.
func TestLostLabels(t *testing.T) {
	t.Parallel()
	kinds := map[string][]part{
		"load balancer": {partBalancer}, "listeners": {partListener}, "target groups": {partGroup},
		"security group": {partSecurityGroup},
		"everything":     {partSecurityGroup, partGroup, partListener, partBalancer},
	}
	for kind, parts := range kinds {
		for loss, change := range losses {
			for maker, byUs := range map[string]bool{"ours": true, "the existing CCM's": false} {
				if !tier.Has(kind+loss+maker, 4) {
					continue
				}
				if !byUs && slices.Contains(parts, partSecurityGroup) && strings.HasPrefix(loss, "all") {
					continue // see TestSecurityGroupThatMayBeAUsers
				}
				t.Run(kind+" loses "+loss+", "+maker, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { checkLostLabels(t, parts, change, byUs) })
				})
			}
		}
	}
}

func checkLostLabels(t *testing.T, parts []part, change func(labels, annotations map[string]string), byUs bool) {
	t.Helper()
	l := newLab(t, emulator.Config{})
	none := l.identities()
	web, nodes := l.labelled(byUs)
	before, labels := l.identities(), l.labelsOf()
	lose := func() {
		for _, kind := range parts {
			l.relabel(kind, change)
		}
	}
	same := func(when string) {
		t.Helper()
		if after := l.identities(); !slices.Equal(before, after) {
			t.Errorf("%s the cloud has %v, want %v", when, after, before)
		}
		for id, has := range l.labelsOf() {
			if !maps.Equal(labels[id], has) {
				t.Errorf("%s %s has labels %v, want %v", when, id, has, labels[id])
			}
		}
	}
	lose()
	l.restart()
	l.settle(web, nodes)
	same("after a start")
	l.emulator.ResetCounters()
	l.settle(web, nodes)
	if writes := l.writes(); len(writes) > 0 {
		t.Errorf("the next sync writes %v", writes)
	}
	lose()
	if err := l.cloud.balancers.inventory.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.settle(web, nodes)
	same("while it runs")
	lose()
	l.restart()
	l.remove(web)
	if left := l.identities(); !slices.Equal(left, none) {
		t.Errorf("left in the cloud: %v, want %v", left, none)
	}
}

// TestLostLabelsAreReported: once, whether the program starts or runs, and the controller leaves the address as it is.
func TestLostLabelsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, _ := l.labelled(true)
		address := web.Status.LoadBalancer.Ingress[0].IP
		l.relabel(partBalancer, losses["all"])
		l.restart()
		cluster := l.watching(web)
		for _, when := range []string{"start", "run"} {
			<-time.After(2 * driftPeriod)
			if reported := l.eventsAbout(reasonLabelsLost); len(reported) != 1 ||
				!strings.Contains(reported[0], l.only().Identity) {
				t.Errorf("%s: reported %q, want one event about the load balancer", when, reported)
			}
			current, err := cluster.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil || len(current.Status.LoadBalancer.Ingress) != 1 ||
				current.Status.LoadBalancer.Ingress[0].IP != address {
				t.Errorf("%s: status %v, error %v; want the address %s", when, current.Status.LoadBalancer, err,
					address)
			}
			if when == "start" {
				l.relabel(partBalancer, losses["all"])
			}
		}
	})
}

// TestLostLabelsCostNothingElse: an unchanged Service costs no call because of load balancers without labels, and one
// that lost them one write.
func TestLostLabelsCostNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, nodes := l.labelled(true)
		l.emulator.ResetCounters()
		for range 5 {
			l.settle(web, nodes)
		}
		if calls := l.calls(); calls > 0 {
			t.Errorf("five syncs of an unchanged Service make %d calls: %v", calls, l.emulator.Counters())
		}
		l.relabel(partBalancer, losses["all"])
		l.restart()
		l.emulator.ResetCounters()
		l.settle(web, nodes)
		if writes := l.writes(); len(writes) != 1 {
			t.Errorf("writes %v, want the one that restores the labels", writes)
		}
	})
}

// TestLabelsOfOthers: with the labels of another owner, a load balancer that has the Service's name and address is
// neither used nor changed, and no other is made. An event says what to do, and that helps.
func TestLabelsOfOthers(t *testing.T) {
	for name, change := range map[string]func(labels, annotations map[string]string){
		"another cluster": func(labels, _ map[string]string) { labels[label.Cluster] = "k8s-other" },
		"another Service": func(labels, _ map[string]string) {
			labels[label.ServiceUID], labels[label.ServiceName] = "0a1b2c3d-other", "other"
		},
		"given up": func(labels, _ map[string]string) { clear(labels); labels[label.Managed] = "false" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				web, nodes := l.labelled(true)
				before, labels := l.identities(), l.only().Labels
				l.relabel(partBalancer, change)
				l.restart()
				l.emulator.ResetCounters()
				cluster := l.watching(web)
				<-time.After(2 * driftPeriod)
				if after := l.identities(); !slices.Equal(before, after) || len(l.writes()) > 0 {
					t.Errorf("the cloud has %v, want %v; writes %v", after, before, l.writes())
				}
				reported := l.eventsAbout(reasonUncertain)
				if len(reported) != 1 || !strings.Contains(reported[0], l.only().Identity) ||
					!strings.Contains(reported[0], label.ServiceUID+"="+string(web.UID)) {
					t.Errorf("reported %q, want once which load balancer, and which labels to give it", reported)
				}
				current, err := cluster.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
				if err != nil || current.Status.LoadBalancer.Ingress[0].IP != web.Status.LoadBalancer.Ingress[0].IP {
					t.Errorf("status %v, error %v; want it as it was", current.Status.LoadBalancer, err)
				}
				l.putBalancer(set("labels", labels))
				<-time.After(2 * driftPeriod)
				if _, err := l.ensure(web, nodes); err != nil || !slices.Equal(before, l.identities()) {
					t.Errorf("with the labels: error %v, %v in the cloud, want %v", err, l.identities(), before)
				}
			})
		})
	}
}

// TestDeletionBesideLabelsOfOthers: a Service is deleted whose load balancer has the labels of another owner. The
// deletion ends: the load balancer stays, with the target groups that it uses, and an event says so.
func TestDeletionBesideLabelsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, _ := l.labelled(true)
		l.relabel(partBalancer, func(labels, _ map[string]string) { labels[label.Cluster] = "k8s-other" })
		l.restart()
		l.remove(web)
		if left := l.leftovers(); len(left) != 3 {
			t.Errorf("left in the cloud: %v, want the load balancer and its target groups", left)
		}
		for _, group := range l.list("/v1/loadbalancer-target-groups") {
			if group.Labels[label.ServiceUID] != "" || group.Labels[label.Cluster] != "" {
				t.Errorf("target group %s has labels %v, want none of the Service", group.Name, group.Labels)
			}
		}
		if reported := l.eventsAbout("LoadBalancerLeft"); len(reported) != 1 ||
			!strings.Contains(reported[0], l.only().Identity) {
			t.Errorf("reported %q, want once that the load balancer stays", reported)
		}
	})
}

// TestPartsWithLabelsOfOthers: parts of another owner are left alone, the Service gets its own, keeps its address, and
// can be deleted.
func TestPartsWithLabelsOfOthers(t *testing.T) {
	for _, kind := range []part{partListener, partGroup, partSecurityGroup} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				web, nodes := l.labelled(true)
				before := l.balancer()
				l.relabel(kind, func(labels, _ map[string]string) {
					labels[label.Cluster], labels[label.ServiceUID] = "k8s-other", "0a1b2c3d-other"
				})
				others := l.labelsOf()
				maps.DeleteFunc(others, func(_ string, labels map[string]string) bool {
					return labels[label.Cluster] != "k8s-other"
				})
				l.restart()
				l.settle(web, nodes)
				if after := l.balancer(); after.Identity != before.Identity || !slices.Equal(after.ExternalIpAddresses,
					before.ExternalIpAddresses) {
					t.Errorf("load balancer %s at %v, want %s at %v", after.Identity, after.ExternalIpAddresses,
						before.Identity, before.ExternalIpAddresses)
				}
				l.remove(web)
				left := l.labelsOf()
				for id, labels := range others {
					if kind != partListener && !maps.Equal(left[id], labels) {
						t.Errorf("%s has labels %v, want those of the other owner %v", id, left[id], labels)
					}
				}
			})
		})
	}
}

// TestSecurityGroupThatMayBeAUsers: a security group with the name that the existing CCM gives and without any label
// may be a user's own, even when it is attached to the Service's load balancer. It gets no labels, and stays when the
// Service is deleted.
func TestSecurityGroupThatMayBeAUsers(t *testing.T) {
	for name, named := range map[string]bool{"named by an annotation": true, "not named": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				web, nodes := l.labelled(false)
				address := web.Status.LoadBalancer.Ingress[0].IP
				group := l.only().SecurityGroups[0].Identity
				l.relabel(partSecurityGroup, losses["all, and all annotations"])
				if named {
					annotated("security-groups", group)(web)
				}
				l.restart()
				l.settle(web, nodes)
				if got := l.labelsOf()[group]; len(got) > 0 {
					t.Errorf("the security group got labels %v", got)
				}
				if now := l.balancer().ExternalIpAddresses; !slices.Contains(now, address) {
					t.Errorf("the load balancer has %v, want %s", now, address)
				}
				l.remove(web)
				if labels, there := l.labelsOf()[group]; !there || len(labels) > 0 {
					t.Errorf("after the Service: there %t, labels %v; want it there, without labels", there, labels)
				}
			})
		})
	}
}

// TestTwinOfALoadBalancer: a load balancer lost its labels before another one was made, which has its target groups,
// too. It is reported. The Service's deletion ends, and the other stays with what it uses, whatever labels its
// listeners have: one that was handed over has them, too.
func TestTwinOfALoadBalancer(t *testing.T) {
	for _, certain := range []bool{true, false} {
		t.Run(fmt.Sprintf("its listeners have labels: %t", certain), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				web, nodes := l.labelled(true)
				l.relabel(partBalancer, losses["all"])
				old := l.only()
				if !certain {
					l.relabel(partListener, losses["all"])
				}
				l.request(http.MethodPost, "/v1/loadbalancers", map[string]any{"name": "second",
					"labels": legacyOf(web, nil).balancer.Labels, "subnet": emulator.DefaultSubnet})
				<-time.After(time.Minute)
				l.restart()
				web.Status.LoadBalancer = corev1.LoadBalancerStatus{}
				web.Status.LoadBalancer = *l.settle(web, nodes)
				if reported := l.eventsAbout(reasonUncertain); len(reported) != 1 ||
					!strings.Contains(reported[0], old.Identity) {
					t.Errorf("reported %q, want once that there is %s", reported, old.Identity)
				}
				l.remove(web)
				if left := l.leftovers(); len(left) != 1+len(old.Listeners) {
					t.Errorf("left in the cloud: %v, want the load balancer and its target groups", left)
				}
			})
		})
	}
}

// TestRemovedPortWithoutLabels: a listener that lost its labels goes with its port, and so does its target group.
func TestRemovedPortWithoutLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, nodes := l.labelled(true)
		l.relabel(partListener, losses["all"])
		l.relabel(partGroup, losses["all"])
		web.Spec.Ports = web.Spec.Ports[:1]
		l.restart()
		l.settle(web, nodes)
		if got := l.leftovers(); len(l.only().Listeners) != 1 || len(got) != 2 {
			t.Errorf("%d listeners and %v, want one port", len(l.only().Listeners), got)
		}
	})
}

// TestListenerOfOthersOnATargetGroup: somebody's listener on the Service's load balancer leads to a target group whose
// port the Service no longer has. Both stay as long as the Service, and go with it.
func TestListenerOfOthersOnATargetGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, nodes := l.labelled(true)
		lb := l.only()
		second := lb.Listeners[1].TargetGroup.Identity
		l.request(http.MethodPost, "/v1/loadbalancers/"+lb.Identity+"/listeners",
			map[string]any{"name": "mine", "port": 8080, "protocol": "tcp", "targetGroup": second})
		web.Spec.Ports = web.Spec.Ports[:1]
		l.restart()
		l.settle(web, nodes)
		if got := l.only().Listeners; len(got) != 2 || got[1].Name != "mine" {
			t.Errorf("listeners %v, want that of the port and somebody's", got)
		}
		l.remove(web)
		if left := l.leftovers(); len(left) > 0 {
			t.Errorf("left in the cloud: %v", left)
		}
	})
}

// TestUncertainLoadBalancers: what is like the Service's load balancer and may be another one keeps the Service from
// getting one; what is not does not.
func TestUncertainLoadBalancers(t *testing.T) {
	const own, asked = "a0a1b2c3dweb", "shop"
	tests := map[string]struct {
		names     []string // of load balancers without labels
		made      bool     // they say that this program made them
		published bool     // the Service has the address of the first
		elsewhere bool     // the Service has another address
		asks      bool     // for the other name
		makes     bool     // a load balancer
		adopts    bool
	}{
		"its name, no address published":        {names: []string{own}},
		"its name, made by this program":        {names: []string{own}, made: true, adopts: true},
		"its name and address":                  {names: []string{own}, published: true, adopts: true},
		"its name, another address published":   {names: []string{own}, elsewhere: true},
		"the address under another name":        {names: []string{"somebody"}, published: true},
		"another name and address":              {names: []string{"somebody"}, elsewhere: true, makes: true},
		"two of its name":                       {names: []string{own, own}},
		"two that this program made":            {names: []string{own, own}, made: true},
		"two of its name, one with the address": {names: []string{own, own}, published: true, adopts: true},
		"the name that it asks for":             {names: []string{asked}, asks: true, makes: true},
		"that name, and the address":            {names: []string{asked}, asks: true, published: true, adopts: true},
		"a name that it does not ask for":       {names: []string{asked}, makes: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				web, nodes := service("web", 80), l.nodes("a")
				if tt.asks {
					annotated("name", asked)(web)
				}
				for _, called := range tt.names {
					body := map[string]any{"name": called, "subnet": emulator.DefaultSubnet}
					if tt.made {
						body["annotations"] = map[string]string{annotationCreatedBy: createdByUs}
					}
					l.request(http.MethodPost, "/v1/loadbalancers", body)
				}
				<-time.After(time.Minute)
				all, err := l.api().ListLoadbalancers(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if tt.published {
					web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: all[0].ExternalIpAddresses[0]}}
				}
				if tt.elsewhere {
					web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.250"}}
				}
				l.emulator.ResetCounters()
				err = l.settled(web, nodes)
				want := len(all)
				if tt.makes {
					want++
				}
				if got := len(l.list("/v1/loadbalancers")); got != want || (err == nil) != (tt.makes || tt.adopts) {
					t.Errorf("%d load balancers, error %v; want %d", got, err, want)
				}
				if reported := l.eventsAbout(reasonUncertain); err != nil && (len(reported) != 1 ||
					len(l.writes()) > 0) {
					t.Errorf("reported %q, writes %v; want one event and none", reported, l.writes())
				}
				if tt.adopts && l.list("/v1/loadbalancers")[0].Labels[label.ServiceUID] != string(web.UID) {
					t.Errorf("labels %v, want those of the Service", l.list("/v1/loadbalancers")[0].Labels)
				}
			})
		})
	}
}

// settled is settle for a Service that may be refused.
func (l *lab) settled(web *corev1.Service, nodes []*corev1.Node) (err error) {
	for range 20 {
		if _, err = l.ensure(web, nodes); cloud.ReasonOf(err).Until == 0 {
			return err
		}
		<-time.After(cloud.ReasonOf(err).Until)
	}
	return err
}
