package route

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
)

// writeCondition writes a Node's condition as another client does, such as a network plugin.
func (r *rig) writeCondition(name string, status corev1.ConditionStatus) {
	r.Helper()
	r.changeNode(name, func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: status,
			Reason: "CiliumIsUp", Message: "Cilium is running on this node"}}
	})
}

// TestConditionOfAnotherWriterStays: a sufficient condition of another writer is not changed, and starts no sync.
func TestConditionOfAnotherWriterStays(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.patches()
		before := r.cloud.count(listCalls)
		for range 10 {
			r.writeCondition("a", corev1.ConditionFalse)
			r.settle()
		}
		wantIs(r, "patches", r.patches(), 0)
		wantIs(r, "lists", r.cloud.count(listCalls)-before, 0)
		wantIs(r, "condition", r.condition("a"), "False CiliumIsUp")
		r.start()
		r.nextPeriod()
		wantIs(r, "patches after a restart", r.patches(), 0)
	})
}

// TestConditionOfAnotherWriterIsCorrected: a wrong condition of another writer is corrected once in each drift period.
// A new desired condition is written at once.
func TestConditionOfAnotherWriterIsCorrected(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(c *fakeCloud) { c.writeError = errors.New("not today") })
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		wantIs(r, "condition", r.condition("a"), unavailable)
		r.patches()
		const periods = 4
		for began := time.Now(); time.Since(began) < periods*driftPeriod; <-time.After(2 * time.Second) {
			synctest.Wait()
			if r.condition("a") == unavailable {
				r.writeCondition("a", corev1.ConditionFalse)
			}
		}
		if patches := r.patches(); patches < periods-1 || patches > periods+1 {
			t.Errorf("%d patches in %d periods against another writer", patches, periods)
		}
		r.writeCondition("a", corev1.ConditionTrue)
		r.patches()
		r.cloud.set(func(c *fakeCloud) { c.writeError = nil })
		<-time.After(maxRetryDelay + time.Minute)
		wantIs(r, "condition with the route", r.condition("a"), created)
		wantIs(r, "patches with the route", r.patches(), 1)
	})
}

// TestNodesWithoutCondition: Nodes get a condition as long as their routes are unknown or missing. A condition that
// says that a Node has its routes does not change when a list fails.
func TestNodesWithoutCondition(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.cloud.set(func(c *fakeCloud) { c.readError = errors.New("the cloud is away") })
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"), node("control", "10.0.0.9"))
		r.patches()
		<-time.After(time.Minute)
		synctest.Wait()
		wantIs(r, "condition of one that has routes", r.condition("a"), created)
		wantIs(r, "condition of one that waits", r.condition("b"), unavailable)
		wantIs(r, "condition of one that needs none", r.condition("control"), "")
		wantIs(r, "patches", r.patches(), 1)
		r.cloud.set(func(c *fakeCloud) { c.readError = nil })
		<-time.After(maxRetryDelay)
		wantIs(r, "condition with routes", r.condition("b"), created)
	})
}

// TestPendingCondition: Nodes get the pending condition if their routes are not created soon, whatever their number.
func TestPendingCondition(t *testing.T) {
	for name, tt := range map[string]struct {
		delay   time.Duration
		pending int // of 3*parallel Nodes
	}{
		"at once": {0, 0}, "within seconds": {600 * time.Millisecond, parallel},
		"slowly": {10 * time.Second, 3 * parallel},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.cloud.set(func(c *fakeCloud) { c.createDelay = tt.delay })
				for i := range 3 * parallel {
					r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("10.244.%d.0/24", i)))
				}
				r.start()
				<-time.After(time.Minute)
				wantIs(r, "patches", r.patches(), 3*parallel+tt.pending)
				for i := range 3 * parallel {
					wantIs(r, "condition", r.condition(fmt.Sprintf("n%d", i)), created)
				}
			})
		})
	}
}

// slowClouds are functions that make one call of a cloud slow.
func slowClouds() map[string]func(*fakeCloud) {
	return map[string]func(*fakeCloud){
		"machines": func(c *fakeCloud) { c.membersDelay = 25 * time.Second },
		"look":     func(c *fakeCloud) { c.listDelay = 25 * time.Second },
		"creation": func(c *fakeCloud) { c.createDelay = 25 * time.Second },
	}
}

