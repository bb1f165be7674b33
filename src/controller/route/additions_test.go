package route

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"
)

// TestUnknownTableIsCheckedAgain: the cloud shows the table of a Node late, and it is found even without a drift
// period.
func TestUnknownTableIsCheckedAgain(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(c *fakeCloud) { c.unknownTables = map[string]string{"a": "no table yet"} })
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.startWith(&driftlessCloud{fakeCloud: r.cloud})
		wantIs(r, "condition", r.condition("a"), unavailable)
		r.cloud.set(func(c *fakeCloud) { c.unknownTables = nil })
		<-time.After(maxRetryDelay + time.Minute)
		wantIs(r, "condition once its table is shown", r.condition("a"), created)
	})
}

// TestConditionIsRetriedWhileCloudFails: a pending condition that the API server refused is written again while the
// cloud does not answer.
func TestConditionIsRetriedWhileCloudFails(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start()
		busy := true
		r.cluster.PrependReactor("patch", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
			refused := busy
			busy = false
			return refused, nil, errors.New("the API server is busy")
		})
		r.cloud.set(func(c *fakeCloud) { c.readError = errors.New("away") })
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		<-time.After(2 * minRetryDelay)
		wantIs(r, "condition", r.condition("a"), unavailable)
	})
}

// TestSlowListsDelayNothing: the routes of many Nodes are created, and those of a deleted Node deleted, although lists
// are slow and Nodes change all the time.
func TestSlowListsDelayNothing(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("old", "10.0.9.1", "10.244.255.0/24"))
		r.start()
		r.cloud.set(func(c *fakeCloud) { c.listDelay = 10 * time.Second })
		r.deleteNode("old")
		const waiting = 150
		for i := range waiting {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		for i := range 30 {
			r.join(node(fmt.Sprintf("m%d", i), fmt.Sprintf("10.0.1.%d", i+1), ""))
			<-time.After(2 * time.Second)
		}
		wantIs(r, "routes", strings.Count(r.routes(), "by"), waiting)
		wantIs(r, "left behind", strings.Contains(r.routes(), "10.0.9.1"), false)
	})
}
