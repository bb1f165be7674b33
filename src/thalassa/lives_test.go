package thalassa

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/faulttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

const (
	// lifeSteps are the things that people do in one life.
	lifeSteps = 25
	// lifeDisturbances are the fault tests of one life in addition to the one without faults.
	lifeDisturbances = 3
	// longestPause is between two of them; the shortest is none.
	longestPause = 40 * time.Second
)

// TestLives lets people do random things with two Services and their nodes, while calls to the cloud and to the API
// server fail and processes change at random, and another cluster in the VPC has a random life of its own. Then both
// clusters have what their Services ask for, and nothing else; at no moment was a target group without machines, or the
// port closed that one Service has all the time. Caches of processes may be behind. TRIAL_SEED, TRIAL_LIVES and
// TRIAL_TIME say which lives.
func TestLives(t *testing.T) {
	t.Parallel()
	for seed := range faulttest.Seeds(t, tierSize().someLives) {
		faulttest.Chaos(t, life{seed: seed}.scenario(), lifeDisturbances)
	}
}

// TestLivesThatFailed repeats the lives that once found a defect. What a seed means changes with what is drawn, so each
// defect also has a test of its own, which needs no seed: see TestTypeChangesBackWhileItIsRemoved (7000235, 9100004),
// TestConditionsOfAServiceThatNeverHadTheFinalizer (7000079), TestTypeChangesBeforeAWrite (150000881) and
// TestSelectorWithoutService (2633990250) in the package service, and TestFirstListLacksIt (180000902). The first three
// keep the draw of their time, see life.first. In 110000746 a list from before a write hides that another write is
// needed, until the next check for drift. In 1578970011 a list lacks a target group whose deletion the cloud has
// accepted, and the finalizer is removed before the group is gone, which is no leak. 31001392 is
// TestFirstListsLackAGroupInUse.
func TestLivesThatFailed(t *testing.T) {
	t.Parallel()
	disturbances := tier.Pick(1, lifeDisturbances)
	for _, seed := range []uint64{7000079, 7000235, 9100004}[:min(3, tierSize().someLives)] {
		faulttest.Chaos(t, life{seed: seed, first: true}.scenario(), disturbances)
	}
	others := []uint64{31001392, 110000746, 150000881, 180000902, 1578970011, 2633990250}
	for _, seed := range others[:min(len(others), tierSize().someLives)] {
		faulttest.Chaos(t, life{seed: seed}.scenario(), disturbances)
	}
}

// clusterKey is one of the two clusters in a cloud.
type clusterKey struct {
	cloud        *emulator.Emulator
	otherCluster bool
}

// life is what happens in two clusters, which comes from a seed.
type life struct {
	seed uint64
	// first has what it had when the lives of TestLivesThatFailed did fail: fewer kinds of events, and three mixtures
	// of disturbances.
	first bool
}

// nodesOf are the machines of a cluster. The first one's node is always there.
func nodesOf(ours bool) []string {
	if ours {
		return []string{"a", "b", "c", "d"}
	}
	return []string{"w", "x", "y", "z"}
}

func (f life) scenario() faulttest.Scenario {
	both := story{together: true}
	var clusters sync.Map // of each fault test's cloud, by cloud and client
	machines := slices.Concat(nodesOf(true), nodesOf(false))
	var skip uint64
	if !f.first {
		skip = f.seed * lifeDisturbances
		for _, name := range slices.Clone(machines) {
			machines = append(machines, spareOf(name))
		}
	}
	return faulttest.Scenario{
		Name: fmt.Sprintf("life-%d", f.seed), Environment: fmt.Sprintf("TRIAL_SEED=%d", f.seed), Wayward: true,
		Skip: skip, Overlap: !f.first, Middleware: openapitest.Sampled,
		Cloud: emulator.Config{Seed: both.seed(), Delays: emulator.Delays{
			LoadbalancerCreate: 2 * time.Second, LoadbalancerDelete: time.Second, LoadbalancerLinger: 30 * time.Second,
		}},
		Foreign: func(t *testing.T, cloud *emulator.Emulator) {
			t.Helper()
			labIn(t, cloud).seedVPC(machines...)
		},
		Begin: func(t *testing.T, cloud *emulator.Emulator) faulttest.Start {
			t.Helper()
			here := labIn(t, cloud).random(f, f.seed, nodesOf(true))
			clusters.Store(clusterKey{cloud, false}, here)
			return here.start
		},
		ConcurrentActor: &faulttest.ConcurrentActor{Subject: nextCluster,
			Begin: func(t *testing.T, cloud *emulator.Emulator) faulttest.Start {
				t.Helper()
				there := otherCluster(t, cloud).random(f, ^f.seed, nodesOf(false))
				clusters.Store(clusterKey{cloud, true}, there)
				return there.start
			}},
		Check: func(t *testing.T, cloud *emulator.Emulator) {
			t.Helper()
			for _, otherCluster := range []bool{false, true} {
				found, _ := clusters.Load(clusterKey{cloud, otherCluster})
				one, _ := found.(*testCluster)
				if diff := gocmp.Diff(wanted(one.cluster), one.holdings()); diff != "" {
					t.Errorf("cluster %s has (-want +got):\n%s", one.config.Cluster, diff)
				}
			}
		},
		Always: alwaysServing,
	}
}

// alwaysServing is what holds in every moment of a life.
func alwaysServing(was, is emulator.State) error {
	had := map[string]int{}
	for _, group := range was.TargetGroups {
		had[group.Identity] = len(group.Machines)
	}
	for _, group := range is.TargetGroups {
		if before := had[group.Identity]; before > 0 && len(group.Machines) == 0 {
			return fmt.Errorf("target group %s lost all its %d machines", group.Name, before)
		}
	}
	before, now := openOnWeb(was), openOnWeb(is)
	for cluster := range before {
		if !now[cluster] {
			return fmt.Errorf("port 80 of Service web of cluster %s is closed", cluster)
		}
	}
	return nil
}

