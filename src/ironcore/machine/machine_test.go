package machine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/store"
)

// rig is a provider of the machines of a simulated IronCore, in a synctest bubble.
type rig struct {
	*testing.T
	ctx    context.Context
	server *simulator.Simulator
	*Provider
}

// inBubble runs a test with the machine a, which the watches have reported.
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
		r.add("a", "10.0.0.1")
		s.Start(ctx)
		if err := s.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		server.ForgetRequests()
		test(r)
	})
}

func (r *rig) add(name, address string) {
	r.server.AddMachine(simulator.Machine{Name: name, Zone: "zone-1", Region: "region-1",
		Addresses: []netip.Addr{netip.MustParseAddr(address)}})
}

// node returns the Node of a machine.
func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{ProviderID: providerid.Of("shoot", name)}}
}

// fresh returns the Node of a machine before it is initialised.
func fresh(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func (r *rig) find(node *corev1.Node) cloud.Machine {
	r.Helper()
	found, err := r.Find(r.ctx, node, time.Now())
	if err != nil {
		r.Fatal(err)
	}
	return found
}

// state checks the state of a machine that the watches have not reported, from a list at or after a time.
func (r *rig) state(what, machine string, notBefore time.Time, wanted cloud.MachineState) {
	r.Helper()
	state, err := r.State(r.ctx, node(machine), notBefore)
	want(r, "error of "+what, err, nil)
	want(r, what, state, wanted)
}

// lists returns how many lists of machines were requested.
func (r *rig) lists() int {
	count := 0
	for _, request := range r.server.Requests() {
		if request.String() == "list machines" {
			count++
		}
	}
	return count
}

// TestStates: the state of a machine that exists. The shutdown taint of a Node stays while its machine is being
// deleted, whatever the status of the machine says, and while its state is unknown.
func TestStates(t *testing.T) {
	for name, test := range map[string]struct {
		status  computev1alpha1.MachineState
		deleted bool
		want    cloud.MachineState
	}{
		"no state":              {"", false, cloud.MachineRunning},
		"pending":               {computev1alpha1.MachineStatePending, false, cloud.MachineRunning},
		"running":               {computev1alpha1.MachineStateRunning, false, cloud.MachineRunning},
		"shut down":             {computev1alpha1.MachineStateShutdown, false, cloud.MachineStopped},
		"terminated":            {computev1alpha1.MachineStateTerminated, false, cloud.MachineStopped},
		"terminating":           {computev1alpha1.MachineStateTerminating, false, cloud.MachineDeleting},
		"of a later version":    {"Suspended", false, cloud.MachineUnknown},
		"running and deleted":   {computev1alpha1.MachineStateRunning, true, cloud.MachineDeleting},
		"shut down and deleted": {computev1alpha1.MachineStateShutdown, true, cloud.MachineDeleting},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.server.ChangeMachine("a", func(m *computev1alpha1.Machine) {
					m.Status.State, m.Finalizers = test.status, []string{"example.com/held"}
				})
				if test.deleted {
					r.server.DeleteMachine("a")
				}
				synctest.Wait()
				r.state("state", "a", time.Now(), test.want)
				confirmed, err := r.Confirm(r.ctx, node("a"))
				want(r, "error of Confirm", err, nil)
				want(r, "state of Confirm", confirmed, test.want)
			})
		})
	}
}

// TestStateOfMissingMachine: a machine that the watch has not reported is looked up in a list, which all Nodes share as
// long as it is new enough.
func TestStateOfMissingMachine(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.server.DelayEvents(time.Hour)
		r.add("late", "10.0.0.2")
		first := time.Now()
		r.state("state of a machine that the watch has reported", "a", first, cloud.MachineRunning)
		want(r, "lists for it", r.lists(), 0)
		r.state("state of a machine that the watch has not reported", "late", first, cloud.MachineRunning)
		for i := range 100 {
			r.state("state of a machine that does not exist", fmt.Sprintf("gone-%d", i), first, cloud.MachineGone)
		}
		want(r, "lists for all Nodes", r.lists(), 1)
		want(r, "requests", len(r.server.Requests()), 1)
		<-time.After(time.Minute)
		r.add("gone-1", "10.0.0.3")
		r.state("state from the list", "gone-1", first, cloud.MachineGone)
		r.state("state from a list of now", "gone-1", time.Now(), cloud.MachineRunning)
		want(r, "lists", r.lists(), 2)
		r.state("state from a list that is newer than necessary", "gone-1", first, cloud.MachineRunning)
		want(r, "lists", r.lists(), 2)
	})
}