// TestNodesThatJoinSlowClouds: a Node that registers or is initialised while a sync waits for the cloud soon gets the
// pending condition, with one patch. This includes Nodes that register between failed syncs.
func TestNodesThatJoinSlowClouds(t *testing.T) {
	for name, slowDown := range slowClouds() {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				fresh := node("fresh", "10.0.0.9", "10.244.9.0/24")
				fresh.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider,
					Effect: corev1.TaintEffectNoSchedule}}
				r.cloud.set(func(c *fakeCloud) { c.unknownMachines = map[string]bool{"fresh": true} })
				r.start()
				r.cloud.set(slowDown)
				r.join(node("a", "10.0.0.1", "10.244.1.0/24"), fresh)
				<-time.After(5 * time.Second)
				r.join(node("b", "10.0.0.2", "10.244.2.0/24"), node("bare", "10.0.0.3"))
				r.changeNode("fresh", func(n *corev1.Node) { n.Spec.Taints = nil })
				r.cloud.set(func(c *fakeCloud) { c.unknownMachines = nil })
				<-time.After(pendingAfter + 500*time.Millisecond)
				for _, joined := range []string{"a", "b", "fresh"} {
					wantIs(r, "condition meanwhile of "+joined, r.condition(joined), unavailable)
				}
				wantIs(r, "condition of one without pods", r.condition("bare"), "")
				wantIs(r, "patches meanwhile", r.patches(), 3)
				<-time.After(3 * time.Minute)
				for _, joined := range []string{"a", "b", "fresh"} {
					wantIs(r, "condition at the end of "+joined, r.condition(joined), created)
				}
				wantIs(r, "patches", r.patches(), 3)
				wantIs(r, "events", r.events(), "")
			})
		})
	}
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.cloud.set(func(c *fakeCloud) { c.readError = errors.New("the cloud is away") })
		r.start()
		<-time.After(maxRetryDelay)
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		<-time.After(window + time.Second)
		wantIs(r, "condition between two syncs", r.condition("b"), unavailable)
	})
}

// TestNodesThatJoinDuringSync: a Node that registers while many routes are created soon gets the pending condition.
// Routes that are not needed are deleted after the missing ones are created.
func TestNodesThatJoinDuringSync(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("old", "10.0.0.200", "10.244.200.0/24"))
		r.start()
		r.cloud.set(func(c *fakeCloud) { c.createDelay = 25 * time.Second })
		r.deleteNode("old")
		const many = 50
		for i := range many {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		<-time.After(window + 4*time.Second)
		r.join(node("b", "10.0.0.201", "10.244.201.0/24"))
		<-time.After(pendingAfter + 500*time.Millisecond)
		wantIs(r, "condition meanwhile", r.condition("b"), "True NoRouteCreated")
		wantIs(r, "that the removal waits", strings.Contains(r.routes(), "10.244.200.0/24"), true)
		<-time.After(3 * time.Minute)
		wantIs(r, "condition at the end", r.condition("b"), created)
		wantIs(r, "routes", strings.Count(r.routes(), "by"), many+1)
		wantIs(r, "that the removal is done", strings.Contains(r.routes(), "10.244.200.0/24"), false)
		wantIs(r, "events", r.events(), "")
	})
}

// TestNodeThatChangesDuringSync: a Node that is replaced by another one of its name, or deleted, before its turn gets
// no route from the old plan. The next sync makes those of the new Node, and then removes what is not needed.
func TestNodeThatChangesDuringSync(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("old", "10.0.0.200", "10.244.200.0/24"))
		r.start()
		r.writes()
		r.cloud.set(func(c *fakeCloud) { c.createDelay = 25 * time.Second })
		r.deleteNode("old")
		for i := range parallel {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.join(node("replaced", "10.0.0.101", "10.244.101.0/24"), node("deleted", "10.0.0.102", "10.244.102.0/24"))
		<-time.After(window + 4*time.Second) // the first writes are under way
		r.deleteNode("replaced")
		r.deleteNode("deleted")
		other := node("replaced", "10.0.0.103", "10.244.103.0/24")
		other.UID = "uid-other"
		r.join(other)
		<-time.After(3 * time.Minute)
		writes := r.writes()
		for text, want := range map[string]int{"10.244.101.0/24": 0, "10.244.102.0/24": 0, "10.244.103.0/24": 1,
			"delete main 10.244.200.0/24": 1, "create": parallel + 1} {
			wantIs(r, "writes with "+text, strings.Count(writes, text), want)
		}
		wantIs(r, "condition at the end", r.condition("replaced"), created)
	})
}

// TestUnknownMachines: Nodes whose machines the cloud does not show get the pending condition, and their routes soon
// after the machines are shown. Nodes of other clouds and uninitialised ones get no condition.
func TestUnknownMachines(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(c *fakeCloud) { c.unknownMachines = map[string]bool{"a": true, "new": true} })
		foreign, fresh := node("f", "10.0.0.3", "10.244.3.0/24"), node("new", "10.0.0.4", "10.244.4.0/24")
		foreign.Spec.ProviderID = "aws:///eu-1a/i-1"
		fresh.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider, Effect: corev1.TaintEffectNoSchedule}}
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("bare", "10.0.0.2"), foreign, fresh)
		r.start()
		<-time.After(3 * time.Second)
		wantIs(r, "condition", r.condition("a"), "True NoRouteCreated")
		for _, name := range []string{"bare", "f", "new"} {
			wantIs(r, "condition of "+name, r.condition(name), "")
		}
		wantIs(r, "patches", r.patches(), 1)
		r.cloud.set(func(c *fakeCloud) { c.unknownMachines = nil })
		<-time.After(2 * minRetryDelay)
		wantIs(r, "condition at the end", r.condition("a"), created)
		wantIs(r, "events", r.events(), "")
	})
}
