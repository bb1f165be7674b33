package thalassa

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestRestrictedServiceIsNotOpenedAnew: what is made again for a Service has the restrictions that it asks for, and
// while they cannot be read nothing is made, and its owner hears why, once.
func TestRestrictedServiceIsNotOpenedAnew(t *testing.T) {
	tests := map[string]struct {
		sources  string
		made     []string // the allowed sources of the port; nil: it is not opened
		reported []string // parts of the event
	}{
		"readable": {"10.0.0.0/8", []string{"10.0.0.0/8"}, []string{"LoadBalancerDrifted", "create load balancer"}},
		"unreadable": {"10.0.0.0/8, everybody", nil, []string{"LoadBalancerNotRepaired",
			"80/TCP is not opened, because the annotation about its allowed sources is not valid"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				web, nodes := service("web", 80), l.nodes("a")
				l.settle(web, nodes)
				annotated("acl-allowed-sources", tt.sources)(web)
				l.settle(web, nodes)
				l.watching(web)
				for l.nextEvent() != "" {
					continue
				}
				l.removeByHand()
				<-time.After(3 * driftPeriod)
				if left := l.leftovers(); (len(left) > 0) != (tt.made != nil) {
					t.Errorf("in the cloud: %v", left)
				} else if tt.made != nil && !slices.Equal(l.balancer().LoadbalancerListeners[0].AllowedSources,
					tt.made) {
					t.Errorf("made with the sources %v, want %v", l.balancer().LoadbalancerListeners[0].AllowedSources,
						tt.made)
				}
				drifted := l.eventsAbout(tt.reported[0])
				if len(drifted) != 1 {
					t.Fatalf("events %q, want one", drifted)
				}
				for _, part := range tt.reported {
					if !strings.Contains(drifted[0], part) {
						t.Errorf("event %q lacks %q", drifted[0], part)
					}
				}
			})
		})
	}
}
