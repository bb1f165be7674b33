package thalassa

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// clouds differ in what an update does to a health check that it does not name, and in whether one can be removed at
// all.
var clouds = map[string]struct {
	switches  emulator.Switches
	removable bool
}{
	"replace":                  {emulator.Switches{}, true},
	"merge, null removes":      {emulator.Switches{Updates: emulator.Merge, NullRemovesHealthCheck: true}, true},
	"merge, null says nothing": {emulator.Switches{Updates: emulator.Merge}, false},
}

// TestDefect09_HealthCheckCannotBeRemoved: the existing CCM leaves out what should go, which a cloud that merges takes
// for "as it is".
func TestDefect09_HealthCheckCannotBeRemoved(t *testing.T) {
	off := annotated("health-check-enabled", "false")
	removals := map[string]struct{ with, without func(*corev1.Service) }{
		"policy Local is given up": {func(s *corev1.Service) {
			off(s)
			local(s, true)
		}, func(s *corev1.Service) { local(s, false) }},
		"ours is switched off": {annotated(), off},
		"one with a port is switched off": {annotated("health-check-enabled", "true", "health-check-port", "8081"),
			off},
	}
	for cloud, cl := range clouds {
		for name, tt := range removals {
			t.Run(cloud+", "+name, func(t *testing.T) {
				l := newLab(t, emulator.Config{Switches: cl.switches})
				tap := l.tap()
				nodes, web := l.nodes("a"), service("web", 80)
				tt.with(web)
				l.settle(web, nodes)
				if l.group().HealthCheck == nil {
					t.Fatal("no health check to be removed")
				}
				tt.without(web)
				l.settle(web, nodes)
				updates := tap.heard("PUT /v1/loadbalancer-target-groups/")
				if len(updates) != 1 || !strings.Contains(updates[0], `"healthCheck":null`) {
					t.Errorf("sent %v; want one update that says that there is none", updates)
				}
				if check := l.group().HealthCheck; check != nil && cl.removable {
					t.Errorf("health check = %+v: the Service wants none", check)
				}
			})
		}
	}
}

// TestDefect09_HealthCheckOfAClosedPort: without the policy Local nobody answers at its port, so the health check asks
// there no more.
func TestDefect09_HealthCheckOfAClosedPort(t *testing.T) {
	for cloud, cl := range clouds {
		t.Run(cloud, func(t *testing.T) {
			l := newLab(t, emulator.Config{Switches: cl.switches})
			nodes, web := l.nodes("a"), service("web", 80)
			local(web, true)
			l.settle(web, nodes)
			if check := l.group().HealthCheck; check == nil || check.Port != 32000 || check.Protocol != "http" {
				t.Fatalf("health check with policy Local = %+v", check)
			}
			local(web, false)
			l.settle(web, nodes)
			if check := l.group().HealthCheck; check == nil || check.Port != 30080 || check.Protocol != "tcp" {
				t.Errorf("health check = %+v, want the one of every Service, on the node port", check)
			}
		})
	}
}
