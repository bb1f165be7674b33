package route

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
)

// says makes a Node's condition what another writer, such as a network plugin, wants it to be.
func (r *rig) says(name string, status corev1.ConditionStatus) {
	r.Helper()
	r.changeNode(name, func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: status,
			Reason: "CiliumIsUp", Message: "Cilium is running on this node"}}
	})
}

// TestAnotherWriterWhoIsRight is left alone, and wakes nobody.
func TestAnotherWriterWhoIsRight(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.patches()
		before := r.cloud.counted(looks)
		for range 10 {
			r.says("a", corev1.ConditionFalse)
			r.settle()
		}
		wantIs(r, "patches", r.patches(), 0)
		wantIs(r, "looks", r.cloud.counted(looks)-before, 0)
		wantIs(r, "condition", r.condition("a"), "False CiliumIsUp")
		r.start()
		r.later()
		wantIs(r, "patches after a restart", r.patches(), 0)
	})
}

// TestAnotherWriterWhoIsWrong is put right once for each drift period, and not each time. What we learn ourselves is
// written at once.
func TestAnotherWriterWhoIsWrong(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(p *plain) { p.refused = errors.New("not today") })
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		wantIs(r, "condition", r.condition("a"), unavailable)
		r.patches()
		const periods = 4
		for began := time.Now(); time.Since(began) < periods*driftPeriod; <-time.After(2 * time.Second) {
			synctest.Wait()
			if r.condition("a") == unavailable {
				r.says("a", corev1.ConditionFalse)
			}
		}
		if patches := r.patches(); patches < periods-1 || patches > periods+1 {
			t.Errorf("%d patches in %d periods against another writer", patches, periods)
		}
		r.says("a", corev1.ConditionTrue)
		r.patches()
		r.cloud.set(func(p *plain) { p.refused = nil })
		<-time.After(maxRetryDelay + time.Minute)
		wantIs(r, "condition with the route", r.condition("a"), created)
		wantIs(r, "patches with the route", r.patches(), 1)
	})
}

// TestNodesWithoutCondition get one that says that they have no routes as long as nobody knows, or they are not made.
// One that says that they have some stays when a look fails.
func TestNodesWithoutCondition(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.cloud.set(func(p *plain) { p.unknown = errors.New("the cloud is away") })
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"), node("control", "10.0.0.9"))
		r.patches()
		<-time.After(time.Minute)
		synctest.Wait()
		wantIs(r, "condition of one that has routes", r.condition("a"), created)
		wantIs(r, "condition of one that waits", r.condition("b"), unavailable)
		wantIs(r, "condition of one that needs none", r.condition("control"), "")
		wantIs(r, "patches", r.patches(), 1)
		r.cloud.set(func(p *plain) { p.unknown = nil })
		<-time.After(maxRetryDelay)
		wantIs(r, "condition with routes", r.condition("b"), created)
	})
}

// TestMoreThanAtOnce: Nodes whose routes are not made at once say so meanwhile.
func TestMoreThanAtOnce(t *testing.T) {
	inRig(t, func(r *rig) {
		for i := range 3 * parallel {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.start()
		wantIs(r, "patches", r.patches(), 3*parallel+2*parallel)
		for i := range 3 * parallel {
			wantIs(r, "condition", r.condition(fmt.Sprintf("n%d", i)), created)
		}
	})
}

// slowness makes a cloud slow, each in one thing.
func slowness() map[string]func(*plain) {
	return map[string]func(*plain){
		"machines": func(p *plain) { p.placing = 25 * time.Second },
		"look":     func(p *plain) { p.looking = 25 * time.Second },
		"creation": func(p *plain) { p.making = 25 * time.Second },
	}
}

// TestSlowClouds: a Node that says nothing says within seconds that it waits, and is served at the end; one that says
// that it has its routes is not asked again.
func TestSlowClouds(t *testing.T) {
	for name, slowed := range slowness() {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
				r.start()
				r.cloud.set(slowed)
				r.patches()
				r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
				<-time.After(window + slow + 500*time.Millisecond)
				wantIs(r, "condition meanwhile", r.condition("b"), "True NoRouteCreated")
				wantIs(r, "condition of the other", r.condition("a"), "False RouteCreated")
				<-time.After(2 * time.Minute)
				wantIs(r, "condition at the end", r.condition("b"), "False RouteCreated")
				wantIs(r, "patches", r.patches(), 2)
				wantIs(r, "events", r.told(), "")
			})
		})
	}
}

// TestNodesThatJoinSlowClouds: one that joins, or is initialised, while a pass waits for the cloud says soon that it
// waits, with one patch; so does one that joins while nobody looks because the last looks failed.
func TestNodesThatJoinSlowClouds(t *testing.T) {
	for name, slowed := range slowness() {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				fresh := node("fresh", "10.0.0.9", "10.244.9.0/24")
				fresh.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider,
					Effect: corev1.TaintEffectNoSchedule}}
				r.cloud.set(func(p *plain) { p.unshown = map[string]bool{"fresh": true} })
				r.start()
				r.cloud.set(slowed)
				r.join(node("a", "10.0.0.1", "10.244.1.0/24"), fresh)
				<-time.After(window + 2*slow)
				r.join(node("b", "10.0.0.2", "10.244.2.0/24"), node("bare", "10.0.0.3"))
				r.changeNode("fresh", func(n *corev1.Node) { n.Spec.Taints = nil })
				r.cloud.set(func(p *plain) { p.unshown = nil })
				<-time.After(slow + 500*time.Millisecond)
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
				wantIs(r, "events", r.told(), "")
			})
		})
	}
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.cloud.set(func(p *plain) { p.unknown = errors.New("the cloud is away") })
		r.start()
		<-time.After(maxRetryDelay)
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		<-time.After(window + time.Second)
		wantIs(r, "condition between two looks", r.condition("b"), unavailable)
	})
}

