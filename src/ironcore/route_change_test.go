package ironcore

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// TestRouteChangesAddress: a route whose next hop becomes another address of the same network interface is the same
// prefix: it is not removed.
func TestRouteChangesAddress(t *testing.T) {
	inBubble(t, func(r *rig) {
		v6, pods := netip.MustParseAddr("fd00::1"), podsOf(1)
		r.server.AddMachine(simulator.Machine{Name: "a", Addresses: []netip.Addr{pods.Gateway, v6}})
		c := r.start()
		routes := c.offer().Routes
		want(r, "error of Create", routes.Create(r.ctx, testNetwork, pods), nil)
		actual := r.routes(c)[0]
		pods.Gateway = v6
		r.server.ForgetRequests()
		want(r, "error of Change", routes.Change(r.ctx, testNetwork, actual, pods), nil)
		want(r, "prefixes", r.prefixes("a-primary"), "10.244.1.0/24")
		want(r, "writes", strings.Join(r.server.Writes(), ", "), "")
		all := r.routes(c)
		want(r, "is managed", len(all) == 1 && all[0].Managed, true)
	})
}

// TestRouteChangesInterface: a route that moves to another network interface is created there before it is removed.
func TestRouteChangesInterface(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.addMachine("b")
		c := r.start()
		routes := c.offer().Routes
		want(r, "error of Create", routes.Create(r.ctx, testNetwork, podsOf(1)), nil)
		r.server.ForgetRequests()
		to := podsOf(1)
		to.Gateway = podsOf(2).Gateway
		want(r, "error of Change", routes.Change(r.ctx, testNetwork, r.routes(c)[0], to), nil)
		want(r, "prefixes of a", r.prefixes("a-primary"), "")
		want(r, "prefixes of b", r.prefixes("b-primary"), "10.244.1.0/24")
		want(r, "writes", strings.Join(r.server.Writes(), ", "),
			"patch networkinterfaces/b-primary, patch networkinterfaces/a-primary")
	})
}

// TestRouteBeforeEphemeralPrefix: a route that cannot be removed is a problem that a person can solve.
func TestRouteBeforeEphemeralPrefix(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.setPrefixes("a-primary", static(podsOf(1).Destination), ephemeral())
		c := r.start()
		err := c.offer().Routes.Delete(r.ctx, testNetwork, r.routes(c)[0])
		problem, is := errors.AsType[*cloud.RouteProblem](err)
		if !is {
			r.Fatalf("got %v, want a problem", err)
		}
		wantText(r, "message", problem.Error(), "10.244.1.0/24", "a-primary", "ephemeral prefix", "remove that one")
		want(r, "refuses other writes", problem.OfTable, false)
		want(r, "prefixes", r.prefixes("a-primary"), "10.244.1.0/24 ephemeral")
		r.setPrefixes("a-primary", static(podsOf(1).Destination), ephemeral(), static(podsOf(9).Destination))
		synctest.Wait()
		want(r, "error", c.offer().Routes.Delete(r.ctx, testNetwork, r.routes(c)[0]), nil)
		want(r, "prefixes", r.prefixes("a-primary"), "10.244.9.0/24 ephemeral")
	})
}
