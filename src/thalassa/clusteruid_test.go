package thalassa

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// UIDs of two clusters with one key.
const (
	blue  = "0a1b2c3d-0000-4000-8000-00000000b1e0"
	green = "0a1b2c3d-0000-4000-8000-0000000009ee"
)

// in returns a process of the cluster with the UID, in front of the same cloud.
func (l *lab) in(uid string, former ...string) *lab {
	l.Helper()
	other := labIn(l.TB, l.emulator)
	other.config.FormerClusterUIDs = strings.Join(former, ",")
	other.restart()
	if uid != "" {
		other.cloud.balancers.uid.Set(types.UID(uid))
	}
	return other
}

// signatures are the UIDs of clusters that the load balancers, target groups and security groups of Services have.
func (l *lab) signatures() []string {
	l.Helper()
	var found []string
	for _, path := range []string{"/v1/loadbalancers", "/v1/loadbalancer-target-groups", "/v1/security-groups"} {
		for _, object := range l.list(path) {
			if object.Labels[label.ServiceUID] != "" {
				found = append(found, object.Annotations[label.ClusterUID])
			}
		}
	}
	slices.Sort(found)
	return found
}

// grouped is a Service with a security group of its own.
func grouped() *corev1.Service {
	web := service("web", 80)
	web.Annotations[label.AnnotationPrefix+"create-security-group"] = "true"
	return web
}

// managed returns the kinds of the objects of this cluster, and of those of others with its key.
func (l *lab) managed() (ours, foreign []cloud.ManagedObject) {
	l.Helper()
	ours, err := l.cloud.balancers.ListManaged(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	if foreign, err = l.cloud.balancers.ListForeign(l.Context()); err != nil {
		l.Fatal(err)
	}
	return ours, foreign
}

// TestTwoClustersWithOneKey: what another cluster with the same key has made is not taken, changed, deleted or listed
// as ours, even for a Service with the same UID. That Service gets no other load balancer, and one event.
func TestTwoClustersWithOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newLab(t, emulator.Config{}).in(blue)
		nodes := one.nodes("a")
		web := grouped()
		web.Status.LoadBalancer = *one.settle(web, nodes)
		if got := one.signatures(); !slices.Equal(got, []string{blue, blue, blue}) {
			t.Errorf("UIDs of the objects: %q", got)
		}
		ours, foreign := one.managed()
		if len(ours) != 3 || len(foreign) != 0 || slices.ContainsFunc(ours, func(o cloud.ManagedObject) bool {
			return !o.Proven
		}) {
			t.Errorf("in its own cluster: managed %v, foreign %v", ours, foreign)
		}
		for name, published := range map[string]*corev1.Service{"with an address": web, "without": grouped()} {
			two, before := one.in(green), one.identities()
			one.emulator.ResetCounters()
			for range 3 {
				_, _ = two.ensure(published, nodes)
				<-time.After(time.Minute)
			}
			if got := two.eventsAbout("LoadBalancerOfAnotherCluster"); len(got) != 1 ||
				!strings.Contains(got[0], "formerClusterUIDs") || !strings.Contains(got[0], blue) {
				t.Errorf("%s: events %q", name, got)
			}
			if ours, foreign = two.managed(); len(ours) != 0 || len(foreign) < 2 {
				t.Errorf("%s: managed %v, foreign %v", name, ours, foreign)
			}
			two.remove(published)
			if writes := one.writes(); len(writes) > 0 || !slices.Equal(one.identities(), before) {
				t.Errorf("%s: writes %q", name, writes)
			}
		}
	})
}

// TestTakeoverOfAnotherCluster: with the UID of the former cluster in the configuration, its objects are taken over
// without a write. The next write of each object contains the new UID.
func TestTakeoverOfAnotherCluster(t *testing.T) {
	for name, former := range map[string]string{"another cluster": blue, "no UID": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one := newLab(t, emulator.Config{}).in(former)
				nodes := one.nodes("a")
				web := grouped()
				web.Status.LoadBalancer = *one.settle(web, nodes)
				two := one.in(green, blue)
				one.emulator.ResetCounters()
				two.settle(web, nodes)
				if writes := one.writes(); len(writes) > 0 {
					t.Errorf("the take-over writes %q", writes)
				}
				ours, foreign := two.managed()
				if len(ours) != 3 || len(foreign) != 0 || ours[0].Proven {
					t.Errorf("managed %v, foreign %v", ours, foreign)
				}
				web.Annotations[label.AnnotationPrefix+"labels"] = "team=shop"
				two.settle(web, nodes)
				if got := two.only().Annotations[label.ClusterUID]; got != green {
					t.Errorf("after an update, the load balancer has the UID %q", got)
				}
				two.remove(web)
				if left := two.signatures(); len(left) > 0 {
					t.Errorf("left in the cloud: %q", left)
				}
			})
		})
	}
}