// TestStateOfMachineDeletedAfterTheList: a machine that was deleted after the last list is missing. Otherwise the Node
// of a machine that was shut down and is deleted would stay: the list is new enough for it.
func TestStateOfMachineDeletedAfterTheList(t *testing.T) {
	inBubble(t, func(r *rig) {
		shutDown := time.Now()
		r.state("state of another machine", "other", shutDown, cloud.MachineGone)
		want(r, "lists", r.lists(), 1)
		r.server.DeleteMachine("a")
		<-time.After(time.Second)
		synctest.Wait()
		r.state("state of the deleted machine", "a", shutDown, cloud.MachineGone)
		want(r, "lists", r.lists(), 2)
		r.state("state of the deleted machine again", "a", shutDown, cloud.MachineGone)
		want(r, "lists", r.lists(), 2)
	})
}

// TestStateIsNotGoneAfterAnError: a machine is not gone if the list fails. The next call lists again.
func TestStateIsNotGoneAfterAnError(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.server.Fail(func(simulator.Request) *metav1.Status { return simulator.Fault(simulator.Unreachable) })
		state, err := r.State(r.ctx, node("gone"), time.Now())
		want(r, "an error", err != nil, true)
		want(r, "state", state, cloud.MachineUnknown)
		state, err = r.Confirm(r.ctx, node("gone"))
		want(r, "an error of Confirm", err != nil, true)
		want(r, "state of Confirm", state, cloud.MachineUnknown)
		r.server.Fail(nil)
		r.state("state after the error", "gone", time.Now(), cloud.MachineGone)
	})
}

// TestListThatTakesLong: who needs no newer list does not wait for one, and who does waits no longer than allowed.
func TestListThatTakesLong(t *testing.T) {
	inBubble(t, func(r *rig) {
		first := time.Now()
		r.state("state", "gone", first, cloud.MachineGone)
		<-time.After(time.Second)
		answer := make(chan struct{})
		r.server.Fail(func(simulator.Request) *metav1.Status { <-answer; return nil })
		var wg sync.WaitGroup
		newest := time.Now()
		wg.Go(func() { r.state("state from the newer list", "gone", newest, cloud.MachineGone) })
		synctest.Wait()
		r.state("state from the older list", "gone", first, cloud.MachineGone)
		ctx, stop := context.WithTimeout(r.ctx, time.Second)
		defer stop()
		_, err := r.State(ctx, node("gone"), newest)
		want(r, "error after a second", errors.Is(err, context.DeadlineExceeded), true)
		close(answer)
		wg.Wait()
		want(r, "lists", r.lists(), 2)
	})
}

// TestZoneOfUnknownPool: the labels of a Node do not change while the pool of its machine is not known.
func TestZoneOfUnknownPool(t *testing.T) {
	inBubble(t, func(r *rig) {
		found := r.find(node("a"))
		want(r, "zone", found.Zone, "zone-1")
		want(r, "region", found.Region, "region-1")
		r.server.Delete("MachinePool", "pool")
		synctest.Wait()
		found = r.find(node("a"))
		want(r, "zone of an unknown pool", found.Zone, "")
		want(r, "region of an unknown pool", found.Region, "")
		want(r, "problems", len(found.Problems), 0)
		r.server.ChangeMachine("a", func(m *computev1alpha1.Machine) { m.Spec.MachinePoolRef = nil })
		synctest.Wait()
		want(r, "zone of a machine that is not scheduled", r.find(node("a")).Zone, "")
	})
}

