package route

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/store"
)

// rig is a provider of the routes of a simulated IronCore, in a synctest bubble.
type rig struct {
	*testing.T
	ctx    context.Context
	server *simulator.Simulator
	*Provider
}

// inBubble runs a test with the machines a and b, which have the addresses of routeTo(1) and routeTo(2).
func inBubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer func() { stop(); synctest.Wait() }()
		server := simulator.New(simulator.Options{Namespace: "shoot", Network: "nodes"})
		api, err := client.New(server.Config(), "shoot")
		if err != nil {
			t.Fatal(err)
		}
		s := store.New(api, "nodes", "blue")
		r := &rig{T: t, ctx: ctx, server: server, Provider: New(s)}
		r.add("a", "a", "nodes", routeTo(1).Gateway, v6)
		r.add("b", "b", "nodes", routeTo(2).Gateway)
		s.Start(ctx)
		if err := s.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		test(r)
	})
}

// v6 is the second address of the machine a.
var v6 = netip.MustParseAddr("fd00::1")

// add adds a machine that refers to its network interface.
func (r *rig) add(machine, nic, network string, addresses ...netip.Addr) {
	r.server.AddMachine(simulator.Machine{Name: machine, Interface: nic, Network: network, Addresses: addresses})
}

// routeTo returns the route to the pods of a Node: 10.244.n.0/24 by 10.0.0.n.
func routeTo(n byte) cloud.Route {
	return cloud.Route{Destination: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, n, 0}), 24),
		Gateway: netip.AddrFrom4([4]byte{10, 0, 0, n})}
}

// set sets the prefixes of a network interface, in the form of prefixesOf.
func (r *rig) set(nic, prefixes string) {
	r.Helper()
	r.server.ChangeNetworkInterface(nic, func(n *networkingv1alpha1.NetworkInterface) {
		n.Spec.Prefixes = prefixesOf(prefixes)
	})
}

// wantPrefixes checks the prefixes of a network interface.
func (r *rig) wantPrefixes(nic, prefixes string) {
	r.Helper()
	one, _ := r.server.NetworkInterface(nic)
	want(r, "prefixes of "+nic, textOf(one.Spec.Prefixes), prefixes)
}

// all returns all routes of the network.
func (r *rig) all() []cloud.ActualRoute {
	r.Helper()
	synctest.Wait()
	tables, err := r.List(r.ctx, cloud.PodNetwork{}, 0)
	if err != nil {
		r.Fatal(err)
	}
	return tables.Tables[0].Routes
}

// create creates a route.
func (r *rig) create(route cloud.Route) {
	r.Helper()
	want(r, "error of Create", r.Create(r.ctx, "nodes", route), nil)
	synctest.Wait()
}

func want[T comparable](tb testing.TB, what string, got, wanted T) {
	tb.Helper()
	if got != wanted {
		tb.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

// TestCreateAgain: a route is created once, although the status does not contain it yet. Prefixes that the former
// program has written twice are one route, and are deleted together.
func TestCreateAgain(t *testing.T) {
	inBubble(t, func(r *rig) {
		for range 3 {
			r.create(routeTo(1))
		}
		r.wantPrefixes("a", "1")
		want(r, "writes", len(r.server.Writes()), 1)
		r.set("a", "1 1")
		routes := r.all()
		want(r, "routes", len(routes), 1)
		want(r, "error of Delete", r.Delete(r.ctx, "nodes", routes[0]), nil)
		r.wantPrefixes("a", "")
	})
}

// TestOtherWritesAreKept: a prefix that another client adds at the same time is not lost: the write is refused, and
// succeeds from newer data.
func TestOtherWritesAreKept(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.server.Fail(func(request simulator.Request) *metav1.Status {
			if request.IsWrite() {
				r.set("a", "9")
			}
			return nil
		})
		err := r.Create(r.ctx, "nodes", routeTo(1))
		want(r, "Create is stale", errors.Is(err, cloud.ErrStale), true)
		r.wantPrefixes("a", "9")
		r.server.Fail(nil)
		synctest.Wait()
		r.create(routeTo(1))
		r.wantPrefixes("a", "9 1")
	})
}