// TestNodesThatJoinMeanwhile: one that joins while the routes of many are made says soon that it waits, and what nobody
// needs any more goes when all that is needed is there.
func TestNodesThatJoinMeanwhile(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("old", "10.0.0.200", "10.244.200.0/24"))
		r.start()
		r.cloud.set(func(p *plain) { p.making = 25 * time.Second })
		r.leave("old")
		const many = 50
		for i := range many {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		<-time.After(window + 4*time.Second)
		r.join(node("b", "10.0.0.201", "10.244.201.0/24"))
		<-time.After(25*time.Second + slow)
		wantIs(r, "condition meanwhile", r.condition("b"), "True NoRouteCreated")
		wantIs(r, "that the removal waits", strings.Contains(r.has(), "10.244.200.0/24"), true)
		<-time.After(3 * time.Minute)
		wantIs(r, "condition at the end", r.condition("b"), created)
		wantIs(r, "routes", strings.Count(r.has(), "by"), many+1)
		wantIs(r, "that the removal is done", strings.Contains(r.has(), "10.244.200.0/24"), false)
		wantIs(r, "events", r.told(), "")
	})
}

// TestLooksAreNoReasonToMakeNothing: with a look that takes longer than all haste, and Nodes that never cease to
// change, each pass makes some routes.
func TestLooksAreNoReasonToMakeNothing(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(p *plain) { p.looking = 2 * haste })
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		for i := range 30 {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i+1)))
			<-time.After(time.Second)
		}
		wantIs(r, "routes", r.has(), "main 10.244.1.0/24 by 10.0.0.1")
	})
}

// TestMachinesThatAreNotShown: their Nodes say that they wait, and have their routes soon after they are shown. Nodes
// of other clouds, and those that are only joining, say nothing.
func TestMachinesThatAreNotShown(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(p *plain) { p.unshown = map[string]bool{"a": true, "new": true} })
		foreign, fresh := node("f", "10.0.0.3", "10.244.3.0/24"), node("new", "10.0.0.4", "10.244.4.0/24")
		foreign.Spec.ProviderID = "aws:///eu-1a/i-1"
		fresh.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider, Effect: corev1.TaintEffectNoSchedule}}
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("bare", "10.0.0.2"), foreign, fresh)
		r.start()
		<-time.After(slow + window)
		wantIs(r, "condition", r.condition("a"), "True NoRouteCreated")
		for _, name := range []string{"bare", "f", "new"} {
			wantIs(r, "condition of "+name, r.condition(name), "")
		}
		wantIs(r, "patches", r.patches(), 1)
		r.cloud.set(func(p *plain) { p.unshown = nil })
		<-time.After(2 * minRetryDelay)
		wantIs(r, "condition at the end", r.condition("a"), created)
		wantIs(r, "events", r.told(), "")
	})
}

// mute is an API server that never answers patches of one Node. The fake one cannot do that: it does not show requests'
// contexts.
type mute struct {
	kubernetes.Interface
	typedcorev1.CoreV1Interface
	typedcorev1.NodeInterface
	name string
}

func newMute(r *rig, name string) mute {
	return mute{r.cluster, r.cluster.CoreV1(), r.cluster.CoreV1().Nodes(), name}
}

func (m mute) CoreV1() typedcorev1.CoreV1Interface { return m }
func (m mute) RESTClient() rest.Interface          { return m.CoreV1Interface.RESTClient() }
func (m mute) Nodes() typedcorev1.NodeInterface    { return m }

func (m mute) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions,
	parts ...string) (*corev1.Node, error) {
	if name == m.name {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return m.NodeInterface.Patch(ctx, name, kind, data, o, parts...)
}

// TestHangingServer: an API server that does not answer stands in the way of the one patch only.
func TestHangingServer(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start()
		r.running.client = newMute(r, "a")
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.settle()
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		<-time.After(patch.Timeout)
		synctest.Wait()
		wantIs(r, "condition of the Node whose patch hangs", r.condition("a"), "")
		wantIs(r, "condition of another one", r.condition("b"), created)
	})
}

// TestLastingTrouble of a Node is told again before the API server forgets that it was told.
func TestLastingTrouble(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "192.168.1.0/24"))
		r.start()
		wantIs(r, "events", r.told(), "Warning "+reasonOutside)
		<-time.After(event.Again - driftPeriod)
		wantIs(r, "events while that one is kept", r.told(), "")
		<-time.After(2 * driftPeriod)
		wantIs(r, "events then", r.told(), "Warning "+reasonOutside)
	})
}

// TestCloudIsAway: of many Nodes that wait for routes not all are told at a time, and each once, whatever the cloud's
// answer says.
func TestCloudIsAway(t *testing.T) {
	const nodes = 2*event.Burst + 10
	inRig(t, func(r *rig) {
		attempts := 0
		r.cloud.set(func(p *plain) { p.unknown = errors.New("away") })
		for i := range nodes {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.start()
		wantIs(r, "events at once", strings.Count(r.told(), reasonUnknown), event.Burst)
		told := event.Burst
		for range 10 {
			attempts++
			r.cloud.set(func(p *plain) { p.unknown = fmt.Errorf("away, request %d", attempts) })
			<-time.After(driftPeriod)
			told += strings.Count(r.told(), reasonUnknown)
		}
		wantIs(r, "events within an hour", told, nodes)
	})
}
