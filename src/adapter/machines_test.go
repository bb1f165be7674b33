package adapter

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// plainInstances answers all questions alike.
type plainInstances struct {
	exists, off bool
	metadata    *cloudprovider.InstanceMetadata
	err         error
}

func (i plainInstances) InstanceExists(context.Context, *corev1.Node) (bool, error) {
	return i.exists, i.err
}

func (i plainInstances) InstanceShutdown(context.Context, *corev1.Node) (bool, error) {
	return i.off, i.err
}

func (i plainInstances) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return i.metadata, i.err
}

// fresh is a Node without a provider ID.
func fresh() *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}} }

// TestOwns: a cloud owns the provider IDs that begin with its name.
func TestOwns(t *testing.T) {
	machines := Machines("plain", plainInstances{})
	for id, want := range map[string]bool{"plain://1": true, "other://plain://1": false, "": false} {
		if got := machines.Owns(id); got != want {
			t.Errorf("Owns(%q) is %v", id, got)
		}
	}
}

// TestMachineState: the answers of cloudprovider.InstancesV2 become states.
func TestMachineState(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		instances plainInstances
		state     cloud.MachineState
		valid     bool
	}{
		"runs":   {plainInstances{exists: true}, cloud.MachineRunning, true},
		"off":    {plainInstances{exists: true, off: true}, cloud.MachineStopped, true},
		"gone":   {plainInstances{}, cloud.MachineGone, false},
		"broken": {plainInstances{exists: true, err: broken}, cloud.MachineUnknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			machines := Machines("plain", tt.instances)
			look, err := machines.State(t.Context(), fresh(), time.Now())
			confirm, _ := machines.Confirm(t.Context(), fresh())
			if look != tt.state || confirm != tt.state || !errors.Is(err, tt.instances.err) {
				t.Errorf("look %s, confirm %s, error %v; want %s", look, confirm, err, tt.state)
			}
			if err := machines.CheckCredentials(t.Context(), []*corev1.Node{fresh()}); (err == nil) != tt.valid {
				t.Errorf("credentials: %v", err)
			}
		})
	}
	if err := Machines("plain", plainInstances{exists: true}).CheckCredentials(t.Context(), nil); err == nil {
		t.Error("credentials are valid without a canary")
	}
}

// TestFind: a cloud that returns no metadata has nothing to do with the Node.
func TestFind(t *testing.T) {
	broken := errors.New("broken")
	find := func(i plainInstances) (cloud.Machine, error) {
		return Machines("plain", i).Find(t.Context(), fresh(), time.Now())
	}
	if _, err := find(plainInstances{}); !errors.Is(err, cloud.ErrOtherCloud) {
		t.Errorf("without metadata: %v", err)
	}
	if _, err := find(plainInstances{err: broken}); !errors.Is(err, broken) {
		t.Errorf("with an error: %v", err)
	}
	_, err := find(plainInstances{err: cloudprovider.InstanceNotFound})
	if problem, ok := errors.AsType[*cloud.MachineProblem](err); !ok || problem.Reason != cloud.MachineNotFound {
		t.Errorf("without a machine: %v", err)
	}
	internal := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	machine, err := find(plainInstances{metadata: &cloudprovider.InstanceMetadata{ProviderID: "plain://1",
		InstanceType: "small", Zone: "z", Region: "r",
		NodeAddresses: internal, AdditionalLabels: map[string]string{"a": "b"}}})
	want := cloud.Machine{ProviderID: "plain://1", Addresses: internal, Type: "small", Zone: "z", Region: "r",
		Labels: map[string]string{"a": "b"}}
	if diff := cmp.Diff(want, machine); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// TestOtherClouds: Nodes with the provider ID of another cloud get neither traffic nor routes. Those without any do,
// because some clouds find a Node by its name.
func TestOtherClouds(t *testing.T) {
	balancers, routes := LoadBalancers("plain", nil, "k1", nil), Routes("plain", nil, "k1")
	for id, want := range map[string]bool{"plain://1": true, "": true, "other:///1": false} {
		one := fresh()
		one.Spec.ProviderID = id
		_, ours := balancers.Identify(one)
		members, err := routes.Members(t.Context(), []*corev1.Node{one})
		if ours != want || routes.Owns(one) != want || (len(members) == 1) != want || err != nil {
			t.Errorf("%q: target %t, owned %t, %d members, error %v; want %t", id, ours, routes.Owns(one),
				len(members), err, want)
		}
	}
}
