package thalassa

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestLabelFiltersThatLag for longer than anybody waits: nothing is made twice, and nothing leaks.
func TestLabelFiltersThatLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Delays: emulator.Delays{LabelFilters: time.Hour,
			LoadbalancerCreate: 3 * time.Minute}})
		web, nodes := service("web", 80), l.nodes("a")
		l.settle(web, nodes)
		if made := len(l.emulator.State().LoadBalancers); made != 1 {
			t.Errorf("%d load balancers", made)
		}
		l.restart()
		l.settle(web, nodes)
		l.restart()
		l.remove(web)
		if left := l.leftovers(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// TestOldLoadBalancerIsNotSlowAtOnce: how long it takes counts from when it was first seen not to serve, whatever it
// says of its age.
func TestOldLoadBalancerIsNotSlowAtOnce(t *testing.T) {
	for name, made := range map[string]any{"months old": "2019-08-01T00:00:00Z", "of unknown age": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				web, nodes := service("web", 80), l.nodes("a")
				l.settle(web, nodes)
				l.tap().shown = func(path string, object map[string]any) {
					if path == "/v1/loadbalancers" {
						object["status"], object["createdAt"] = "rebooting", made
					}
				}
				const timeLimit = 5 * time.Minute
				ctx, cancel := context.WithTimeout(t.Context(), timeLimit-time.Second)
				defer cancel()
				if err := attempt(ctx, l.process().ensuring(web, nodes)); err == nil ||
					!strings.Contains(err.Error(), "rebooting") {
					t.Errorf("error = %v, want one about its status", err)
				}
				if event := l.nextEvent(); event != "" {
					t.Errorf("within %s: event %q", timeLimit, event)
				}
				<-time.After(2 * time.Second)
				if _, err := l.ensure(web, nodes); err == nil {
					t.Error("it serves")
				}
				if event := l.nextEvent(); !strings.Contains(event, "LoadBalancerSlow") {
					t.Errorf("after %s: event %q, want %s", timeLimit, event, "LoadBalancerSlow")
				}
			})
		})
	}
}
