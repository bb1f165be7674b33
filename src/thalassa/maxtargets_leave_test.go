package thalassa

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// driftModes are what loadBalancer.drift can be, or the one of these that the quick tier tries.
func driftModes(quick string) []string {
	return tier.Pick([]string{quick}, []string{"repair", "report", "off"})
}

// change changes a copy of a Node.
func (l *lab) change(cluster kubernetes.Interface, node *corev1.Node, apply func(*corev1.Node)) {
	l.Helper()
	node = node.DeepCopy()
	apply(node)
	if _, err := cluster.CoreV1().Nodes().Update(l.Context(), node, metav1.UpdateOptions{}); err != nil {
		l.Fatal(err)
	}
}

// nodeOn returns the node on a machine.
func nodeOn(nodes []*corev1.Node, machine string) *corev1.Node {
	return nodes[slices.IndexFunc(nodes, func(node *corev1.Node) bool { return machineOf(node) == machine })]
}

func notReady(node *corev1.Node) {
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
}

// TestMaxTargetsNotReadyTargetLeaves: a target that is not ready has another one's place. It leaves because of its Node
// or machine nevertheless, and that is no drift.
func TestMaxTargetsNotReadyTargetLeaves(t *testing.T) {
	leave := map[string]func(l *lab, cluster kubernetes.Interface, node *corev1.Node) error{
		"its Node is excluded": func(l *lab, cluster kubernetes.Interface, node *corev1.Node) error {
			l.change(cluster, node, func(node *corev1.Node) {
				notReady(node)
				node.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
			})
			return nil
		},
		"its Node is deleted": func(l *lab, cluster kubernetes.Interface, node *corev1.Node) error {
			return cluster.CoreV1().Nodes().Delete(l.Context(), node.Name, metav1.DeleteOptions{})
		},
		"its machine is deleted": func(l *lab, _ kubernetes.Interface, node *corev1.Node) error {
			return l.emulator.DeleteMachine(machineOf(node))
		},
	}
	for name, leaves := range leave {
		for _, mode := range driftModes("report") {
			if mode == "off" && name == "its machine is deleted" {
				continue // nobody looks before its Node changes
			}
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				nodes, cluster := l.readyFor(mode, serviceWith(annotated("max-targets", "2")), "a", "b", "c", "d", "e")
				before := l.targetCount("before", 2)
				node := nodeOn(nodes, before[0])
				l.change(cluster, node, notReady)
				<-time.After(time.Hour)
				l.join(cluster, 2000, 1) // another Node changes meanwhile
				<-time.After(time.Hour)
				l.warnings()
				if err := leaves(l, cluster, node); err != nil {
					t.Fatal(err)
				}
				<-time.After(2 * time.Hour)
				if after := l.targetCount(name, 2); slices.Contains(after, before[0]) {
					t.Errorf("%s, %s: %v became %v", name, mode, before, after)
				}
				if name != "its machine is deleted" {
					l.reported(name)
					return
				}
				l.reported(name, reasonLeftOut)
			})
		}
	}
}

// TestMaxTargetsMachineDeletedBetweenSteps: the cloud removes a target whose machine is deleted while new targets are
// being checked. The other old ones leave afterwards, and that is no drift.
func TestMaxTargetsMachineDeletedBetweenSteps(t *testing.T) {
	for _, mode := range driftModes("repair") {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			l.config.LoadBalancer.Drift = mode
			l.restart()
			_, stay, _ := l.betweenStepsOfMany()
			l.warnings()
			if err := l.emulator.DeleteMachine(stay[0]); err != nil {
				t.Fatal(err)
			}
			<-time.After(2 * time.Hour)
			l.targetCount(mode, 8)
			if events := l.warnings(); strings.Contains(events, "LoadBalancerDrifted") {
				t.Errorf("%s: the events are %q", mode, events)
			}
		})
	}
}

// readyFor returns ready nodes, and the cluster in which the Service has had its load balancer for an hour.
func (l *lab) readyFor(mode string, web *corev1.Service, names ...string) (nodes []*corev1.Node,
	cluster kubernetes.Interface) {
	l.Helper()
	l.config.LoadBalancer.Drift = mode
	l.restart()
	nodes = l.nodes(names...)
	setReady(nodes)
	l.settle(web, nodes)
	cluster = l.watching(web)
	<-time.After(time.Hour)
	return nodes, cluster
}

// fourNotReady returns five nodes, of which the first four are the targets that a limit of four chooses. All four are
// not ready, so that the fifth is a target, too.
func (l *lab) fourNotReady(mode string) (cluster kubernetes.Interface, order []*corev1.Node) {
	l.Helper()
	web := slowHealthChecks("4")
	nodes, cluster := l.readyFor(mode, web, "a", "b", "c", "d", "e")
	order = preferredFirst(nodes, web)
	l.exclude(cluster, nodes, machineOf(order[3]))
	<-time.After(time.Hour)
	for _, node := range order[:3] {
		l.change(cluster, node, notReady)
	}
	<-time.After(time.Minute)
	l.change(cluster, order[3], func(*corev1.Node) {})
	<-time.After(time.Minute)
	l.change(cluster, order[3], notReady)
	<-time.After(3 * time.Hour)
	l.targetCount("four are not ready", 5)
	l.warnings()
	return cluster, order
}

// TestMaxTargetsPostponedForHours: a target that stays because new ones are not ready leaves when one is, however long
// that takes.
func TestMaxTargetsPostponedForHours(t *testing.T) {
	for _, mode := range driftModes("off") {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			cluster, order := l.fourNotReady(mode)
			l.change(cluster, order[0], func(*corev1.Node) {})
			<-time.After(2 * time.Hour)
			l.targetCount(mode, 4)
			l.reported(mode)
		})
	}
}