// TestLongNames: names that cannot be values of labels are left out and reported. The network interface that a machine
// refers to may have any name.
func TestLongNames(t *testing.T) {
	inBubble(t, func(r *rig) {
		long := strings.Repeat("x", 64)
		r.server.AddMachine(simulator.Machine{Name: "b", Class: "class-" + long, Pool: "pool-" + long,
			Interface: "ordered-before", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.2")}})
		synctest.Wait()
		found := r.find(fresh("b"))
		want(r, "type", found.Type, "")
		want(r, "zone", found.Zone, "")
		want(r, "address", found.Addresses[0].Address, "10.0.0.2")
		for i, name := range []string{"class-" + long, "pool-" + long} {
			want(r, "reason", found.Problems[i].Reason, cloud.InvalidSetting)
			want(r, "names "+name, strings.Contains(found.Problems[i].Message, name), true)
		}
	})
}

// TestFindReplacedMachine: a machine that was created again with the same name has its own addresses, although the
// watch shows those of the earlier one.
func TestFindReplacedMachine(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.server.DelayEvents(time.Minute / 2)
		r.server.DeleteMachine("a")
		r.add("a", "10.0.0.2")
		for _, one := range []*corev1.Node{fresh("a"), node("a")} { // the second one uses what the first one has read
			found := r.find(one)
			if len(found.Addresses) == 0 {
				r.Fatalf("the Node with the provider ID %q has no address: %v", one.Spec.ProviderID, found.Problems)
			}
			want(r, "address with the provider ID "+one.Spec.ProviderID, found.Addresses[0].Address, "10.0.0.2")
		}
	})
}

// TestFindElsewhere: a Node does not get the machine of another one, and not that of another cluster.
func TestFindElsewhere(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.add("green", "10.0.0.2")
		r.server.ChangeMachine("green", func(m *computev1alpha1.Machine) {
			m.Labels = map[string]string{label.Cluster: "green"}
		})
		synctest.Wait()
		other := node("a")
		other.Name = "b"
		for what, one := range map[string]*corev1.Node{"the name of another machine": other,
			"the machine of another cluster": node("green"), "the same without a provider ID": fresh("green")} {
			_, err := r.Find(r.ctx, one, time.Now())
			problem, is := errors.AsType[*cloud.MachineProblem](err)
			if !is {
				r.Fatalf("%s: got %v, want a problem", what, err)
			}
			want(r, "reason of "+what, problem.Reason, cloud.MachineElsewhere)
		}
	})
}

func want[T comparable](tb testing.TB, what string, got, wanted T) {
	tb.Helper()
	if got != wanted {
		tb.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

// TestNearMissOfANodeName: if only the domain differs, the message names the machine that the Node may run on.
func TestNearMissOfANodeName(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.add("dotted.example.com", "10.0.0.2")
		synctest.Wait()
		want(r, "provider ID of a name with dots", r.find(fresh("dotted.example.com")).ProviderID,
			providerid.Of("shoot", "dotted.example.com"))
		for name, override := range map[string]string{
			"a.example.com": "--hostname-override=a, if it runs on that machine.",
			"dotted":        "--hostname-override=dotted.example.com, if it runs on that machine.",
			"other":         "start the kubelet with --hostname-override.",
		} {
			_, err := r.Find(r.ctx, fresh(name), time.Now())
			if err == nil || !strings.Contains(err.Error(), "create the machine, or start") ||
				!strings.Contains(err.Error(), override) {
				t.Errorf("%s: error %v, want %q in it", name, err, override)
			}
		}
	})
}

// TestWithoutMachinePools: without the permission for machine pools, a new Node waits for its zone, and everything else
// goes on.
func TestWithoutMachinePools(t *testing.T) {
	inBubble(t, func(r *rig) {
		denied := apierrors.NewForbidden(schema.GroupResource{Resource: "machinepools"}, "", errors.New("denied"))
		r.server.Fail(func(request simulator.Request) *metav1.Status {
			if request.Resource == "machinepools" {
				return &denied.ErrStatus
			}
			return nil
		})
		s := store.New(r.store.Client, "nodes", "blue")
		s.Start(r.ctx)
		r.Provider = New(s)
		one := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec: corev1.NodeSpec{ProviderID: "ironcore://shoot/a"}}
		found, err := r.Find(r.ctx, one, time.Time{})
		want(r, "error", err, nil)
		want(r, "addresses", len(found.Addresses), 2)
		state, err := r.State(r.ctx, one, time.Time{})
		want(r, "error of State", err, nil)
		want(r, "state", state, cloud.MachineRunning)
		one.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider}}
		_, err = r.Find(r.ctx, one, time.Time{})
		want(r, "a new Node waits", errors.Is(err, store.ErrNotSynced), true)
		r.server.Fail(nil)
		<-time.After(2 * time.Minute) // the pauses of the informer grow to a minute
		found, err = r.Find(r.ctx, one, time.Time{})
		want(r, "error with the permission", err, nil)
		want(r, "zone", found.Zone, "zone-1")
	})
}
