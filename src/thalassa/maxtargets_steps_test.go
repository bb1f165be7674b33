package thalassa

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

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

// preferredNode makes a machine whose node takes the place of the only target of a Service, and returns the node.
func (l *lab) preferredNode(web *corev1.Service, only string) *corev1.Node {
	l.Helper()
	machine := ""
	for i := 0; machine == ""; i++ {
		both := cloud.Targets{Identities: slices.Sorted(slices.Values([]string{only, zonedMachine(i)})),
			Names: []string{"", ""}}
		if both.Subset(string(web.UID), 1, nil, nil).Identities[0] != only {
			machine = zonedMachine(i)
		}
	}
	if _, err := l.emulator.AddMachine(emulator.MachineSpec{Name: "preferred", Identity: machine}); err != nil {
		l.Fatal(err)
	}
	return readyNode(machine)
}

// TestMaxTargetsWaitsForHealthChecks: the target that is replaced stays as long as health checks may need to accept the
// new one.
func TestMaxTargetsWaitsForHealthChecks(t *testing.T) {
	for _, tt := range []struct {
		interval, timeout, threshold string
		accepts                      time.Duration
	}{
		{"5", "3", "1", 8 * time.Second},
		{"30", "5", "3", 95 * time.Second},
		{"60", "59", "10", 659 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			nodes, web := l.nodes("a"), serviceWith(annotated("max-targets", "1", "health-check-interval", tt.interval,
				"health-check-timeout", tt.timeout, "health-check-up-threshold", tt.threshold))
			l.settle(web, nodes)
			first := l.targetCount("one node", 1)
			<-time.After(time.Hour)
			nodes = append(nodes, l.preferredNode(web, first[0]))
			l.settle(web, nodes)
			<-time.After(tt.accepts - time.Second)
			l.settle(web, nodes)
			l.targetCount("a second before it is accepted", 2)
			<-time.After(2 * time.Second)
			l.settle(web, nodes)
			l.targetCount("when it is accepted", 1)
		})
	}
}

// TestMaxTargetsNotAcceptedYet: the old target stays until health checks may have accepted the new one, also if the
// process that added that one has ended, or if there was no limit then.
func TestMaxTargetsNotAcceptedYet(t *testing.T) {
	for name, tt := range map[string]struct {
		limit string // when the new one joins
		event func(l *lab, web *corev1.Service)
	}{
		"the process is restarted": {"1", func(l *lab, _ *corev1.Service) { l.restart() }},
		"a limit is set":           {"0", func(_ *lab, web *corev1.Service) { annotated("max-targets", "1")(web) }},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			nodes, web := l.nodes("a"), slowHealthChecks(tt.limit)
			l.settle(web, nodes)
			first := l.targetCount("one node", 1)
			<-time.After(3 * time.Hour)
			nodes = append(nodes, l.preferredNode(web, first[0]))
			l.settle(web, nodes)
			both := l.targetCount("the other one joins", 2)
			<-time.After(time.Second)
			tt.event(l, web)
			l.settle(web, nodes)
			if now := l.targetCount(name, 2); !slices.Equal(now, both) {
				t.Errorf("%s: %v became %v", name, both, now)
			}
			<-time.After(time.Hour)
			l.settle(web, nodes)
			if last := l.targetCount("later", 1); slices.Equal(last, first) {
				t.Errorf("%s: %v is what was there before", name, last)
			}
		})
	}
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

// TestMaxTargetsStepsWhileRefused: the second step of a replacement comes also while something else of the Service is
// refused, and is no drift.
func TestMaxTargetsStepsWhileRefused(t *testing.T) {
	for _, mode := range []string{"repair", "report", "off"} {
		synctest.Test(t, func(t *testing.T) {
			l := newFeatureLab(t)
			l.config.LoadBalancer.Drift = mode
			l.restart()
			nodes, web := l.nodes("a"), serviceWith(annotated("max-targets", "1"))
			l.settle(web, nodes)
			first := l.targetCount("one node", 1)
			annotated("internal", "nonsense")(web)
			web.Spec.Ports = append(web.Spec.Ports, service("web", 8080).Spec.Ports...)
			cluster := l.watching(web)
			<-time.After(time.Hour)
			l.warnings()
			if _, err := cluster.CoreV1().Nodes().Create(t.Context(), l.preferredNode(web, first[0]),
				metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour)
			if last := l.targetCount(mode, 1); slices.Equal(last, first) {
				t.Errorf("%s: %v is what was there before", mode, last)
			}
			if warnings := l.warnings(); strings.Contains(warnings, "LoadBalancerDrifted") {
				t.Errorf("%s: %s", mode, warnings)
			}
		})
	}
}
