package node

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// plainCloud is a cloud with nothing but the interface of k8s.io/cloud-provider.
type plainCloud struct {
	cloudprovider.Interface
	instances cloudprovider.InstancesV2
}

func (c plainCloud) ProviderName() string { return "plain" }

func (c plainCloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return c.instances, c.instances != nil
}

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

// answering is a Provider that says what it is told to.
type answering struct {
	fakeCloud
	look, confirm cloud.MachineState
	lookErr       error
}

func (a *answering) State(context.Context, *corev1.Node, time.Time) (cloud.MachineState, error) {
	return a.look, a.lookErr
}

func (a *answering) Confirm(context.Context, *corev1.Node) (cloud.MachineState, error) {
	return a.confirm, nil
}

// TestProviderOf: what is in a Library comes out of it, and what is not gets defaults.
func TestProviderOf(t *testing.T) {
	if _, _, ok := ProviderOf(plainCloud{}); ok {
		t.Error("a cloud without machines has a provider")
	}
	inside, behaviour := &fakeCloud{}, cloud.MachineBehaviour{Domain: "x.com", MaxRemovals: 3}
	provider, got, ok := ProviderOf(plainCloud{instances: NewLibrary(inside, behaviour)})
	if provider != cloud.Machines(inside) || got != behaviour || !ok {
		t.Errorf("got %v, %+v, %v", provider, got, ok)
	}
	provider, got, ok = ProviderOf(plainCloud{instances: plainInstances{}})
	want := cloud.MachineBehaviour{Domain: "plain.cloud-provider", GracePeriod: time.Minute, MaxRemovals: 20, RemovalWindow: 10 * time.Minute}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !provider.Owns("plain://1") || provider.Owns("other://plain://1") || provider.Owns("") {
		t.Error("a provider owns what begins with its name")
	}
}

// TestLibraryExists: only the list and the cloud itself together say that a machine is gone.
func TestLibraryExists(t *testing.T) {
	for name, tt := range map[string]struct {
		providerID string
		fake       *answering
		exists     bool
		off        bool
		err        string
	}{
		"runs":                       {"ground://a", &answering{look: cloud.MachineRunning}, true, false, ""},
		"stopped":                    {"ground://a", &answering{look: cloud.MachineStopped}, true, true, ""},
		"deleting":                   {"ground://a", &answering{look: cloud.MachineDeleting}, true, true, ""},
		"unknown":                    {"ground://a", &answering{look: cloud.MachineUnknown}, true, false, ""},
		"gone":                       {"ground://a", &answering{look: cloud.MachineGone, confirm: cloud.MachineGone}, false, false, ""},
		"missing in the list":        {"ground://a", &answering{look: cloud.MachineGone, confirm: cloud.MachineRunning}, true, false, ""},
		"an error":                   {"ground://a", &answering{look: cloud.MachineGone, lookErr: errors.New("no answer")}, false, false, "no answer"},
		"another cloud's":            {"other://a", &answering{look: cloud.MachineGone, confirm: cloud.MachineGone}, false, false, "not of this cloud"},
		"never initialised":          {"", &answering{look: cloud.MachineGone, confirm: cloud.MachineGone}, false, false, "no machine a"},
		"not initialised, and there": {"", &answering{look: cloud.MachineRunning, fakeCloud: fakeCloud{machines: map[string]cloud.Machine{"a": {ProviderID: "ground://a"}}}}, true, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			node := fresh()
			node.Spec.ProviderID = tt.providerID
			library := NewLibrary(tt.fake, cloud.MachineBehaviour{})
			exists, err := library.InstanceExists(t.Context(), node)
			off, offErr := library.InstanceShutdown(t.Context(), node)
			if exists != tt.exists || off != tt.off || node.Spec.ProviderID != tt.providerID {
				t.Errorf("exists %v, off %v", exists, off)
			}
			for _, err := range []error{err, offErr} {
				if (err != nil) != (tt.err != "") || (err != nil && !strings.Contains(err.Error(), tt.err)) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
			}
		})
	}
}

