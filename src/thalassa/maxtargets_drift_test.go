package thalassa

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestMaxTargetsDrift: targets that were replaced by hand are drift, as without a limit.
func TestMaxTargetsDrift(t *testing.T) {
	for _, mode := range []string{"repair", "report"} {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			l.config.LoadBalancer.Drift = mode
			l.restart()
			nodes, web := l.nodes("a", "b", "c", "d", "e"), serviceWith(annotated("max-targets", "2"))
			setReady(nodes)
			l.settle(web, nodes)
			before := l.targetCount("before", 2)
			l.watching(web)
			<-time.After(time.Minute)
			others := machinesWithout(nodes, before)[:2]
			l.warnings()
			l.setTargets("", others...)
			<-time.After(2*driftPeriod + time.Minute)
			want := map[string][]string{"repair": before, "report": others}[mode]
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
