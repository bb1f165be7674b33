package thalassa

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestMaxTargetsDrift: targets that were replaced by hand are drift, as without a limit, also if health checks may not
// have accepted the targets before yet.
func TestMaxTargetsDrift(t *testing.T) {
	for _, mode := range []string{"repair", "report", "repair, slow health checks", "report, slow health checks"} {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			drift, _, slow := strings.Cut(mode, ",")
			l.config.LoadBalancer.Drift = drift
			l.restart()
			nodes, web := l.nodes("a", "b", "c", "d", "e"), serviceWith(annotated("max-targets", "2"))
			if slow { // 659 s
				annotated("health-check-interval", "60", "health-check-timeout", "59", "health-check-up-threshold",
					"10")(web)
			}
			setReady(nodes)
			l.settle(web, nodes)
			before := l.targetCount("before", 2)
			l.watching(web)
			<-time.After(time.Minute)
			others := machinesWithout(nodes, before)[:2]
			l.warnings()
			l.setTargets("", others...)
			<-time.After(30 * time.Minute)
			want := map[string][]string{"repair": before, "report": others}[drift]
			if after := l.targetCount(mode, 2); !slices.Equal(after, want) {
				t.Errorf("%s: %v became %v by hand, and is %v", mode, before, others, after)
			}
			l.reported(mode, "LoadBalancerDrifted", "2 machines become")
		})
	}
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
