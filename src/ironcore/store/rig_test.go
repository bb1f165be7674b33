package store

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// rig is a store of a simulated IronCore, in a synctest bubble.
type rig struct {
	*testing.T
	ctx    context.Context
	server *simulator.Simulator
	*Store
}

// inBubble runs a test with a store that has not started.
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
		test(&rig{T: t, ctx: ctx, server: server, Store: New(api, "nodes", "blue")})
	})
}

// sync starts the store and waits until it has listed all objects.
func (r *rig) sync() {
	r.Helper()
	r.Start(r.ctx)
	if err := r.WaitForSync(r.ctx); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
}

// addMachine adds a machine with an address.
func (r *rig) addMachine(name, address string) {
	r.server.AddMachine(simulator.Machine{Name: name, Zone: "zone-1",
		Addresses: []netip.Addr{netip.MustParseAddr(address)}})
}

// create creates a load balancer as another program does, and returns the answer of the API server.
func (r *rig) create(name string) *networkingv1alpha1.LoadBalancer {
	r.Helper()
	one, err := r.Client.LoadBalancers.Create(r.ctx, &networkingv1alpha1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: networkingv1alpha1.LoadBalancerSpec{Type: networkingv1alpha1.LoadBalancerTypePublic,
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			NetworkRef: corev1.LocalObjectReference{Name: "nodes"},
			Ports:      []networkingv1alpha1.LoadBalancerPort{{Port: 80}}}}, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return one
}

// delete deletes a load balancer.
func (r *rig) delete(name string) {
	r.Helper()
	if err := r.Client.LoadBalancers.Delete(r.ctx, name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
}

// changes returns a function that returns the changes since its last call, as text: "Node a with routes".
func (r *rig) changes() func() string {
	r.Helper()
	var seen []string
	go r.Changes(r.ctx, func(change cloud.Change) { seen = append(seen, textOf(change)) })
	return func() string {
		synctest.Wait()
		defer func() { seen = nil }()
		return strings.Join(slices.Compact(seen), ", ")
	}
}

func textOf(change cloud.Change) string {
	switch {
	case change.All:
		return "all"
	case change.Service.Name != "":
		return "Service " + change.Service.String()
	case change.Routes:
		return "Node " + change.Node + " with routes"
	}
	return "Node " + change.Node
}

// pass lets time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func names[T Object](objects []T) string {
	all := make([]string, len(objects))
	for i, one := range objects {
		all[i] = one.GetName()
	}
	return strings.Join(all, " ")
}

func want[T comparable](tb testing.TB, what string, got, wanted T) {
	tb.Helper()
	if got != wanted {
		tb.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}
