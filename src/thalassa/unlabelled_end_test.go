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

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// refuse makes the cloud answer so many calls with a status, 0 for all.
func (l *lab) refuse(operation string, count, status int) {
	l.Helper()
	l.inject(fault.Rule{Operation: operation, Count: count, Effect: fault.Effect{Kind: fault.Refuse, Status: status}})
}

// refuseUpdates makes the cloud refuse every update of a target group or security group.
func (l *lab) refuseUpdates(status int) {
	l.Helper()
	for _, kind := range []string{"loadbalancer-target-groups", "security-groups"} {
		l.refuse("PUT /v1/"+kind+"/{id}", 0, status)
	}
}

// TestDeletionWhenLabelsAreRefused: a Service is deleted whose target groups and security group lost labels, which the
// cloud does not let anybody set. The deletion ends, these stay, and one event names them.
func TestDeletionWhenLabelsAreRefused(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusForbidden} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				web, _ := l.labelled(true)
				l.relabel(partGroup, losses["all"])
				l.relabel(partSecurityGroup, losses["all"])
				l.refuseUpdates(status)
				l.restart()
				l.remove(web)
				reported, left := l.eventsAbout("LoadBalancerLeft"), l.labelsOf()
				if len(reported) != 1 || len(left) != 3 || len(l.list("/v1/loadbalancers")) > 0 {
					t.Fatalf("reported %q, left %v; want two target groups and the security group", reported, left)
				}
				for id := range left {
					if !strings.Contains(reported[0], id) {
						t.Errorf("reported %q, want %s", reported, id)
					}
				}
			})
		})
	}
}

// TestLabelsAreSetBeforeTheLoadBalancerGoes: what is known only by its load balancer gets its labels first, also when
// the cloud fails for a moment.
func TestLabelsAreSetBeforeTheLoadBalancerGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		none := l.identities()
		web, _ := l.labelled(false)
		l.relabel(partSecurityGroup, losses["the UID"])
		l.restart()
		l.refuse("PUT /v1/security-groups/{id}", 5, http.StatusServiceUnavailable)
		err := l.library.EnsureLoadBalancerDeleted(t.Context(), "test", web)
		if all := l.list("/v1/loadbalancers"); err == nil || len(all) != 1 {
			t.Errorf("error %v, load balancers %v; want an error, and the load balancer", err, all)
		}
		<-time.After(time.Minute)
		l.remove(web)
		if left := l.identities(); !slices.Equal(left, none) {
			t.Errorf("left in the cloud: %v, want %v", left, none)
		}
	})
}

// twin creates another load balancer, which leads to the Service's target groups.
func (l *lab) twin() {
	l.Helper()
	var listeners []map[string]any
	for _, listener := range l.only().Listeners {
		listeners = append(listeners, map[string]any{
			"name": listener.Name, "port": listener.Port, "protocol": "tcp",
			"targetGroup": listener.TargetGroup.Identity,
		})
	}
	body := map[string]any{"name": "other", "subnet": emulator.DefaultSubnet, "listeners": listeners}
	l.request(http.MethodPost, "/v1/loadbalancers", body)
	<-time.After(time.Minute)
}

// TestDeletionWhenLabelsStay: target groups that another load balancer uses stay in the cloud. When it refuses to take
// the Service's labels off them, the deletion ends nevertheless.
func TestDeletionWhenLabelsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, _ := l.labelled(true)
		l.twin()
		l.refuseUpdates(http.StatusBadRequest)
		l.restart()
		l.retry(func() error { return l.library.EnsureLoadBalancerDeleted(t.Context(), "test", web) })
		groups := l.list("/v1/loadbalancer-target-groups")
		reported := strings.Join(l.eventsAbout("LoadBalancerLeft"), "\n")
		for _, group := range groups {
			if strings.Count(reported, group.Identity) != 1 {
				t.Errorf("reported %q, want once that target group %s is left", reported, group.Identity)
			}
		}
		if len(groups) != 2 || len(l.list("/v1/loadbalancers")) != 1 {
			t.Errorf("left in the cloud: %v", l.leftovers())
		}
	})
}

// TestOrphanWithoutLabels: a load balancer lost its labels, and then its Service was gone. It is reported with the
// target groups that it leads to, and nothing of it is deleted. One whose Service is there is not reported.
func TestOrphanWithoutLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		l.config.LoadBalancer.RemoveOrphans = true
		l.restart()
		web, nodes := l.labelled(true)
		other := service("other", 80)
		l.settle(other, nodes)
		balancer := l.balancerOf(web)
		before := l.identities()
		labels, annotations := maps.Clone(balancer.Labels), maps.Clone(balancer.Annotations)
		losses["all"](labels, annotations)
		l.request(http.MethodPut, "/v1/loadbalancers/"+balancer.Identity, map[string]any{
			"name": balancer.Name, "labels": labels, "annotations": annotations,
		})
		l.restart()
		l.watching(other)
		<-time.After(5 * driftPeriod)
		reported := l.eventsAbout("LoadBalancerOrphaned")
		if len(reported) != 1 || !strings.Contains(reported[0], balancer.Identity+"), target group") ||
			!strings.Contains(reported[0], "It lost its labels") {
			t.Errorf("reported %q, want once that there is %s without its labels", reported, balancer.Identity)
		}
		if after := l.identities(); !slices.Equal(after, before) {
			t.Errorf("the cloud has %v, want %v", after, before)
		}
	})
}

// balancerOf is the load balancer that has the Service's labels.
func (l *lab) balancerOf(service *corev1.Service) shown {
	l.Helper()
	for _, balancer := range l.list("/v1/loadbalancers") {
		if balancer.Labels[label.ServiceUID] == string(service.UID) {
			return balancer
		}
	}
	l.Fatalf("Service %s has no load balancer", service.Name)
	return shown{}
}
