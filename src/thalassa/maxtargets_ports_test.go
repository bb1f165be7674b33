package thalassa

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// attach is the operation that sets the targets of a target group.
const attach = "POST /v1/loadbalancer-target-groups/{id}/attachments"

// targetsOfPort returns the machines of the port's target group, sorted.
func (l *lab) targetsOfPort(port string) []string {
	l.Helper()
	return l.machines(l.groupOfPort(port).Name)
}

// groupOfPort returns the port's target group.
func (l *lab) groupOfPort(port string) iaas.VpcLoadbalancerTargetGroup {
	l.Helper()
	groups, err := l.api().ListTargetGroups(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	at := slices.IndexFunc(groups, func(group iaas.VpcLoadbalancerTargetGroup) bool {
		return group.Labels[label.ServicePort] == port
	})
	if at < 0 {
		l.Fatalf("port %s has no target group", port)
	}
	return groups[at]
}

// exclude excludes the Node of a machine from load balancers.
func (l *lab) exclude(cluster kubernetes.Interface, nodes []*corev1.Node, machine string) {
	l.Helper()
	l.change(cluster, nodeOn(nodes, machine), func(node *corev1.Node) {
		node.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
	})
}

// join adds so many ready nodes to the cluster, with machines, from this number on.
func (l *lab) join(cluster kubernetes.Interface, from, count int) {
	l.Helper()
	for i := from; i < from+count; i++ {
		if _, err := l.emulator.AddMachine(emulator.MachineSpec{Name: zonedMachine(i),
			Identity: zonedMachine(i)}); err != nil {
			l.Fatal(err)
		}
		if _, err := cluster.CoreV1().Nodes().Create(l.Context(), readyNode(zonedMachine(i)),
			metav1.CreateOptions{}); err != nil {
			l.Fatal(err)
		}
	}
}

// manyPorts are more ports than one reconciliation writes target groups.
func manyPorts() []int32 {
	ports := make([]int32, 30)
	for i := range ports {
		ports[i] = int32(80 + i) //nolint:gosec // there are few
	}
	return ports
}

// TestMaxTargetsOfManyPorts: a change of the targets of more ports than one reconciliation writes comes to an end, with
// one write for each target group, or two if it is made in steps.
func TestMaxTargetsOfManyPorts(t *testing.T) {
	for _, change := range []string{"a target is excluded", "nodes join", "the limit is lowered"} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, emulator.Config{})
			nodes, web := l.nodes("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"), service("web", manyPorts()...)
			setReady(nodes)
			if change != "the limit is lowered" {
				annotated("max-targets", "4")(web)
			}
			l.settle(web, nodes)
			before := l.targetsOfPort("80")
			annotated("max-targets", "4")(web)
			cluster := l.watching(web)
			l.emulator.ResetCounters()
			switch change {
			case "a target is excluded":
				l.exclude(cluster, nodes, before[0])
			case "nodes join":
				l.join(cluster, 0, 20)
			}
			<-time.After(time.Hour)
			l.targetCount(change, 4)
			if writes := len(l.writes()); writes < len(web.Spec.Ports) || writes > 2*len(web.Spec.Ports) {
				t.Errorf("%s: %d writes for %d ports", change, writes, len(web.Spec.Ports))
			}
			l.emulator.ResetCounters()
			<-time.After(tier.Pick(time.Hour, 5*time.Hour))
			if writes := l.writes(); len(writes) > 0 {
				t.Errorf("%s: %d writes in the next hours", change, len(writes))
			}
		})
	}
}

// TestMaxTargetsAfterAFailedWrite: a target group whose write failed gets its targets by another write. Those of the
// other port stay as they are.
func TestMaxTargetsAfterAFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a", "b", "c", "d", "e", "f"), serviceWith(annotated("max-targets", "4"))
		setReady(nodes)
		l.settle(web, nodes)
		before := l.targetCount("before", 4)
		cluster := l.watching(web)
		<-time.After(time.Hour)
		if _, err := l.emulator.Inject(fault.Rule{Operation: attach, Skip: 1, Count: 1,
			Effect: fault.Effect{Kind: fault.Refuse, Status: http.StatusBadRequest}}); err != nil {
			t.Fatal(err)
		}
		l.emulator.ResetCounters()
		for i := 0; slices.Equal(l.targetsOfPort("80"), before); i++ { // until a node takes a place
			l.join(cluster, i, 1)
			<-time.After(3 * time.Second)
		}
		<-time.After(time.Hour)
		l.targetCount("after", 4)
		if writes := len(l.writes()); writes > 3 {
			t.Errorf("%d writes, want one for each port, and one again", writes)
		}
	})
}

