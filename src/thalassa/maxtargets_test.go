package thalassa

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// targetCount wants so many targets of all target groups, which are the same ones, and returns them.
func (l *lab) targetCount(what string, want int) []string {
	l.Helper()
	groups, err := l.api().ListTargetGroups(l.Context(), nil)
	if err != nil || len(groups) == 0 {
		l.Fatalf("%s: %d target groups, error %v", what, len(groups), err)
	}
	machines := l.machines(groups[0].Name)
	for _, group := range groups {
		if others := l.machines(group.Name); len(others) != want || !slices.Equal(others, machines) {
			l.Errorf("%s: the targets are %v and %v, want %d", what, machines, others, want)
		}
	}
	return machines
}

// TestMaxTargets of the cluster and of a Service: how many targets a load balancer has.
func TestMaxTargets(t *testing.T) {
	for name, tt := range map[string]struct {
		cluster int
		apply   func(*corev1.Service)
		want    int
	}{
		"by default":               {0, annotated(), 5},
		"of the cluster":           {2, annotated(), 2},
		"of the Service":           {2, annotated("max-targets", "3"), 3},
		"more than there are":      {2, annotated("max-targets", "10000"), 5},
		"no limit for the Service": {2, annotated("max-targets", "0"), 5},
		"invalid":                  {2, annotated("max-targets", "many"), 2},
		"invalid, and no limit":    {0, annotated("max-targets", "many"), 5},
		"policy Local":             {2, func(s *corev1.Service) { local(s, true) }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				l.config.LoadBalancer.MaxTargets = tt.cluster
				l.restart()
				l.settle(serviceWith(tt.apply), l.nodes("a", "b", "c", "d", "e"))
				l.targetCount(name, tt.want)
			})
		})
	}
}

// TestMaxTargetsOfTakenOverLoadBalancer: the limit of the cluster applies, although defaults of annotations do not.
func TestMaxTargetsOfTakenOverLoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a", "b", "c"), service("web", 80)
		l.plant(legacyOf(web, nil), nodes)
		l.settle(web, nodes)
		l.targetCount("without a limit", 3)
		l.config.LoadBalancer.MaxTargets = 2
		l.restart()
		l.settle(web, nodes)
		l.targetCount("with a limit", 2)
	})
}

// TestMaxTargetsChanges: a new limit keeps the targets that stay, and one that cannot be read removes none. Their
// number does not stay low after machines were missing for a while.
func TestMaxTargetsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		l.config.LoadBalancer.MaxTargets = 2
		l.restart()
		nodes, web := l.nodes("a", "b", "c", "d", "e"), service("web", 80)
		l.settle(web, nodes)
		two := l.targetCount("two", 2)
		annotated("max-targets", "3")(web)
		l.settle(web, nodes)
		three := l.targetCount("three", 3)
		if !slices.Contains(three, two[0]) || !slices.Contains(three, two[1]) {
			t.Errorf("%v became %v", two, three)
		}
		for _, pair := range [][]string{{"max-targets", "-1"}, {"max-target", "1"}} {
			l.warnings()
			annotated(pair...)(web)
			l.settle(web, nodes)
			if now := l.targetCount("invalid", 3); !slices.Equal(now, three) {
				t.Errorf("%v became %v because of an invalid annotation", three, now)
			}
			l.reported(pair[0], reasonAnnotation, "loadbalancer.k8s.thalassa.cloud/"+pair[0])
			delete(web.Annotations, "loadbalancer.k8s.thalassa.cloud/"+pair[0])
		}
		annotated("max-targets", "many")(web)
		l.settle(web, nodes[:1])
		l.targetCount("one node", 1)
		l.settle(web, nodes)
		l.targetCount("the nodes are back", 2)
	})
}

