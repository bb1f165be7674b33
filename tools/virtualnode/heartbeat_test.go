package virtualnode

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/pod"
)

// newSeen returns a node in a bubble whose object exists and that has seen it.
func newSeen(t *testing.T) (*Node, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset()
	n := &Node{
		options: Options{Name: "node-1"}, network: &Network{client: client}, logger: slog.New(slog.DiscardHandler),
		corrections: make(chan struct{}, 1), pods: pod.NewNode(pod.Options{Addresses: pod.NewAddresses()}),
	}
	if err := n.register(t.Context(), "v1.36.3"); err != nil {
		t.Fatal(err)
	}
	n.observe(getNode(t, client))
	client.ClearActions()
	return n, client
}

func getNode(t *testing.T, client *fake.Clientset) *corev1.Node {
	t.Helper()
	node, err := client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// liveFor keeps a node alive for a while.
func liveFor(t *testing.T, n *Node, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var living sync.WaitGroup
	living.Go(func() { n.live(ctx) })
	living.Go(func() { n.renewals().Run(ctx) })
	living.Wait()
}

// count counts the calls of one kind.
func count(client *fake.Clientset, verb, resource string) int {
	calls := 0
	for _, action := range client.Actions() {
		if action.Matches(verb, resource) {
			calls++
		}
	}
	return calls
}

func TestLiveRenewsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, client := newSeen(t)
		liveFor(t, n, 101*time.Second)
		if created, renewed := count(client, "create", "leases"), count(client, "update", "leases"); created != 1 ||
			renewed < 9 || renewed > 11 {
			t.Errorf("%d leases created, %d renewals in 101s; want 1 and about ten", created, renewed)
		}
		lease, err := client.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), "node-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if *lease.Spec.HolderIdentity != "node-1" || *lease.Spec.LeaseDurationSeconds != 40 ||
			time.Since(lease.Spec.RenewTime.Time) > leaseRenewal || lease.OwnerReferences[0].Name != "node-1" {
			t.Errorf("lease = %+v", lease)
		}
		if calls := count(client, "patch", "nodes"); calls != 0 {
			t.Errorf("%d status reports in 101s, want none", calls)
		}
	})
}

func TestLiveReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, client := newSeen(t)
		liveFor(t, n, 11*time.Minute)
		if reports := count(client, "patch", "nodes"); reports != 2 {
			t.Errorf("%d status reports in 11 minutes; want 2", reports)
		}
	})
}

func TestLiveCorrects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, client := newSeen(t)
		before := getNode(t, client)
		doubted := before.DeepCopy()
		for i := range doubted.Status.Conditions {
			doubted.Status.Conditions[i].Status = corev1.ConditionUnknown
		}
		if _, err := client.CoreV1().Nodes().UpdateStatus(t.Context(), doubted, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		n.observe(doubted)
		n.observe(doubted)
		liveFor(t, n, time.Second)
		if got := getNode(t, client); !isReady(got) || len(got.Status.Conditions) != 4 {
			t.Errorf("conditions = %+v, want a ready node", got.Status.Conditions)
		}
		if calls := count(client, "patch", "nodes"); calls != 1 {
			t.Errorf("%d corrections, want 1", calls)
		}
	})
}

func TestLiveGoesOnAfterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, client := newSeen(t)
		refusals := 3
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			refusals--
			return refusals >= 0, nil, errors.New("not now")
		})
		liveFor(t, n, time.Minute)
		if _, err := client.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), "node-1",
			metav1.GetOptions{}); err != nil {
			t.Errorf("no lease after the errors have gone: %v", err)
		}
	})
}

// A node whose object was deleted writes nothing until somebody makes the object again.
func TestLiveWithoutObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, client := newSeen(t)
		object := n.seen.Load()
		n.observe(nil)
		liveFor(t, n, 11*time.Minute)
		if writes := count(client, "create", "leases") + count(client, "patch", "nodes"); writes != 0 {
			t.Errorf("%d writes without an object: %v", writes, client.Actions())
		}
		n.observe(object)
		liveFor(t, n, time.Minute)
		if created := count(client, "create", "leases"); created != 1 {
			t.Errorf("%d leases created for the new object, want 1", created)
		}
	})
}

func TestLiveTakesLeaseOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, client := newSeen(t)
		liveFor(t, n, time.Minute)
		client.ClearActions()
		liveFor(t, n, time.Second) // by a new controller, as after a restart
		if created, renewed := count(client, "create", "leases"), count(client, "update", "leases"); created != 0 ||
			renewed != 1 {
			t.Errorf("%d leases created, %d renewed; want the old one renewed", created, renewed)
		}
	})
}

func TestSince(t *testing.T) {
	before, now := time.Unix(1000, 0), time.Unix(2000, 0)
	previous := &corev1.Node{Status: corev1.NodeStatus{Conditions: conditions(metav1.NewTime(before))}}
	previous.Status.Conditions[3].Status = corev1.ConditionUnknown
	for i, c := range since(now, previous) {
		want := before
		if i == 3 {
			want = now
		}
		if !c.LastTransitionTime.Time.Equal(want) || !c.LastHeartbeatTime.Time.Equal(now) {
			t.Errorf("condition %s changed at %s, want %s", c.Type, c.LastTransitionTime, want)
		}
	}
	if got := since(now, nil); len(got) != 4 {
		t.Errorf("%d conditions without a previous object, want 4", len(got))
	}
}