// TestClusterUIDOfReleasedObjects: a load balancer that is kept when its Service is deleted belongs to no cluster.
func TestClusterUIDOfReleasedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{}).in(blue)
		web := service("web", 80)
		web.Annotations[label.AnnotationPrefix+"on-delete"] = "keep"
		l.settle(web, l.nodes("a"))
		l.remove(web)
		if got := l.only().Annotations[label.ClusterUID]; got != "" {
			t.Errorf("UID %q", got)
		}
	})
}

// TestWriteToAnotherClustersObject: a load balancer that another cluster has taken since the plan is not written.
func TestWriteToAnotherClustersObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{}).in(blue)
		nodes, web := l.nodes("a"), service("web", 80)
		web.Status.LoadBalancer = *l.settle(web, nodes)
		web.Annotations[label.AnnotationPrefix+"labels"] = "team=shop"
		plan := l.compare(web, cloud.ChooseTargets(nodes, l.cloud.balancers.Identify)).Plan
		l.relabel(partBalancer, func(_, annotations map[string]string) { annotations[label.ClusterUID] = green })
		l.emulator.ResetCounters()
		_, err := l.cloud.balancers.Apply(t.Context(), web, plan)
		if writes := l.writes(); err == nil || len(plan) == 0 || len(writes) > 0 {
			t.Errorf("error %v, writes %q, plan %q", err, writes, plan)
		}
	})
}

// TestRunningTargets: the running machines that receive traffic are known by the load balancer and by its target group,
// if the UID of the cluster is.
func TestRunningTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{}).in(blue)
		nodes, web := l.nodes("a", "b"), service("web", 80)
		l.settle(web, nodes)
		ours, _ := l.managed()
		if err := l.emulator.StopMachine("b"); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Minute)
		want, _ := l.cloud.balancers.Identify(nodes[0])
		for _, object := range ours {
			got, err := l.cloud.balancers.RunningTargets(context.Background(), []cloud.ManagedObject{object})
			if err != nil || !slices.Equal(got, []string{want}) {
				t.Errorf("%s: running targets %q, error %v; want %q", object.Kind, got, err, want)
			}
		}
		if _, err := l.in("").cloud.balancers.RunningTargets(t.Context(), ours); err == nil {
			t.Error("no error without the UID of the cluster")
		}
	})
}

// TestRunningTargetsThatListsLack: a machine, or a target group, that the list lacks is requested, so that it counts as
// running. If there is no answer, the targets are not known.
func TestRunningTargetsThatListsLack(t *testing.T) {
	for _, kind := range []string{"machines", "loadbalancer-target-groups"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one := newLab(t, emulator.Config{}).in("")
				nodes, web := one.nodes("a"), service("web", 80)
				one.settle(web, nodes)
				inject := func(operation string, what fault.Kind) {
					t.Helper()
					if _, err := one.emulator.Inject(fault.Rule{Operation: operation,
						Effect: fault.Effect{Kind: what}}); err != nil {
						t.Fatal(err)
					}
				}
				inject("GET /v1/"+kind, fault.Partial)
				want, _ := one.cloud.balancers.Identify(nodes[0])
				two := one.in(green)
				ours, _ := two.managed()
				got, err := two.cloud.balancers.RunningTargets(t.Context(), ours)
				if err != nil || !slices.Equal(got, []string{want}) {
					t.Errorf("running targets %q, error %v; want %q", got, err, want)
				}
				inject("GET /v1/"+kind+"/{id}", fault.Forbidden)
				three := one.in(green)
				ours, _ = three.managed()
				if got, err := three.cloud.balancers.RunningTargets(t.Context(), ours); err == nil {
					t.Errorf("running targets %q without an error", got)
				}
			})
		})
	}
}

// TestLateUID: when the UID of the cluster becomes known, objects of another cluster are recognised at once, also if
// the cloud answers that its lists have not changed.
func TestLateUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newLab(t, emulator.Config{Switches: emulator.Switches{ConditionalRequests: true}}).in(blue)
		one.settle(grouped(), one.nodes("a"))
		late := one.in("")
		if err := late.cloud.balancers.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ours, foreign := late.managed(); len(ours) != 3 || len(foreign) != 0 {
			t.Errorf("without the UID: managed %v, foreign %v", ours, foreign)
		}
		late.cloud.balancers.SetUID(green)
		if ours, foreign := late.managed(); len(ours) != 0 || len(foreign) < 2 {
			t.Errorf("with the UID: managed %v, foreign %v", ours, foreign)
		}
	})
}