// TestMaxTargetsOfExcludedNodes: other nodes take the places of nodes that may receive no traffic.
func TestMaxTargetsOfExcludedNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a", "b", "c", "d", "e"), serviceWith(annotated("max-targets", "2"))
		l.settle(web, nodes)
		before := l.targetCount("before", 2)
		for _, node := range nodes {
			if node.Spec.ProviderID == providerid.Of(before[0]) || node.Spec.ProviderID == providerid.Of(before[1]) {
				node.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
			}
		}
		l.settle(web, nodes)
		if after := l.targetCount("without the excluded ones", 2); slices.Contains(after, before[0]) ||
			slices.Contains(after, before[1]) {
			t.Errorf("%v became %v although these nodes are excluded", before, after)
		}
	})
}

// TestMaxTargetsWithPolicyLocal: an event says that the annotation has no effect.
func TestMaxTargetsWithPolicyLocal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a", "b", "c"), serviceWith(annotated("max-targets", "2"))
		l.settle(web, nodes)
		l.reported("policy Cluster")
		local(web, true)
		l.settle(web, nodes)
		l.targetCount("policy Local", 3)
		l.reported("policy Local", reasonUnsupported, "max-targets has no effect while spec.externalTrafficPolicy is "+
			"Local")
	})
}

// TestMaxTargetsReplacesMachines: the place of a machine that does not exist any more is taken, by one write for
// each port, also while its Node exists.
func TestMaxTargetsReplacesMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a", "b", "c", "d"), serviceWith(annotated("max-targets", "2"))
		l.settle(web, nodes)
		before := l.targetCount("before", 2)
		if err := l.emulator.DeleteMachine(before[0]); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * driftPeriod)
		if err := l.cloud.inventory.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.emulator.ResetCounters()
		l.settle(web, nodes)
		after := l.targetCount("after", 2)
		if !slices.Contains(after, before[1]) || slices.Contains(after, before[0]) {
			t.Errorf("%v became %v, want that only %s is replaced", before, after, before[0])
		}
		if writes := l.writes(); len(writes) != 2 {
			t.Errorf("the writes are %v, want one for each port", writes)
		}
	})
}

// TestMaxTargetsDrift: targets that were replaced by hand are drift, as without a limit.
func TestMaxTargetsDrift(t *testing.T) {
	for _, mode := range []string{"repair", "report"} {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			l.config.LoadBalancer.Drift = mode
			l.restart()
			nodes, web := l.nodes("a", "b", "c", "d", "e"), serviceWith(annotated("max-targets", "2"))
			for _, node := range nodes {
				node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			}
			l.settle(web, nodes)
			before := l.targetCount("before", 2)
			l.watching(web)
			<-time.After(time.Minute)
			var others []string
			for _, node := range nodes {
				if machine, _ := identify(node); !slices.Contains(before, machine) && len(others) < 2 {
					others = append(others, machine)
				}
			}
			slices.Sort(others)
			l.warnings()
			l.setTargets(others...)
			<-time.After(2*driftPeriod + time.Minute)
			want := map[string][]string{"repair": before, "report": others}[mode]
			if after := l.targetCount(mode, 2); !slices.Equal(after, want) {
				t.Errorf("%s: %v became %v by hand, and is %v", mode, before, others, after)
			}
			l.reported(mode, "LoadBalancerDrifted", "2 machines become")
		})
	}
}

// setTargets replaces the targets of all target groups, as somebody else does.
func (l *lab) setTargets(machines ...string) {
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
		batch.TargetGroupID = group.Identity
		if err := l.api().SetTargetGroupServerAttachments(l.Context(), batch); err != nil {
			l.Fatal(err)
		}
	}
}

