package thalassa

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestMaxTargetsDrift: targets that were replaced by hand are drift, as without a limit, also if health checks may not
// have accepted the targets before yet, or if the process has just begun and does not know whether they have.
func TestMaxTargetsDrift(t *testing.T) {
	for _, mode := range []string{"repair", "report", "off"} {
		for _, accepted := range []string{"accepted", "perhaps not accepted", "a restart"} {
			what := mode + ", " + accepted
			if mode != "repair" && accepted != "accepted" && !tier.Full() {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				l.config.LoadBalancer.Drift = mode
				l.restart()
				nodes, web := l.nodes("a", "b", "c", "d", "e"), slowHealthChecks("2")
				if accepted == "accepted" {
					web = serviceWith(annotated("max-targets", "2"))
				}
				setReady(nodes)
				l.settle(web, nodes)
				before := l.targetCount("before", 2)
				if accepted == "a restart" {
					<-time.After(3 * time.Hour)
					l.restart()
				}
				l.watching(web)
				<-time.After(time.Minute)
				others := machinesWithout(nodes, before)[:2]
				l.warnings()
				l.setTargets("", others...)
				<-time.After(2 * time.Hour)
				want := others
				if mode == "repair" {
					want = before
				}
				if after := l.targetCount(what, 2); !slices.Equal(after, want) {
					t.Errorf("%s: %v became %v by hand, and is %v", what, before, others, after)
				}
				if mode == "off" {
					l.reported(what)
				} else {
					l.reported(what, "LoadBalancerDrifted", "2 machines become")
				}
			})
		}
	}
}

// slowHealthChecks accept a target after 659 seconds.
func slowHealthChecks(maxTargets string) *corev1.Service {
	return serviceWith(annotated("max-targets", maxTargets, "health-check-interval", "60", "health-check-timeout", "59",
		"health-check-up-threshold", "10"))
}

// betweenSteps returns the Service of a lab in which a node takes the place of the only target, which stays while
// health checks have not accepted the new one. The targets are sorted.
func (l *lab) betweenSteps(mode string) (web *corev1.Service, cluster *fake.Clientset, first, both []string) {
	l.Helper()
	l.config.LoadBalancer.Drift = mode
	l.restart()
	nodes, web := l.nodes("a"), slowHealthChecks("1")
	setReady(nodes)
	l.settle(web, nodes)
	first = l.targetCount("before", 1)
	cluster = l.watching(web)
	<-time.After(time.Hour)
	if _, err := cluster.CoreV1().Nodes().Create(l.Context(), l.preferredNode(web, first[0]),
		metav1.CreateOptions{}); err != nil {
		l.Fatal(err)
	}
	<-time.After(time.Minute)
	both = l.targetCount("between the steps", 2)
	l.warnings()
	return web, cluster, first, both
}

// TestMaxTargetsDriftBetweenSteps: what somebody else changes while new targets are being checked is drift, and the
// targets that were to leave afterwards leave. If drift is not repaired, they leave when the Service changes.
func TestMaxTargetsDriftBetweenSteps(t *testing.T) {
	changes := map[string]func(l *lab, first, last []string){
		"the new target is removed": func(l *lab, first, _ []string) { l.setTargets("443", first...) },
		"the old target is removed": func(l *lab, _, last []string) { l.setTargets("", last...) },
		"a target group is changed": func(l *lab, _, _ []string) { l.setTargetPort("443", 1) },
	}
	for change, apply := range changes {
		for _, mode := range []string{"repair", "report", "off"} {
			what := change + ", " + mode
			if mode != "repair" && change != "the old target is removed" && !tier.Full() {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				web, cluster, first, both := l.betweenSteps(mode)
				last := slices.DeleteFunc(slices.Clone(both), func(one string) bool { return one == first[0] })
				apply(l, first, last)
				<-time.After(8 * time.Minute)
				repaired := slices.Equal(l.targetsOfPort("443"), both) && l.targetPort("443") == 30443
				if repaired != (mode == "repair") {
					t.Errorf("%s: the targets are %v on port %d", what, l.targetsOfPort("443"), l.targetPort("443"))
				}
				if mode == "off" {
					l.reported(what)
				} else {
					l.reported(what, "LoadBalancerDrifted", "443")
				}
				before := l.targetsOfPort("80")
				<-time.After(time.Hour)
				if mode != "repair" {
					if later := l.targetsOfPort("80"); !slices.Equal(later, before) {
						t.Errorf("%s: %v became %v while there is drift", what, before, later)
					}
					annotated("idle-connection-timeout", "77")(web)
					if _, err := cluster.CoreV1().Services(web.Namespace).Update(t.Context(), web,
						metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
					<-time.After(time.Hour)
				}
				if end := l.targetCount(what, 1); !slices.Equal(end, last) {
					t.Errorf("%s: %v became %v at the end, want %v", what, both, end, last)
				}
			})
		}
	}
}

