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

// TestUnservedIsLookedForAgain, also where nobody looks for drift: the cloud shows a subnet late.
func TestUnservedIsLookedForAgain(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(p *plain) { p.unserved = map[string]string{"a": "no table yet"} })
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.startWith(&driftless{plain: r.cloud})
		wantIs(r, "condition", r.condition("a"), unavailable)
		r.cloud.set(func(p *plain) { p.unserved = nil })
		<-time.After(maxRetryDelay + time.Minute)
		wantIs(r, "condition once its table is shown", r.condition("a"), created)
	})
}

// TestWaitingIsSaidAgain when the API server did not take it, as long as the cloud is away.
func TestWaitingIsSaidAgain(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start()
		busy := true
		r.cluster.PrependReactor("patch", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
			refused := busy
			busy = false
			return refused, nil, errors.New("the API server is busy")
		})
		r.cloud.set(func(p *plain) { p.unknown = errors.New("away") })
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		<-time.After(2 * minRetryDelay)
		wantIs(r, "condition", r.condition("a"), unavailable)
	})
}

// TestSlowLooksHoldNothingUp: many Nodes have their routes, and what a Node left is gone, although looks are slow and
// Nodes never cease to change.
func TestSlowLooksHoldNothingUp(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("old", "10.0.9.1", "10.244.255.0/24"))
		r.start()
		r.cloud.set(func(p *plain) { p.looking = 2 * haste })
		r.leave("old")
		const waiting = 150
		for i := range waiting {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		for i := range 30 {
			r.join(node(fmt.Sprintf("m%d", i), fmt.Sprintf("10.0.1.%d", i+1), ""))
			<-time.After(2 * time.Second)
		}
		wantIs(r, "routes", strings.Count(r.has(), "by"), waiting)
		wantIs(r, "left behind", strings.Contains(r.has(), "10.0.9.1"), false)
	})
}