// TestMaxTargetsAfterRestart: a process that begins between the two steps of a replacement does not make the second one
// at once, because it does not know how long the cloud has had the new targets.
func TestMaxTargetsAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a"), serviceWith(annotated("max-targets", "1"))
		l.settle(web, nodes)
		first := l.targetCount("one node", 1)
		<-time.After(time.Minute)
		preferred := ""
		for i := 0; preferred == ""; i++ {
			both := cloud.Targets{Identities: slices.Sorted(slices.Values([]string{first[0], zonedMachine(i)})),
				Names: []string{"", ""}}
			if both.Subset(string(web.UID), 1, nil, false).Identities[0] != first[0] {
				preferred = zonedMachine(i)
			}
		}
		if _, err := l.emulator.AddMachine(emulator.MachineSpec{Name: "b", Identity: preferred}); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, readyNode(preferred))
		l.settle(web, nodes)
		both := l.targetCount("the other one joins", 2)
		l.restart()
		l.settle(web, nodes)
		if now := l.targetCount("after a restart", 2); !slices.Equal(now, both) {
			t.Errorf("%v became %v", both, now)
		}
		<-time.After(time.Minute)
		l.settle(web, nodes)
		if last := l.targetCount("later", 1); slices.Equal(last, first) {
			t.Errorf("%v is what was there before", last)
		}
	})
}

// TestMaxTargetsWithRefusedWrites: a write that the cloud refuses again and again does not keep targets that have lost
// their places.
func TestMaxTargetsWithRefusedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes := l.nodes("a", "b", "c", "d")
		web := serviceWith(annotated("max-targets", "4", "health-check-interval", "60", "health-check-up-threshold",
			"6"))
		l.settle(web, nodes)
		cluster := l.watching(web)
		<-time.After(time.Hour)
		l.targetCount("four", 4)
		if _, err := l.emulator.Inject(fault.Rule{Operation: "PUT /v1/loadbalancers*", Effect: fault.Effect{
			Kind: fault.Refuse, Status: http.StatusBadRequest}}); err != nil {
			t.Fatal(err)
		}
		web.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
		for _, change := range [][]string{{"idle-connection-timeout", "120"}, {"max-targets", "2"}} {
			annotated(change...)(web)
			services := cluster.CoreV1().Services(web.Namespace)
			if _, err := services.Update(t.Context(), web.DeepCopy(), metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour)
		}
		l.targetCount("two", 2)
	})
}

// zonedMachine is the identity of a machine that populateZones adds. The budget is about an average, so that the same
// machines are used each time.
func zonedMachine(number int) string { return fmt.Sprintf("vm-%020d", number) }

// populateZones adds nodes with the numbers from first on, in three zones in turn.
func (t *servicesCluster) populateZones(first, count int) {
	t.Helper()
	for i := first; i < first+count; i++ {
		id, err := t.emulator.AddMachine(emulator.MachineSpec{Name: fmt.Sprintf("node-%d", i),
			Identity: zonedMachine(i), Subnet: emulator.DefaultSubnet})
		if err != nil {
			t.Fatal(err)
		}
		node := readyNode(id)
		node.Labels = map[string]string{corev1.LabelTopologyZone: []string{"nl-01a", "nl-01b", "nl-01c"}[i%3]}
		t.nodes.put(node)
	}
}

// newSubsetCluster is a cluster whose load balancers have at most 25 targets, with nodes in zones, as settle leaves it.
func newSubsetCluster(t *testing.T, services, ports, nodes int) *servicesCluster {
	t.Helper()
	l := newLab(t, emulator.Config{})
	l.config.LoadBalancer.MaxTargets = 25
	l.config.API.RequestsPerSecond, l.config.API.Burst = 100_000, 100_000
	l.restart()
	large := newServicesCluster(l)
	large.populateZones(0, nodes)
	large.order(services, ports)
	large.settle()
	return large
}

// TestBudgetOfSubsets: a node that joins or leaves changes only the target groups that it is in or comes to, the zones
// of the targets stay even, and a restart changes nothing.
func TestBudgetOfSubsets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const services, nodes, changes = 200, 500, subsetNodes
		large := newSubsetCluster(t, services, 1, nodes)
		defer large.run(manyWorkers)()
		<-time.After(time.Minute)
		large.within("restart-writes", large.allWrites())

		large.forget()
		for i := range changes {
			large.populateZones(nodes+i, 1)
			<-time.After(5 * time.Second)
		}
		<-time.After(time.Minute) // a target is not replaced within the time of a health check after another one
		large.retargetedSubsets(services * changes)
		large.forget()
		for i := range changes {
			large.nodes.remove("node-" + zonedMachine(i))
			<-time.After(5 * time.Second)
		}
		<-time.After(time.Minute)
		large.retargetedSubsets(services * changes)
		large.evenZones()
	})
}