// TestMaxTargetsAfterRestartOfOnePort: a process that has just begun, and writes the targets of one port, does not know
// how long the cloud has had those of the other one.
func TestMaxTargetsAfterRestartOfOnePort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a"), serviceWith(annotated("max-targets", "1"))
		l.settle(web, nodes)
		first := l.targetCount("one node", 1)
		<-time.After(time.Minute)
		nodes = append(nodes, l.preferredNode(web, first[0]))
		l.settle(web, nodes)
		both := l.targetCount("the other one joins", 2)
		l.restart()
		l.setTargets("443")
		l.settle(web, nodes)
		l.settle(web, nodes)
		if now := l.targetsOfPort("80"); !slices.Equal(now, both) {
			t.Errorf("%v became %v", both, now)
		}
		<-time.After(time.Minute)
		l.settle(web, nodes)
		l.targetCount("later", 1)
	})
}

// betweenStepsOfMany returns the targets of a Service at most of which have just been replaced: the old ones that stay
// while health checks have not accepted the new ones, and the new ones.
func (l *lab) betweenStepsOfMany() (cluster kubernetes.Interface, stay, fresh []string) {
	l.Helper()
	nodes, web := l.nodes("a", "b", "c", "d", "e", "f", "g", "h"), slowHealthChecks("8")
	setReady(nodes)
	l.settle(web, nodes)
	old := l.targetCount("before", 8)
	cluster = l.watching(web)
	<-time.After(time.Hour)
	l.join(cluster, 0, 100)
	<-time.After(time.Minute)
	for _, one := range l.targetsOfPort("443") {
		if slices.Contains(old, one) {
			stay = append(stay, one)
		} else {
			fresh = append(fresh, one)
		}
	}
	if len(stay) < 2 || len(fresh) < 2 {
		l.Fatalf("of %v, %v stay beside %v", old, stay, fresh)
	}
	return cluster, stay, fresh
}

// TestMaxTargetsHeldBesideOtherChanges: the targets that health checks have accepted stay until they have accepted the
// others, also if the set is changed in this time.
func TestMaxTargetsHeldBesideOtherChanges(t *testing.T) {
	for _, change := range []string{"none", "a machine is deleted", "one is added by hand", "a write has no answer"} {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			cluster, stay, fresh := l.betweenStepsOfMany()
			switch change {
			case "a machine is deleted":
				if err := l.emulator.DeleteMachine(fresh[0]); err != nil {
					t.Fatal(err)
				}
			case "one is added by hand":
				l.setTargets("", slices.Concat(stay, fresh, []string{zonedMachine(99)})...)
			case "a write has no answer":
				if _, err := l.emulator.Inject(fault.Rule{Operation: attach, Count: 8,
					Effect: fault.Effect{Kind: fault.Reset}}); err != nil {
					t.Fatal(err)
				}
				l.exclude(cluster, []*corev1.Node{readyNode(fresh[0])}, fresh[0])
			}
			for minute := 2; minute < 11; minute++ {
				if now := l.targetsOfPort("443"); !slices.Contains(now, stay[0]) || !slices.Contains(now, stay[1]) {
					t.Errorf("%s: after %d minutes %v has not all of %v", change, minute, now, stay)
				}
				<-time.After(time.Minute)
			}
			<-time.After(time.Hour)
			l.targetCount(change, 8)
		})
	}
}

// TestMaxTargetsInvalidAndNewPort: an invalid annotation removes no targets, also if the first write of a new port
// fails.
func TestMaxTargetsInvalidAndNewPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		l.config.LoadBalancer.MaxTargets = 2
		l.restart()
		nodes, web := l.nodes("a", "b", "c", "d", "e"), serviceWith(annotated("max-targets", "5"))
		setReady(nodes)
		l.settle(web, nodes)
		l.targetCount("before", 5)
		<-time.After(time.Hour)
		annotated("max-targets", "five")(web)
		web.Spec.Ports = append(web.Spec.Ports, service("web", 8080).Spec.Ports...)
		if _, err := l.emulator.Inject(fault.Rule{Operation: attach, Count: 1,
			Effect: fault.Effect{Kind: fault.Refuse, Status: http.StatusBadRequest}}); err != nil {
			t.Fatal(err)
		}
		l.watching(web)
		<-time.After(time.Hour)
		for port, want := range map[string]int{"80": 5, "443": 5, "8080": 2} {
			if now := l.targetsOfPort(port); len(now) != want {
				t.Errorf("port %s has the targets %v, want %d", port, now, want)
			}
		}
	})
}

// TestMaxTargetsOnePortByHand: targets of one port that somebody else sets do not come to the other port.
func TestMaxTargetsOnePortByHand(t *testing.T) {
	for _, slow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			nodes, web := l.nodes("a", "b", "c", "d", "e"), serviceWith(annotated("max-targets", "2"))
			if slow { // 659 s
				annotated("health-check-interval", "60", "health-check-timeout", "59", "health-check-up-threshold",
					"10")(web)
			}
			setReady(nodes[:3])
			l.settle(web, nodes)
			before := l.targetCount("before", 2)
			l.watching(web)
			<-time.After(time.Minute)
			l.setTargets("443", machinesWithout(nodes, before)...)
			for range 20 {
				<-time.After(3 * time.Minute)
				if now := l.targetsOfPort("80"); !slices.Equal(now, before) {
					t.Errorf("slow %t: %v became %v", slow, before, now)
				}
			}
		})
	}
}
