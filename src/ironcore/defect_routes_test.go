package ironcore

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// prefixes returns the prefixes in the specification of a network interface; ephemeral ones are "ephemeral".
func (r *rig) prefixes(name string) string {
	r.Helper()
	one, exists := r.server.NetworkInterface(name)
	if !exists {
		r.Fatalf("there is no network interface %s", name)
	}
	texts := make([]string, len(one.Spec.Prefixes))
	for i, source := range one.Spec.Prefixes {
		texts[i] = "ephemeral"
		if source.Value != nil {
			texts[i] = source.Value.String()
		}
	}
	return strings.Join(texts, " ")
}

// podsOf returns the route to the pods of a Node: 10.244.n.0/24 by 10.0.0.n.
func podsOf(n byte) cloud.Route {
	return cloud.Route{Destination: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, n, 0}), 24),
		Gateway: netip.AddrFrom4([4]byte{10, 0, 0, n})}
}

func static(destination netip.Prefix) networkingv1alpha1.PrefixSource {
	return networkingv1alpha1.PrefixSource{Value: &commonv1alpha1.IPPrefix{Prefix: destination}}
}

func ephemeral() networkingv1alpha1.PrefixSource {
	return networkingv1alpha1.PrefixSource{Ephemeral: &networkingv1alpha1.EphemeralPrefixSource{
		PrefixTemplate: &ipamv1alpha1.PrefixTemplateSpec{Spec: ipamv1alpha1.PrefixSpec{IPFamily: corev1.IPv4Protocol,
			PrefixLength: 28, ParentRef: &corev1.LocalObjectReference{Name: "internal"}}}}}
}

func (r *rig) setPrefixes(name string, prefixes ...networkingv1alpha1.PrefixSource) {
	r.server.ChangeNetworkInterface(name, func(n *networkingv1alpha1.NetworkInterface) { n.Spec.Prefixes = prefixes })
}

// oneRoute returns the only route of the network.
func (r *rig) oneRoute(c *Cloud) cloud.ActualRoute {
	r.Helper()
	all := r.routes(c)
	if len(all) != 1 {
		r.Fatalf("the routes are %v, want one", all)
	}
	return all[0]
}

// routes returns all routes of the network.
func (r *rig) routes(c *Cloud) []cloud.ActualRoute {
	r.Helper()
	tables, err := c.offer().Routes.List(r.ctx, cloud.PodNetwork{}, 0)
	if err != nil {
		r.Fatal(err)
	}
	return tables.Tables[0].Routes
}

// TestDefect07_PrefixIsNotDuplicated: a route is created once, although the status does not contain it yet. Prefixes
// that the former program has written twice are one route, and are deleted together.
func TestDefect07_PrefixIsNotDuplicated(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.start()
		routes := c.offer().Routes
		for range 3 {
			want(r, "error of Create", routes.Create(r.ctx, testNetwork, podsOf(1)), nil)
			synctest.Wait()
		}
		want(r, "prefixes", r.prefixes("a-primary"), "10.244.1.0/24")
		want(r, "writes", len(r.server.Writes()), 1)
		twice := static(podsOf(1).Destination)
		r.setPrefixes("a-primary", twice, twice)
		synctest.Wait()
		want(r, "error of Delete", routes.Delete(r.ctx, testNetwork, r.oneRoute(c)), nil)
		want(r, "prefixes after Delete", r.prefixes("a-primary"), "")
	})
}

// TestDefect08_OtherWritesAreKept: a prefix that another client adds at the same time is not lost: the write is
// refused, and succeeds from newer data.
func TestDefect08_OtherWritesAreKept(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		routes := r.start().offer().Routes
		r.server.Fail(func(request simulator.Request) *metav1.Status {
			if request.IsWrite() {
				r.setPrefixes("a-primary", static(podsOf(9).Destination))
			}
			return nil
		})
		err := routes.Create(r.ctx, testNetwork, podsOf(1))
		want(r, "Create is stale", errors.Is(err, cloud.ErrStale), true)
		want(r, "prefixes", r.prefixes("a-primary"), "10.244.9.0/24")
		r.server.Fail(nil)
		synctest.Wait()
		want(r, "error of the second Create", routes.Create(r.ctx, testNetwork, podsOf(1)), nil)
		want(r, "prefixes", r.prefixes("a-primary"), "10.244.9.0/24 10.244.1.0/24")
	})
}

