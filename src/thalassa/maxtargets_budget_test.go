package thalassa

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
)

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

// TestBudgetOfSubsets: a node that joins or leaves changes only the target groups that it is in or comes to, those that
// it has replaced leave by at most as many writes, the zones of the targets stay even, and a restart changes nothing.
func TestBudgetOfSubsets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const services, nodes = 200, 500
		changes := tierSize().subsetNodes
		large := newSubsetCluster(t, services, 1, nodes)
		defer large.run(manyWorkers)()
		<-time.After(time.Minute)
		large.within("restart-writes", large.allWrites())

		large.forget()
		for i := range changes {
			large.populateZones(nodes+i, 1)
			<-time.After(5 * time.Second)
		}
		large.retargetedSubsets(services * changes)
		large.forget()
		<-time.After(4 * untilSettled)
		large.retargetedSubsets(services * changes)
		large.evenZones()
		large.forget()
		for i := range changes {
			large.nodes.remove("node-" + zonedMachine(i))
			<-time.After(5 * time.Second)
		}
		large.retargetedSubsets(services * changes)
		large.evenZones()
	})
}

// TestBudgetOfManyJoins: as many nodes join as there are, so that each target group gets other targets.
func TestBudgetOfManyJoins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const nodes, quiet = 500, 20 * time.Second
		services := tierSize().largeSize
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
		<-time.After(4 * untilSettled)
		large.evenZones()
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