// openOnWeb are the clusters whose Service web has port 80 open.
func openOnWeb(state emulator.State) map[string]bool {
	open := map[string]bool{}
	for _, balancer := range state.LoadBalancers {
		for _, listener := range balancer.Listeners {
			if cluster := balancer.Labels[label.Cluster]; listener.Port == 80 &&
				balancer.Labels[label.ServiceName] == "web" &&
				cluster != "" {
				open[cluster] = true
			}
		}
	}
	return open
}

// wanted is what the cloud should have for a cluster, in the words of holdings. It is computed from the objects as a
// reader of the Kubernetes documentation would.
func wanted(c *cluster.Cluster) []string {
	var lines []string
	for _, service := range c.Services() {
		if service.Spec.Type != corev1.ServiceTypeLoadBalancer || ofOthers(service) {
			continue
		}
		var names []string
		machines := machinesOf(c)
		for _, node := range c.Nodes() {
			_, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]
			_, selects := service.Annotations[label.AnnotationPrefix+nameNodeSelector]
			if _, pooled := node.Labels[poolLabel]; selects && !pooled {
				continue
			}
			if !excluded && (service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal ||
				hasEndpoint(c, service, node)) {
				names = append(names, machines[node.Name])
			}
		}
		slices.Sort(names)
		who := ""
		if service.Annotations[label.AnnotationPrefix+"acl-allowed-sources"] != "" {
			who = " for " + drawnSources
		}
		for _, port := range service.Spec.Ports {
			lines = append(lines, fmt.Sprintf("%d/%s to %d on %s%s", port.Port, strings.ToLower(string(port.Protocol)),
				port.NodePort, strings.Join(names, " "), who))
		}
		if service.Annotations[label.AnnotationPrefix+"create-security-group"] != "" {
			lines = append(lines, "a security group for "+service.Name)
		}
	}
	slices.Sort(lines)
	return lines
}

// hasEndpoint reports whether a Service has an endpoint on a node.
func hasEndpoint(c *cluster.Cluster, service *corev1.Service, node *corev1.Node) bool {
	return slices.ContainsFunc(c.EndpointSlices(), func(slice *discoveryv1.EndpointSlice) bool {
		return slice.Labels[discoveryv1.LabelServiceName] == service.Name && slices.ContainsFunc(slice.Endpoints,
			func(one discoveryv1.Endpoint) bool {
				return one.NodeName != nil && *one.NodeName == node.Name
			})
	})
}

// random is a cluster with one node and the endpoints of two Services there, in which people do random things.
func (l *lab) random(f life, seed uint64, nodes []string) *testCluster {
	l.Helper()
	if !f.first {
		l.config.LoadBalancer.Class = ourClass
	}
	first := known(nodes[0])
	if !f.first {
		toggle(first[0], poolLabel)
	}
	t := l.testCluster(nil, first)
	t.put(endpointsOf(service("web"), nodes[0]))
	t.put(endpointsOf(service("api"), nodes[0]))
	drawn := draw(f, seed, nodes, l.quota())
	t.steps, t.apiFaults, t.pauses, t.lag = drawn.steps, drawn.apiFaults, drawn.pauses, drawn.lag
	if f.first {
		return t
	}
	t.met = func() error {
		if diff := gocmp.Diff(wanted(t.cluster), t.holdings()); t.uncertain.Load() && diff != "" {
			return fmt.Errorf("cluster %s has (-want +got):\n%s", t.config.Cluster, diff)
		}
		return nil
	}
	return t
}

// quota makes the cloud refuse new load balancers, and at the next call no more.
func (l *lab) quota() func() error {
	const plenty = 1000
	used := false
	return func() error {
		used = !used
		if used {
			return l.emulator.SetQuota(emulator.DefaultOrganisation, "loadbalancers", 0)
		}
		return l.emulator.SetQuota(emulator.DefaultOrganisation, "loadbalancers", plenty)
	}
}

// script is what people do in a cluster, and how its API server behaves.
type script struct {
	names     []string // of the steps between the first two, which create the Services, and the last ones
	steps     []step
	apiFaults []apiFault
	pauses    []time.Duration
	lag       time.Duration
}

// draw draws a script.
func draw(f life, seed uint64, nodes []string, quota func() error) script {
	var s script
	limited := false
	d := dice{Rand: rand.New(rand.NewPCG(seed, 0)), nodes: nodes, first: f.first, quota: func() error {
		limited = !limited
		return quota()
	}}
	s.steps = []step{creates(initial("web")), creates(initial("api"))}
	for range lifeSteps {
		name, step := d.step()
		s.names, s.steps = append(s.names, name), append(s.steps, step)
	}
	for _, name := range []string{"web", "api"} { // without any, what it had before would stay
		s.steps = append(s.steps, moves(name, nodes[:1+d.IntN(len(nodes)-1)]))
	}
	for range lifeSteps {
		s.apiFaults = append(s.apiFaults, []apiFault{accepts, accepts, accepts, refuses, losesAnswer}[d.IntN(5)])
	}
	for range s.steps {
		s.pauses = append(s.pauses, time.Duration(d.Int64N(int64(longestPause))))
	}
	if f.first {
		return s
	}
	s.lag = []time.Duration{0, 0, 50 * time.Millisecond, 3 * time.Second}[d.IntN(4)]
	s.steps = append(s.steps, func(*cluster.Cluster) error {
		if limited {
			return d.quota()
		}
		return nil
	})
	s.pauses = append(s.pauses, 0)
	return s
}