// TestBudgetOfManyJoins: as many nodes join as there are, so that each target group gets other targets.
func TestBudgetOfManyJoins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const services, nodes, quiet = largeSize, 500, 20 * time.Second
		large := newSubsetCluster(t, services, 2, nodes)
		large.config.API = cloudconfig.Default().API
		large.restart()
		defer large.run(manyWorkers)()
		<-time.After(time.Minute)

		large.forget()
		began := time.Now()
		large.populateZones(nodes, nodes)
		written, last := 0, began
		for time.Since(last) < quiet {
			<-time.After(time.Second)
			if _, writes := large.counted(); writes > written {
				written, last = writes, time.Now()
			}
		}
		if written < 2*services {
			t.Errorf("%d writes, want one for each of %d target groups", written, 2*services)
		}
		t.Logf("%d writes in %s", written, last.Sub(began))
		large.within("subset-joins-seconds", last.Sub(began).Seconds())
		large.evenZones()
	})
}

// TestMaxTargetsAddsBeforeItRemoves: if almost all targets change, a quarter of them stays until the cloud has checked
// the new ones.
func TestMaxTargetsAddsBeforeItRemoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const services, nodes, joining = 20, 25, 475
		large := newSubsetCluster(t, services, 1, nodes)
		defer large.run(manyWorkers)()
		<-time.After(time.Minute)

		large.forget()
		large.populateZones(nodes, joining)
		<-time.After(7 * time.Second) // a health check accepts a machine within 8 s
		large.eachGroup(func(name string, targets []int) {
			stay := 0
			for _, number := range targets {
				if number < nodes {
					stay++
				}
			}
			if stay != 7 || len(targets) < 25 {
				t.Errorf("%d of 25 targets of %s stay, which has %d; want 7, and 25 or more", stay, name, len(targets))
			}
		})
		<-time.After(time.Minute)
		large.evenZones()
		if _, writes := large.counted(); writes != 2*services {
			t.Errorf("%d writes, want 2 for each of %d target groups", writes, services)
		}
	})
}

// retargetedSubsets checks the writes of target groups, of which there were so many chances.
func (t *servicesCluster) retargetedSubsets(chances int) {
	t.Helper()
	_, writes := t.counted()
	attached := t.emulator.Counters()["POST /v1/loadbalancer-target-groups/{id}/attachments"]
	if writes != attached || attached == 0 {
		t.Errorf("%d writes, of which %d set targets, want no others", writes, attached)
	}
	t.within("subset-nodes-writes", 1000*float64(attached)/float64(chances))
}

// evenZones checks how many targets each target group has, and in which zones.
func (t *servicesCluster) evenZones() {
	t.Helper()
	t.eachGroup(func(name string, targets []int) {
		zones := make([]int, 3)
		for _, number := range targets {
			zones[number%3]++
		}
		if slices.Min(zones) != 8 || slices.Max(zones) != 9 || len(targets) != 25 {
			t.Errorf("target group %s has %v targets in the zones, want 8, 8 and 9", name, zones)
		}
	})
}

// eachGroup calls check with the numbers of the targets of each target group.
func (t *servicesCluster) eachGroup(check func(name string, targets []int)) {
	t.Helper()
	groups, err := t.api().ListTargetGroups(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		var targets []int
		for _, attachment := range group.LoadbalancerTargetGroupAttachments {
			number, err := strconv.Atoi(strings.TrimPrefix(attachment.VirtualMachineInstance.Identity, "vm-"))
			if err != nil {
				t.Fatal(err)
			}
			targets = append(targets, number)
		}
		check(group.Name, targets)
	}
}
