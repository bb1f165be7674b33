package thalassa

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestInternalAddressIsAwaited: the existing CCM waits 300 s for a public address that an internal load balancer never
// gets, and then calls it a success without any. Ours publishes the address of the subnet once it is there, and
// nothing before, of those that it makes and of those that were taken over.
func TestInternalAddressIsAwaited(t *testing.T) {
	const making = 10 * time.Second
	for name, fresh := range map[string]bool{"ours": true, "taken over": false} {
		for _, switches := range []emulator.Switches{{}, {InternalAddressAlsoExternal: true}} {
			t.Run(fmt.Sprintf("%s, also external %t", name, switches.InternalAddressAlsoExternal), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLab(t, emulator.Config{Switches: switches,
						Delays: emulator.Delays{LoadbalancerCreate: making}})
					nodes, web := l.nodes("a"), service("web", 80)
					annotated("internal", "true")(web)
					if !fresh {
						old := legacyOf(web, nil)
						old.balancer.InternalLoadbalancer = true
						l.plant(old, nodes)
					}
					if status, err := l.ensure(web, nodes); err == nil {
						t.Errorf("success with the status %+v, although there is no address yet", status)
					}
					<-time.After(making)
					status, err := l.ensure(web, nodes)
					if err != nil || len(status.Ingress) != 1 || !strings.HasPrefix(status.Ingress[0].IP, "10.") {
						t.Errorf("status %+v, error %v; want the internal address", status, err)
					}
					l.checkInternal(switches.InternalAddressAlsoExternal)
				})
			})
		}
	}
}

// checkInternal says that the load balancer has no address that others than the VPC reach.
func (l *lab) checkInternal(alsoExternal bool) {
	l.Helper()
	got := l.balancer()
	if len(got.InternalIpAddresses) != 1 || !alsoExternal && len(got.ExternalIpAddresses) > 0 || alsoExternal &&
		!slices.Equal(got.ExternalIpAddresses, got.InternalIpAddresses) {
		l.Errorf("addresses %v and, public, %v; want one of the subnet", got.InternalIpAddresses,
			got.ExternalIpAddresses)
	}
}

// TestSlowCreation: the existing CCM gives up on a slow load balancer after 300 s, and its next sync is a success
// without an address, so nobody comes back. Ours comes back until there is one, and says once that it takes long.
func TestSlowCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Delays: emulator.Delays{LoadbalancerCreate: 8 * time.Minute}})
		nodes, web := l.nodes("a"), service("web", 80)
		began := time.Now()
		if status := l.settle(web, nodes); len(status.Ingress) != 1 || status.Ingress[0].IP == "" {
			t.Errorf("success with the status %+v, want an address", status)
		}
		if took := time.Since(began); took < 8*time.Minute || took > 8*time.Minute+time.Minute {
			t.Errorf("the address came after %s, want within a minute after 8m", took)
		}
		if event := l.nextEvent(); !strings.Contains(event,
			`LoadBalancerSlow Load balancer a0a1b2c3dweb is still "creating" after 5m0s`) {
			t.Errorf("event %q, want one that says it takes long", event)
		}
		if event := l.nextEvent(); event != "" {
			t.Errorf("reported again: %q", event)
		}
	})
}

// TestDeletedWhileItIsMade: the existing CCM dereferences a load balancer that somebody deletes while it is being
// made. Ours makes another one.
func TestDeletedWhileItIsMade(t *testing.T) {
	const making = 30 * time.Second
	tests := map[string]struct{ deletion, notice time.Duration }{
		// What was just created may be missing in lists although it is there.
		"at once": {0, 90 * time.Second}, "slowly": {10 * time.Second, 20 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{Delays: emulator.Delays{LoadbalancerCreate: making,
					LoadbalancerDelete: tt.deletion}})
				nodes, web := l.nodes("a"), service("web", 80)
				if _, err := l.ensure(web, nodes); !cloud.ReasonOf(err).Waits() {
					t.Fatalf("error = %v, want that it is not ready yet", err)
				}
				if err := l.api().DeleteLoadbalancer(t.Context(), l.balancer().Identity); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if status := l.settle(web, nodes); len(status.Ingress) != 1 ||
					status.Ingress[0].IP != l.balancer().ExternalIpAddresses[0] {
					t.Errorf("status = %+v, want the address of the new one", status)
				}
				if took, most := time.Since(began), tt.deletion+tt.notice+making; took > most {
					t.Errorf("the new one serves after %s, want at most %s", took, most)
				}
				if left := l.leftovers(); len(left) != 2 {
					t.Errorf("in the cloud: %v, want one load balancer and one target group", left)
				}
			})
		})
	}
}