// TestParallelWrites: both routes of a dual-stack Node are created at the same time, on one network interface.
func TestParallelWrites(t *testing.T) {
	inBubble(t, func(r *rig) {
		var running sync.WaitGroup
		for _, route := range []cloud.Route{routeTo(1),
			{Destination: netip.MustParsePrefix("fd00:244:1::/64"), Gateway: v6}} {
			running.Go(func() {
				err := r.Create(r.ctx, "nodes", route)
				for errors.Is(err, cloud.ErrStale) {
					<-time.After(time.Millisecond)
					err = r.Create(r.ctx, "nodes", route)
				}
				want(r, "error of "+route.Destination.String(), err, nil)
			})
		}
		running.Wait()
		want(r, "routes", len(r.all()), 2)
	})
}

// TestMembers: a machine that has no Node is no member, and its routes are listed with all others. A Node whose
// machine is not known is a member.
func TestMembers(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.set("a", "1")
		r.set("b", "2")
		want(r, "routes", len(r.all()), 2)
		var nodes []*corev1.Node
		for _, name := range []string{"a", "not-known"} {
			nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: corev1.NodeSpec{ProviderID: providerid.Of("shoot", name)}})
		}
		members, err := r.Members(r.ctx, nodes)
		if err != nil || len(members) != 2 {
			r.Fatalf("members %v, error %v: want both Nodes", members, err)
		}
		want(r, "a is known", members[0].Known, true)
		want(r, "not-known is known", members[1].Known, false)
	})
}

// TestNoInterface: without a network interface in the network there is no route, so that creating one is an error.
func TestNoInterface(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.add("c", "c", "storage", routeTo(7).Gateway)
		synctest.Wait()
		for _, route := range []cloud.Route{routeTo(7), routeTo(8)} {
			err := r.Create(r.ctx, "nodes", route)
			want(r, "no interface", errors.Is(err, errNoInterface), true)
			want(r, "names the address", strings.Contains(err.Error(), route.Gateway.String()), true)
		}
		want(r, "writes", len(r.server.Writes()), 0)
		r.set("c", "7")
		want(r, "routes of another network", len(r.all()), 0)
	})
}

// TestInterfaceWithoutMachine: the route on a network interface that has outlived its machine is listed and deleted.
func TestInterfaceWithoutMachine(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.create(routeTo(1))
		r.server.DeleteMachine("a")
		routes := r.all()
		want(r, "managed", len(routes) == 1 && routes[0].Managed, true)
		want(r, "error of Delete", r.Delete(r.ctx, "nodes", routes[0]), nil)
		r.wantPrefixes("a", "")
	})
}

// TestChange: a route whose next hop becomes another address of the same network interface is the same prefix. One that
// moves to another network interface is created there before it is removed.
func TestChange(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.create(routeTo(1))
		to := routeTo(1)
		for _, step := range []struct {
			gateway   netip.Addr
			a, b      string // the prefixes
			requested string
		}{
			{v6, "1", "", ""},
			{routeTo(2).Gateway, "", "1", "patch networkinterfaces/b, patch networkinterfaces/a"},
		} {
			r.server.ForgetRequests()
			to.Gateway = step.gateway
			want(r, "error of Change", r.Change(r.ctx, "nodes", r.all()[0], to), nil)
			r.wantPrefixes("a", step.a)
			r.wantPrefixes("b", step.b)
			want(r, "writes", strings.Join(r.server.Writes(), ", "), step.requested)
			want(r, "is managed", r.all()[0].Managed, true)
		}
	})
}

// TestDeleteBeforeEphemeralPrefix: a route that cannot be removed is a problem that a person can solve.
func TestDeleteBeforeEphemeralPrefix(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.set("a", "1 e")
		err := r.Delete(r.ctx, "nodes", r.all()[0])
		problem, is := errors.AsType[*cloud.RouteProblem](err)
		if !is {
			r.Fatalf("got %v, want a problem", err)
		}
		for _, part := range []string{"10.244.1.0/24", "network interface a", "ephemeral prefix", "remove that one"} {
			want(r, "has "+part, strings.Contains(problem.Error(), part), true)
		}
		want(r, "refuses other writes", problem.OfTable, false)
		r.wantPrefixes("a", "1 e")
		r.set("a", "1 e 9")
		want(r, "error", r.Delete(r.ctx, "nodes", r.all()[0]), nil)
		r.wantPrefixes("a", "9 e")
	})
}
