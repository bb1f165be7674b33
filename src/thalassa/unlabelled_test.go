package thalassa

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		for i := range old.Listeners {
			old.Listeners[i].AllowedSources = []string{"10.0.0.0/8"}
		}
		l.plantGroup(web, &old, "10.0.0.0/8")
		l.plant(old, nodes)
	}
	web.Status.LoadBalancer = *l.settle(web, nodes)
	return web, nodes
}

// TestLostLabels: a Service's load balancer loses labels with all that it has, whoever made it. They get them again
// with one event: nothing is made anew and no address changes, whether the program starts or runs. A Service that is
// deleted then leaves nothing.
func TestLostLabels(t *testing.T) {
	t.Parallel()
	for loss, change := range losses {
		for maker, byUs := range map[string]bool{"ours": true, "the existing CCM's": false} {
			parts := []part{partSecurityGroup, partGroup, partListener, partBalancer}
			if !byUs && strings.HasPrefix(loss, "all") {
				parts = parts[1:] // without any label, a security group with its name may be a user's
			}
			if tier.Has(loss+maker, 2) {
				t.Run(loss+", "+maker, func(t *testing.T) {
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
	lost := 0
	for _, key := range []string{label.Cluster, label.Managed, label.ServiceUID} {
		if l.only().Labels[key] == "" {
			lost++
		}
	}
	l.restart()
	l.settle(web, nodes)
	same("after a start")
	if reported := l.eventsAbout(reasonLabelsLost); len(reported) != min(1, lost) {
		t.Errorf("reported %q, want one event if the load balancer lost labels by which it is found", reported)
	}
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

// TestChangedClusterKey: the cluster gets another key, and its old one again. What another key made is neither changed
// nor taken, no Service gets a second load balancer or another address, and an event explains each step. A Service that
// is made meanwhile gets a load balancer.
func TestChangedClusterKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, nodes := l.labelled(true)
		more := service("more", 80)
		refused := func(key string, one *corev1.Service) {
			t.Helper()
			l.config.Cluster = key
			l.restart()
			l.emulator.ResetCounters()
			before, cluster := l.identities(), l.watching(one)
			<-time.After(2 * driftPeriod)
			if after := l.identities(); !slices.Equal(before, after) || len(l.writes()) > 0 {
				t.Errorf("with the key %s the cloud has %v, want %v; writes %v", key, after, before, l.writes())
			}
			reported := l.eventsAbout(reasonUncertain)
			if len(reported) != 1 || !strings.Contains(reported[0], "set cluster in the cloud-config") {
				t.Errorf("with the key %s: reported %q, want one event that says how to go on", key, reported)
			}
			current, err := cluster.CoreV1().Services("shop").Get(t.Context(), one.Name, metav1.GetOptions{})
			if err != nil || current.Status.LoadBalancer.Ingress[0].IP != one.Status.LoadBalancer.Ingress[0].IP {
				t.Errorf("status %v, error %v; want it as it was", current.Status.LoadBalancer, err)
			}
		}
		refused("k8s-new", web)
		more.Status.LoadBalancer = *l.settle(more, nodes)
		refused("k8s-test", more)
		l.emulator.ResetCounters()
		if l.settle(web, nodes); len(l.writes()) > 0 {
			t.Errorf("with its key again, the first Service causes the writes %v", l.writes())
		}
	})
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

// TestTwinOfALoadBalancer: a load balancer lost its labels before another one was made, which has its target groups,
// too. It is reported. The Service's deletion ends, and the other stays with what it uses.
func TestTwinOfALoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, nodes := l.labelled(true)
		l.relabel(partBalancer, losses["all"])
		old := l.only()
		l.request(http.MethodPost, "/v1/loadbalancers", map[string]any{"name": "second",
			"labels": legacyOf(web, nil).Balancer.Labels, "subnet": emulator.DefaultSubnet})
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
