package thalassa

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// readyNow makes a node ready from now on, as the kubelet and the network of pods do.
func readyNow(node *corev1.Node) {
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
		{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()},
	}
}

func withoutNetwork(node *corev1.Node) {
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
		{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
	}
}

// TestMaxTargetsBetterNodeBecomesReady: a node that would fill an empty place takes the place of a target that is not
// ready when it becomes ready. That is no drift.
func TestMaxTargetsBetterNodeBecomesReady(t *testing.T) {
	for _, mode := range driftModes("report") {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			web := serviceWith(annotated("max-targets", "2"))
			nodes, cluster := l.readyFor(mode, web, "a", "b", "c")
			order := preferredFirst(nodes, web)
			l.exclude(cluster, nodes, machineOf(order[0]))
			<-time.After(time.Hour)
			l.change(cluster, order[2], notReady)
			<-time.After(time.Hour)
			l.change(cluster, order[0], notReady) // it is not excluded any more
			<-time.After(3 * time.Hour)
			l.warnings()
			l.change(cluster, order[0], readyNow)
			<-time.After(time.Hour)
			want := slices.Sorted(slices.Values([]string{machineOf(order[0]), machineOf(order[1])}))
			if after := l.targetCount(mode, 2); !slices.Equal(after, want) {
				t.Errorf("%s: the targets are %v, want %v", mode, after, want)
			}
			l.reported(mode)
		})
	}
}

// TestMaxTargetsReadyAgain: targets that serve while others do not stay until health checks accept the others again.
func TestMaxTargetsReadyAgain(t *testing.T) {
	for _, mode := range driftModes("repair") {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			cluster, order := l.fourNotReady(mode)
			l.change(cluster, order[0], readyNow)
			<-time.After(10 * time.Minute)
			l.targetCount(mode+", one is ready for 10 minutes", 5)
			<-time.After(7 * time.Minute) // health checks need 11 minutes
			if after := l.targetCount(mode, 4); slices.Contains(after, machineOf(order[4])) {
				t.Errorf("%s: the targets are %v with %s", mode, after, order[4].Name)
			}
			l.reported(mode)
		})
	}
}

// TestMaxTargetsNetworkAgain: the same if the network of all targets is missing.
func TestMaxTargetsNetworkAgain(t *testing.T) {
	for _, mode := range driftModes("off") {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			nodes, cluster := l.readyFor(mode, slowHealthChecks("4"), "a", "b", "c", "d", "e", "f", "g", "h")
			first := l.targetCount("before", 4)
			for _, machine := range first {
				l.change(cluster, nodeOn(nodes, machine), withoutNetwork)
			}
			<-time.After(time.Hour)
			l.warnings()
			l.targetCount("without network", 8)
			for _, machine := range first {
				l.change(cluster, nodeOn(nodes, machine), readyNow)
			}
			<-time.After(10 * time.Minute)
			others := machinesWithout(nodes, first)
			if len(cloud.Without(others, l.targetsOfPort("443"))) == len(others) {
				t.Errorf("%s: no target stays that served before the others were ready", mode)
			}
			<-time.After(7 * time.Minute) // health checks need 11 minutes
			if after := l.targetCount(mode, 4); !slices.Equal(after, first) {
				t.Errorf("%s: the targets are %v, want %v", mode, after, first)
			}
			l.reported(mode)
		})
	}
}

// TestMaxTargetsEmptiedByHand: targets that somebody removes are drift, although the program has never written them
// with a limit.
func TestMaxTargetsEmptiedByHand(t *testing.T) {
	for _, mode := range driftModes("repair") {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			l.config.LoadBalancer.Drift = mode
			l.restart()
			nodes, web := l.nodes("a", "b"), serviceWith(nil)
			setReady(nodes)
			l.settle(web, nodes)
			l.restart()
			l.cloud.balancers.began() // another Service is compared
			cluster := l.watching(web)
			<-time.After(3 * time.Hour)
			metav1.SetMetaDataAnnotation(&web.ObjectMeta, label.AnnotationPrefix+"max-targets", "5")
			services := cluster.CoreV1().Services(web.Namespace)
			if _, err := services.Update(t.Context(), web, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour)
			l.warnings()
			l.setTargets("")
			<-time.After(time.Hour)
			want := 0
			if mode == "repair" {
				want = 2
			}
			l.targetCount(mode, want)
			if drifted := strings.Contains(l.warnings(), "LoadBalancerDrifted"); drifted == (mode == "off") {
				t.Errorf("%s: drift is reported: %t", mode, drifted)
			}
		})
	}
}
