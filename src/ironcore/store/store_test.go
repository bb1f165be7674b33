package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// forbidPools answers all requests for machine pools with 403.
func forbidPools(request simulator.Request) *metav1.Status {
	if request.Resource != "machinepools" {
		return nil
	}
	denied := apierrors.NewForbidden(schema.GroupResource{Group: "compute.ironcore.dev", Resource: "machinepools"}, "",
		errors.New("the user may not list at the cluster scope"))
	return &denied.ErrStatus
}

// TestNotSynced: an error names the kinds that are not listed, and the answer of the API server. All other kinds are
// listed.
func TestNotSynced(t *testing.T) {
	inBubble(t, func(r *rig) {
		want(r, "Ready before Start", r.Ready(), nil)
		r.server.Fail(forbidPools)
		r.Start(r.ctx)
		started := time.Now()
		for what, err := range map[string]error{"WaitForSync": r.WaitForSync(r.ctx), "Ready": r.Ready()} {
			if !errors.Is(err, ErrNotSynced) {
				r.Fatalf("%s: got %v, want %v", what, err, ErrNotSynced)
			}
			for _, part := range []string{"MachinePools (", "forbidden", "may not list", "permissions"} {
				want(r, what+" has "+part, strings.Contains(err.Error(), part), true)
			}
			for _, other := range []string{"Machines (", "Networks (", "NetworkInterfaces (", "Routings ("} {
				want(r, what+" has "+other, strings.Contains(err.Error(), other), false)
			}
		}
		want(r, "time", time.Since(started), syncTimeout)
		for _, kind := range r.inNamespace() {
			want(r, "WaitForSync for "+kind.name(), r.WaitForSync(r.ctx, kind), nil)
		}
		want(r, "time of kinds that are listed", time.Since(started), syncTimeout)
		r.addMachine("a", "10.0.0.1")
		synctest.Wait()
		seen := r.changes()
		want(r, "first report without MachinePools", seen(), "all")
		r.server.Fail(nil)
		pass(time.Minute)
		want(r, "report of MachinePools", seen(), "Node a")
		want(r, "Ready", r.Ready(), nil)
		want(r, "WaitForSync", r.WaitForSync(r.ctx), nil)
	})
}

// TestNotSyncedWithoutAnswer: an API server that does not answer is named as the reason. A context that ends is no
// reason to wait.
func TestNotSyncedWithoutAnswer(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.server.Fail(func(simulator.Request) *metav1.Status { return simulator.Fault(simulator.NoAnswer) })
		r.Start(r.ctx)
		ctx, stop := context.WithTimeout(r.ctx, time.Second)
		defer stop()
		started := time.Now()
		err := r.WaitForSync(ctx)
		want(r, "time", time.Since(started), time.Second)
		if !errors.Is(err, ErrNotSynced) {
			r.Fatalf("got %v, want %v", err, ErrNotSynced)
		}
		for _, kind := range []string{"Machines", "MachinePools", "Networks", "NetworkInterfaces", "LoadBalancers",
			"LoadBalancerRoutings"} {
			want(r, "has "+kind, strings.Contains(err.Error(), kind+" (no answer yet)"), true)
		}
	})
}

// TestInterfacesOfEarlierMachine: the network interfaces of an earlier machine with the same name are not those of the
// new one, and only those in the network of the cluster count.
func TestInterfacesOfEarlierMachine(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a", "10.0.0.1")
		r.sync()
		machine, _ := r.Machines.Get("a")
		found, unknown := r.InterfacesOf(machine)
		want(r, "found", names(found), "a-primary")
		want(r, "unknown", strings.Join(unknown, " "), "")
		again := machine.DeepCopy()
		again.UID = "another"
		found, unknown = r.InterfacesOf(again)
		want(r, "found for the new machine", names(found), "")
		want(r, "unknown for the new machine", strings.Join(unknown, " "), "a-primary")
		r.server.ChangeNetworkInterface("a-primary", func(n *networkingv1alpha1.NetworkInterface) {
			n.Spec.MachineRef = nil
		})
		synctest.Wait()
		found, _ = r.InterfacesOf(again)
		want(r, "found without a reference", names(found), "a-primary")
		r.server.ChangeNetworkInterface("a-primary", func(n *networkingv1alpha1.NetworkInterface) {
			n.Spec.NetworkRef.Name = "storage"
		})
		synctest.Wait()
		found, _ = r.InterfacesOf(again)
		want(r, "found in another network", names(found), "")
	})
}

// TestMachineOf: a Node has the name of its machine. The provider ID is not believed if it names another one, and a
// machine with the label of another cluster is not one of this cluster.
func TestMachineOf(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a", "10.0.0.1")
		r.addMachine("green", "10.0.0.2")
		r.server.ChangeMachine("green", func(m *computev1alpha1.Machine) {
			m.Labels = map[string]string{label.Cluster: "green"}
		})
		r.sync()
		for _, tt := range []struct {
			node, id, machine string
			exists, fails     bool
		}{
			{"a", "ironcore://shoot/a", "a", true, false},
			{"gone", "ironcore://shoot/gone", "gone", false, false},
			{"b", "ironcore://shoot/a", "", false, true},
			{"a", "ironcore://other/a", "", false, true},
			{"a", "", "", false, true},
			{"green", "ironcore://shoot/green", "green", true, true},
		} {
			name, machine, err := r.MachineOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: tt.node},
				Spec: corev1.NodeSpec{ProviderID: tt.id}})
			what := "Node " + tt.node + " with " + tt.id
			want(r, what, name, tt.machine)
			want(r, what+" exists", machine != nil, tt.exists)
			want(r, what+" fails", errors.Is(err, cloud.ErrInvalidProviderID), tt.fails)
		}
	})
}
