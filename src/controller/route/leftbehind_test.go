package route

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestRoutesLeftBehind: the routes of Nodes that were deleted while no process ran are reported once, in one event for
// each table, and not changed: a recorder drops most of many events on one Node. Without a drift period, they are
// reported, too.
func TestRoutesLeftBehind(t *testing.T) {
	for name, provider := range map[string]func(*rig) cloud.Routes{
		"drift period":    func(r *rig) cloud.Routes { return r.cloud },
		"no drift period": func(r *rig) cloud.Routes { return &driftlessCloud{fakeCloud: r.cloud} },
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				for i := range 60 {
					r.cloud.createByHand("main", fmt.Sprintf("10.244.%d.0/24", i+100), fmt.Sprintf("10.0.1.%d", i+1))
				}
				r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
				r.startWith(provider(r))
				events := strings.Join(r.process.Events(), "; ")
				wantIs(r, "events", strings.Count(events, "Warning"), 1)
				for _, part := range []string{"RouteLeftBehind", "main has 60 routes", "10.244.100.0/24 by 10.0.1.1, ",
					"and 50 more"} {
					if !strings.Contains(events, part) {
						t.Errorf("events %q, want %q in it", events, part)
					}
				}
				<-time.After(3 * time.Hour)
				wantIs(r, "events later", r.events(), "")
				wantIs(r, "writes", r.writes(), "create main 10.244.1.0/24 by 10.0.0.1")
			})
		})
	}
}

// TestOnlyRoutesLikeThoseOfNodes: only routes with a destination of the size of a member's network are reported, and
// none without a member.
func TestOnlyRoutesLikeThoseOfNodes(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.createByHand("main", "10.244.128.0/20", "10.0.0.250")
		r.cloud.createByHand("main", "10.244.9.0/28", "10.0.0.250")
		r.cloud.createByHand("main", "fd00:244:0:9::/64", "fd00::250")
		r.cloud.createByHand("main", "10.244.10.0/24", "")
		r.start()
		wantIs(r, "events without a Node", r.events(), "")
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.nextPeriod()
		wantIs(r, "events", r.events(), "")
		r.cloud.createByHand("main", "10.244.9.0/24", "10.0.0.9")
		r.nextPeriod()
		wantIs(r, "events with one like those of Nodes", r.events(), "Warning RouteLeftBehind")
	})
}
