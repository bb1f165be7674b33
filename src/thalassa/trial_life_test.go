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

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/trial"
	"github.com/thalassa-cloud/thalassa-ccm/src/service/cluster"
)

const (
	// someLives are those that TestLives tries unless it is told otherwise.
	someLives = 8
	// lifeSteps are the things that people do in one life.
	lifeSteps = 25
	// longestPause is between two of them; the shortest is none.
	longestPause = 40 * time.Second
)

// TestLives lets people do random things with two Services and their nodes, while calls to the cloud and to the API server fail and
// processes change at random, and another cluster in the VPC has a random life of its own. Then both clusters have what their Services ask for, and nothing else; at
// no moment was a target group without machines, or the port closed that one Service has all the time. TRIAL_SEED and TRIAL_LIVES say
// which lives.
func TestLives(t *testing.T) {
	const disturbances = 3
	for _, seed := range trial.Seeds(t, someLives) {
		trial.Chaos(t, life{seed}.scenario(), disturbances)
	}
}

// spot is one of the two clusters in a cloud.
type spot struct {
	cloud    *emulator.Emulator
	nextDoor bool
}

// life is what happens in two clusters, which comes from a seed.
type life struct{ seed uint64 }

// nodesOf are the machines of a cluster. The first one's node is always there.
func nodesOf(ours bool) []string {
	if ours {
		return []string{"a", "b", "c", "d"}
	}
	return []string{"w", "x", "y", "z"}
}

func (f life) scenario() trial.Scenario {
	both := story{together: true}
	var villages sync.Map // of each trial's cloud, by cloud and client
	return trial.Scenario{
		Name: fmt.Sprintf("life-%d", f.seed), Environment: fmt.Sprintf("TRIAL_SEED=%d", f.seed), Wayward: true,
		Cloud: emulator.Config{Seed: both.seed(), Delays: emulator.Delays{
			LoadbalancerCreate: 2 * time.Second, LoadbalancerDelete: time.Second, LoadbalancerLinger: 30 * time.Second,
		}},
		Foreign: func(t *testing.T, cloud *emulator.Emulator) {
			t.Helper()
			labIn(t, cloud).neighbourhood(slices.Concat(nodesOf(true), nodesOf(false))...)
		},
		Begin: func(t *testing.T, cloud *emulator.Emulator) trial.Start {
			t.Helper()
			here := labIn(t, cloud).random(f.seed, nodesOf(true))
			villages.Store(spot{cloud, false}, here)
			return here.start
		},
		Neighbour: &trial.Neighbour{Subject: nextCluster, Begin: func(t *testing.T, cloud *emulator.Emulator) trial.Start {
			t.Helper()
			there := nextDoor(t, cloud).random(^f.seed, nodesOf(false))
			villages.Store(spot{cloud, true}, there)
			return there.start
		}},
		Check: func(t *testing.T, cloud *emulator.Emulator) {
			t.Helper()
			for _, nextDoor := range []bool{false, true} {
				found, _ := villages.Load(spot{cloud, nextDoor})
				one, _ := found.(*village)
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
			if cluster := balancer.Labels[labelCluster]; listener.Port == 80 && balancer.Labels[labelName] == "web" && cluster != "" {
				open[cluster] = true
			}
		}
	}
	return open
}

// wanted is what the cloud should have for a cluster, in the words of holdings. It is computed from the objects as a reader of the
// Kubernetes documentation would.
func wanted(c *cluster.Cluster) []string {
	var lines []string
	for _, service := range c.Services() {
		if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		var names []string
		for _, node := range c.Nodes() {
			_, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]
			if !excluded && (service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal || hasEndpoint(c, service, node)) {
				names = append(names, node.Name)
			}
		}
		who := ""
		if service.Annotations[annotationPrefix+"acl-allowed-sources"] != "" {
			who = " for " + drawnSources
		}
		for _, port := range service.Spec.Ports {
			lines = append(lines, fmt.Sprintf("%d/%s to %d on %s%s", port.Port, strings.ToLower(string(port.Protocol)), port.NodePort, strings.Join(names, " "), who))
		}
		if service.Annotations[annotationPrefix+"create-security-group"] != "" {
			lines = append(lines, "a security group for "+service.Name)
		}
	}
	slices.Sort(lines)
	return lines
}

// hasEndpoint says whether a Service has an endpoint on a node.
func hasEndpoint(c *cluster.Cluster, service *corev1.Service, node *corev1.Node) bool {
	return slices.ContainsFunc(c.EndpointSlices(), func(slice *discoveryv1.EndpointSlice) bool {
		return slice.Labels[discoveryv1.LabelServiceName] == service.Name && slices.ContainsFunc(slice.Endpoints, func(one discoveryv1.Endpoint) bool {
			return one.NodeName != nil && *one.NodeName == node.Name
		})
	})
}

// random is a cluster with one node and the endpoints of two Services there, in which people do random things.
func (l *lab) random(seed uint64, nodes []string) *village {
	l.Helper()
	t := l.village(nil, known(nodes[0]))
	t.put(endpointsOf(service("web"), nodes[0]))
	t.put(endpointsOf(service("api"), nodes[0]))
	d := dice{rand.New(rand.NewPCG(seed, 0)), nodes}
	t.steps = []step{creates(born("web")), creates(born("api"))}
	for range lifeSteps {
		t.steps = append(t.steps, d.step())
	}
	for _, name := range []string{"web", "api"} { // without any, what it had before would stay
		t.steps = append(t.steps, moves(name, nodes[:1+d.IntN(len(nodes)-1)]))
	}
	for range lifeSteps {
		t.moods = append(t.moods, []mood{obeys, obeys, obeys, refuses, mumbles}[d.IntN(5)])
	}
	for range t.steps {
		t.pauses = append(t.pauses, time.Duration(d.Int64N(int64(longestPause))))
	}
	return t
}