// TestLibraryMetadata: what the provider says of a machine, in the words of k8s.io/cloud-provider.
func TestLibraryMetadata(t *testing.T) {
	machine := machineA()
	machine.Labels = map[string]string{"a": "b"}
	fake := &fakeCloud{machines: map[string]cloud.Machine{"a": machine}}
	library := NewLibrary(fake, cloud.MachineBehaviour{})
	got, err := library.InstanceMetadata(t.Context(), fresh())
	want := &cloudprovider.InstanceMetadata{ProviderID: "ground://a", NodeAddresses: machine.Addresses, InstanceType: "small", Zone: "z1", Region: "r1", AdditionalLabels: machine.Labels}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	delete(fake.machines, "a")
	if _, err := library.InstanceMetadata(t.Context(), fresh()); !errors.Is(err, cloudprovider.InstanceNotFound) || !strings.Contains(err.Error(), "no machine a") {
		t.Errorf("error %v, want InstanceNotFound", err)
	}
	fake.err = func(string) error { return &cloud.MachineProblem{Reason: cloud.CloudRefused, Message: "no"} }
	if _, err := library.InstanceMetadata(t.Context(), fresh()); err == nil || errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("error %v, want another than InstanceNotFound", err)
	}
}

// TestClassic: the methods of k8s.io/cloud-provider as a Provider.
func TestClassic(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		instances plainInstances
		state     cloud.MachineState
		vouches   bool
	}{
		"runs":   {plainInstances{exists: true}, cloud.MachineRunning, true},
		"off":    {plainInstances{exists: true, off: true}, cloud.MachineStopped, true},
		"gone":   {plainInstances{}, cloud.MachineGone, false},
		"broken": {plainInstances{exists: true, err: broken}, cloud.MachineUnknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			provider := Classic("plain", tt.instances)
			look, err := provider.State(t.Context(), fresh(), time.Now())
			confirm, _ := provider.Confirm(t.Context(), fresh())
			if look != tt.state || confirm != tt.state || !errors.Is(err, tt.instances.err) {
				t.Errorf("look %s, confirm %s, error %v; want %s", look, confirm, err, tt.state)
			}
			if err := provider.CheckCredentials(t.Context(), []*corev1.Node{fresh()}); (err == nil) != tt.vouches {
				t.Errorf("vouches: %v", err)
			}
		})
	}
	if err := Classic("plain", plainInstances{exists: true}).CheckCredentials(t.Context(), nil); err == nil {
		t.Error("it vouches without a canary")
	}
}

// TestClassicFind: what is nothing for k8s.io/cloud-provider is nothing here, and never a panic.
func TestClassicFind(t *testing.T) {
	broken := errors.New("broken")
	find := func(i plainInstances) (cloud.Machine, error) {
		return Classic("plain", i).Find(t.Context(), fresh(), time.Now())
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
	machine, err := find(plainInstances{metadata: &cloudprovider.InstanceMetadata{ProviderID: "plain://1", InstanceType: "small", Zone: "z", Region: "r",
		NodeAddresses: addresses("in 10.0.0.1"), AdditionalLabels: map[string]string{"a": "b"}}})
	want := cloud.Machine{ProviderID: "plain://1", Addresses: addresses("in 10.0.0.1"), Type: "small", Zone: "z", Region: "r", Labels: map[string]string{"a": "b"}}
	if diff := cmp.Diff(want, machine); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// TestControllerOfCloudProviderInterface: without metadata nothing is done, and nothing panics; with it the Node is initialised.
func TestControllerOfCloudProviderInterface(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.register("a", nil)
		instances := &plainInstances{}
		r.startWith(Classic("plain", instances), 1)
		r.pass(2 * resyncPeriod)
		r.want("writes without metadata", r.written(), "")
		r.want("events without metadata", len(r.warnings()), 0)
		instances.metadata = &cloudprovider.InstanceMetadata{ProviderID: "plain://1", NodeAddresses: addresses("in 10.0.0.1")}
		r.change("a", func(n *corev1.Node) { n.Labels["x"] = "y" })
		r.pass(time.Second)
		r.want("writes", r.written(), "a status, a")
		r.want("provider ID", r.node("a").Spec.ProviderID, "plain://1")
		if diff := cmp.Diff(addresses("in 10.0.0.1, host a"), r.node("a").Status.Addresses); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}
	})
}