// TestDefect08_ParallelWrites: both routes of a dual-stack Node are created at the same time, on one network interface.
func TestDefect08_ParallelWrites(t *testing.T) {
	inBubble(t, func(r *rig) {
		v6, podsV6 := netip.MustParseAddr("fd00::1"), netip.MustParsePrefix("fd00:244:1::/64")
		r.server.AddMachine(simulator.Machine{Name: "a", Addresses: []netip.Addr{podsOf(1).Gateway, v6}})
		routes := r.start().offer().Routes
		var running sync.WaitGroup
		for _, route := range []cloud.Route{podsOf(1), {Destination: podsV6, Gateway: v6}} {
			running.Go(func() {
				err := routes.Create(r.ctx, testNetwork, route)
				for errors.Is(err, cloud.ErrStale) {
					<-time.After(time.Millisecond)
					err = routes.Create(r.ctx, testNetwork, route)
				}
				want(r, "error of "+route.Destination.String(), err, nil)
			})
		}
		running.Wait()
		wantText(r, "prefixes", r.prefixes("a-primary"), "10.244.1.0/24", "fd00:244:1::/64")
	})
}

// TestDefect09_EphemeralPrefixes: ephemeral prefixes have no value, are not routes of the cluster, and keep their
// positions, because IronCore names their objects by them.
func TestDefect09_EphemeralPrefixes(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.start()
		routes := c.offer().Routes
		r.setPrefixes("a-primary", static(podsOf(1).Destination), ephemeral(), static(podsOf(2).Destination))
		synctest.Wait()
		actual := r.routes(c)
		if len(actual) != 2 {
			r.Fatalf("the routes are %v, want two", actual)
		}
		want(r, "error of Delete", routes.Delete(r.ctx, testNetwork, actual[0]), nil)
		want(r, "prefixes", r.prefixes("a-primary"), "10.244.2.0/24 ephemeral")
		synctest.Wait()
		err := routes.Delete(r.ctx, testNetwork, r.oneRoute(c))
		wantError(r, "error if the ephemeral one would move", err, "10.244.2.0/24", "ephemeral")
		want(r, "prefixes", r.prefixes("a-primary"), "10.244.2.0/24 ephemeral")
	})
}

// TestDefect10_InterfaceWithoutNode: the routes of a machine that has no Node are listed with all others.
func TestDefect10_InterfaceWithoutNode(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.addMachine("no-node")
		c := r.start()
		for i, name := range []string{"a", "no-node"} {
			r.setPrefixes(interfaceOf(name), static(podsOf(byte(i+1)).Destination))
		}
		synctest.Wait()
		want(r, "routes", len(r.routes(c)), 2)
		members, err := c.offer().Routes.Members(r.ctx, []*corev1.Node{node("a"), node("not-known")})
		if err != nil || len(members) != 2 {
			r.Fatalf("members %v, error %v: want both Nodes", members, err)
		}
		want(r, "a is known", members[0].Known, true)
		want(r, "not-known is known", members[1].Known, false)
	})
}

// TestDefect11_NoInterface: without a network interface there is no route, so that creating one is an error.
func TestDefect11_NoInterface(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.server.AddMachine(simulator.Machine{Name: "b", Network: "storage",
			Addresses: []netip.Addr{podsOf(7).Gateway}})
		routes := r.start().offer().Routes
		for _, route := range []cloud.Route{podsOf(7), podsOf(8)} {
			err := routes.Create(r.ctx, testNetwork, route)
			wantError(r, "error", err, route.Gateway.String(), testNetwork)
		}
		want(r, "writes", len(r.server.Writes()), 0)
	})
}

// TestDefect12_InterfaceWithoutMachine: the route on a network interface that has outlived its machine is listed and
// deleted.
func TestDefect12_InterfaceWithoutMachine(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.server.AddMachine(simulator.Machine{Name: "a", Interface: "kept", Addresses: []netip.Addr{podsOf(1).Gateway}})
		c := r.start()
		routes := c.offer().Routes
		want(r, "error of Create", routes.Create(r.ctx, testNetwork, podsOf(1)), nil)
		r.server.DeleteMachine("a")
		synctest.Wait()
		want(r, "managed", r.oneRoute(c).Managed, true)
		want(r, "error of Delete", routes.Delete(r.ctx, testNetwork, r.oneRoute(c)), nil)
		want(r, "prefixes", r.prefixes("kept"), "")
	})
}
