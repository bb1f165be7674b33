package thalassa

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// spent lets so much time pass, and returns the calls of the cloud and the writes to Kubernetes meanwhile.
func (r *lifecycleCluster) spent(during time.Duration) (calls, writes float64) {
	r.Helper()
	r.emulator.ResetCounters()
	r.events() // from before
	before := r.cluster.Version()
	r.pass(during)
	return float64(r.calls()), float64(r.cluster.Version()-before) + float64(len(r.events()))
}

// TestBudgetsOfTheLifeCycle: a node that is not ready costs no call of its own, however many there are, and one that is
// removed costs one.
func TestBudgetsOfTheLifeCycle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, machines := newFullLifecycleCluster(t)
		r.pass(2 * time.Minute)

		const minutes = 5
		calls, writes := r.spent(minutes * time.Minute)
		r.within("life-quiet-calls", calls/minutes)
		r.within("life-quiet-writes", writes)

		r.silent(0, tierSize().lifecycleNodes/100)
		calls, writes = r.spent(minutes * time.Minute)
		r.within("life-some-calls", calls/minutes)
		r.within("life-some-writes", writes)

		took, calls := r.gone(machines[:tierSize().lifecycleNodes/100])
		r.within("life-gone-seconds", took.Seconds())
		r.within("life-gone-calls", calls/float64(tierSize().lifecycleNodes/100))

		r.silent(tierSize().lifecycleNodes/100, tierSize().lifecycleNodes)
		calls, writes = r.spent(minutes * time.Minute)
		r.within("life-all-calls", calls/minutes)
		r.within("life-all-writes", writes)
		want := tierSize().lifecycleNodes - tierSize().lifecycleNodes/100
		if left := len(r.cluster.Nodes()); left != want {
			t.Errorf("%d nodes, want those whose servers are there, %d", left, want)
		}
	})
}

// TestBudgetOfManyRemovals: as many as may go at once cost no list for each few of them.
func TestBudgetOfManyRemovals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		many := tierSize().lifecycleNodes / 5
		r, machines := newFullLifecycleCluster(t)
		r.pass(10 * time.Minute) // in which a process removes one
		r.silent(0, many)
		took, calls := r.gone(machines[:many])
		r.within("life-many-seconds", took.Seconds())
		r.within("life-many-calls", calls/float64(many))
	})
}

// newFullLifecycleCluster is a cluster of as many nodes as the budgets are for, and their servers.
func newFullLifecycleCluster(t *testing.T) (*lifecycleCluster, []string) {
	t.Helper()
	r := newLifecycleCluster(t, emulator.Config{})
	machines, err := r.emulator.AddMachines(tierSize().lifecycleNodes)
	r.act(err)
	for i, id := range machines {
		r.act(r.cluster.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeOf(i), UID: types.UID(id)},
			Spec: corev1.NodeSpec{ProviderID: providerid.Of(id)},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady,
				Status: corev1.ConditionTrue}}}}))
	}
	r.begin()
	return r, machines
}

// gone deletes servers, and returns how long it takes until their nodes are gone, and the calls of the cloud meanwhile.
func (r *lifecycleCluster) gone(machines []string) (took time.Duration, calls float64) {
	r.Helper()
	for _, id := range machines {
		r.act(r.emulator.DeleteMachine(id))
	}
	r.emulator.ResetCounters()
	began, left, most := time.Now(), len(r.cluster.Nodes())-len(machines), 10*time.Minute
	for len(r.cluster.Nodes()) > left && time.Since(began) < most {
		r.pass(time.Second)
	}
	return time.Since(began), float64(r.calls())
}

func nodeOf(i int) string { return fmt.Sprintf("node-%05d", i) }

// silent lets kubelets fall silent.
func (r *lifecycleCluster) silent(from, to int) {
	r.Helper()
	for i := from; i < to; i++ {
		r.report(nodeOf(i), corev1.ConditionUnknown)
	}
}