// TestMaxTargetsBalancerDeletedBetweenSteps: a load balancer that is deleted while new targets are being checked is
// drift, also while its deletion takes long.
func TestMaxTargetsBalancerDeletedBetweenSteps(t *testing.T) {
	for mode, want := range map[string]int{"repair": 1, "report": 0, "off": 0} {
		synctest.Test(t, func(t *testing.T) {
			config := featureCloud()
			config.Delays.LoadbalancerDelete = 20 * time.Minute
			l := newLab(t, config)
			web, _, _, _ := l.betweenSteps(mode)
			l.deleteBalancer(web)
			<-time.After(3 * time.Hour)
			if all, err := l.api().ListLoadbalancers(t.Context(), nil); err != nil || len(all) != want {
				t.Errorf("%s: %d load balancers, error %v, want %d", mode, len(all), err, want)
			}
			if events := l.warnings(); strings.Contains(events, "LoadBalancerDrifted") == (mode == "off") {
				t.Errorf("%s: the events are %q", mode, events)
			}
		})
	}
}

// setTargetPort changes the port of the target group, as somebody else does.
func (l *lab) setTargetPort(port string, targetPort int) {
	l.Helper()
	group := l.groupOfPort(port)
	if _, err := l.api().UpdateTargetGroup(l.Context(), iaas.UpdateTargetGroupRequest{Identity: group.Identity,
		UpdateTargetGroup: iaas.UpdateTargetGroup{Name: group.Name, Labels: group.Labels, TargetPort: targetPort,
			Protocol: group.Protocol, HealthCheck: group.HealthCheck}}); err != nil {
		l.Fatal(err)
	}
}

// targetPort returns the port to which the target group of a port sends.
func (l *lab) targetPort(port string) int {
	l.Helper()
	return l.groupOfPort(port).TargetPort
}

// setTargets replaces the targets of the port's target groups, or of all if it is empty, as somebody else does.
func (l *lab) setTargets(port string, machines ...string) {
	l.Helper()
	groups, err := l.api().ListTargetGroups(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	batch := iaas.TargetGroupAttachmentsBatch{}
	for _, machine := range machines {
		batch.Attachments = append(batch.Attachments, iaas.AttachTarget{ServerIdentity: machine})
	}
	for _, group := range groups {
		if port != "" && group.Labels[label.ServicePort] != port {
			continue
		}
		batch.TargetGroupID = group.Identity
		if err := l.api().SetTargetGroupServerAttachments(l.Context(), batch); err != nil {
			l.Fatal(err)
		}
	}
}

// TestMaxTargetsInvalidAndChangedByHand: while the annotation is invalid, targets that somebody else added stay, and
// fewer than the limit of the cluster are drift.
func TestMaxTargetsInvalidAndChangedByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		l.config.LoadBalancer.Drift, l.config.LoadBalancer.MaxTargets = "report", 2
		l.restart()
		nodes, web := l.nodes("a", "b", "c", "d", "e"), serviceWith(annotated("max-targets", "many"))
		setReady(nodes)
		l.settle(web, nodes)
		before := l.targetCount("before", 2)
		l.watching(web)
		<-time.After(time.Minute)
		others := machinesWithout(nodes, before)
		l.setTargets("", others...)
		<-time.After(time.Hour)
		if after := l.targetCount("three by hand", 3); !slices.Equal(after, others) {
			t.Errorf("%v became %v", others, after)
		}
		l.warnings()
		l.setTargets("", others[0])
		<-time.After(time.Hour)
		l.targetCount("one by hand", 1)
		l.reported("one by hand", "LoadBalancerDrifted", "1 machines become 2")
	})
}

// TestMaxTargetsInvalidAndOnePortChanged: while the annotation is invalid, targets that somebody else added to one port
// stay there, and do not come to the other ports. Targets that somebody removed from one port stay at the other ports.
func TestMaxTargetsInvalidAndOnePortChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		l.config.LoadBalancer.MaxTargets = 2
		l.restart()
		nodes, web := l.nodes("a", "b", "c", "d", "e"), serviceWith(annotated("max-targets", "4"))
		setReady(nodes)
		l.settle(web, nodes)
		before := l.targetCount("before", 4)
		annotated("max-targets", "many")(web)
		l.watching(web)
		<-time.After(time.Minute)
		for name, byHand := range map[string][]string{
			"others": append(machinesWithout(nodes, before), before...), "few": before[:2],
		} {
			l.setTargets("443", byHand...)
			<-time.After(time.Hour)
			after, changed := l.targetsOfPort("80"), l.targetsOfPort("443")
			if slices.Sort(byHand); !slices.Equal(after, before) || !slices.Equal(changed, byHand) {
				t.Errorf("%s: %v became %v by hand, and is %v beside %v, want %v", name, before, byHand, changed, after,
					before)
			}
		}
	})
}
