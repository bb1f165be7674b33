package ironcorelab

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	corev1alpha1 "github.com/ironcore-dev/ironcore/api/core/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"github.com/ironcore-dev/ironcore/client-go/ironcore/versioned"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

const (
	// poolLabel is the name of a pool, as a label of it.
	poolLabel = "ironcorelab/pool"
	// poolSize is the number of machines of each class that a pool has room for.
	poolSize = 10_000
)

// Client returns a client of the API with the rights of the lab.
func (l *Lab) Client() versioned.Interface { return l.client }

// AddNetwork creates the Network of the options, unless it exists.
func (l *Lab) AddNetwork(ctx context.Context) error {
	_, err := l.client.NetworkingV1alpha1().Networks(l.options.Namespace).Create(ctx, &networkingv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.options.Namespace, Name: l.options.Network},
	}, metav1.CreateOptions{})
	return created("creating the Network "+l.options.Network, err)
}

// AddPrefix creates a Prefix from which others are allocated, unless it exists.
func (l *Lab) AddPrefix(ctx context.Context, name string, value netip.Prefix) error {
	prefix := commonv1alpha1.IPPrefix{Prefix: value}
	_, err := l.client.IpamV1alpha1().Prefixes(l.options.Namespace).Create(ctx, &ipamv1alpha1.Prefix{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.options.Namespace, Name: name},
		Spec:       ipamv1alpha1.PrefixSpec{IPFamily: prefix.IP().Family(), Prefix: &prefix},
	}, metav1.CreateOptions{})
	return created("creating the Prefix "+name, err)
}

// AddMachine creates a Machine that is not scheduled yet, its class and its pool, unless they exist.
func (l *Lab) AddMachine(ctx context.Context, machine role.Machine) error {
	machine = machine.WithDefaults(l.options.Network)
	if err := l.addClass(ctx, machine.Class); err != nil {
		return err
	}
	if err := l.AddPool(ctx, machine); err != nil {
		return err
	}
	if machine.Interface != "" {
		_, err := l.client.NetworkingV1alpha1().NetworkInterfaces(l.options.Namespace).Create(ctx,
			machine.NetworkInterface(l.options.Namespace), metav1.CreateOptions{})
		if err := created("creating the network interface "+machine.Interface, err); err != nil {
			return err
		}
	}
	object := machine.Object(l.options.Namespace)
	object.Spec.MachinePoolSelector = map[string]string{poolLabel: machine.Pool}
	object.Spec.MachinePoolRef = nil
	_, err := l.client.ComputeV1alpha1().Machines(l.options.Namespace).Create(ctx, object, metav1.CreateOptions{})
	return created("creating the Machine "+machine.Name, err)
}

func (l *Lab) addClass(ctx context.Context, name string) error {
	_, err := l.client.ComputeV1alpha1().MachineClasses().Create(ctx, &computev1alpha1.MachineClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Capabilities: corev1alpha1.ResourceList{
			corev1alpha1.ResourceCPU:    *resource.NewQuantity(2, resource.DecimalSI),
			corev1alpha1.ResourceMemory: *resource.NewQuantity(4<<30, resource.BinarySI),
		},
	}, metav1.CreateOptions{})
	return created("creating the MachineClass "+name, err)
}

// AddPool creates the pool of a machine, unless it exists.
func (l *Lab) AddPool(ctx context.Context, machine role.Machine) error {
	labels := machine.Topology()
	labels[poolLabel] = machine.Pool
	pool, err := l.client.ComputeV1alpha1().MachinePools().Create(ctx, &computev1alpha1.MachinePool{
		ObjectMeta: metav1.ObjectMeta{Name: machine.Pool, Labels: labels},
		Spec:       computev1alpha1.MachinePoolSpec{ProviderID: "lab://" + machine.Pool},
	}, metav1.CreateOptions{})
	if err != nil {
		return created("creating the MachinePool "+machine.Pool, err)
	}
	pool.Status = computev1alpha1.MachinePoolStatus{State: computev1alpha1.MachinePoolStateReady,
		AvailableMachineClasses: []corev1.LocalObjectReference{{Name: machine.Class}},
		Allocatable: corev1alpha1.ResourceList{ // how many machines the scheduler chooses it for
			corev1alpha1.ClassCountFor(corev1alpha1.ClassTypeMachineClass, machine.Class): *resource.NewQuantity(
				poolSize, resource.DecimalSI)}}
	_, err = l.client.ComputeV1alpha1().MachinePools().UpdateStatus(ctx, pool, metav1.UpdateOptions{})
	return written("writing the status of the MachinePool "+machine.Pool, err)
}

// SetPower starts or stops a machine.
func (l *Lab) SetPower(ctx context.Context, name string, power computev1alpha1.Power) error {
	return poll.Limits{Every: 20 * time.Millisecond, For: time.Minute}.Until(ctx, "the power of "+name+" is written",
		func(ctx context.Context) error {
			machines := l.client.ComputeV1alpha1().Machines(l.options.Namespace)
			machine, err := machines.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return poll.Final(err)
			}
			machine.Spec.Power = power
			_, err = machines.Update(ctx, machine, metav1.UpdateOptions{})
			return err
		})
}

// DeleteMachine deletes a machine, which is gone when the agent has removed its finalizer.
func (l *Lab) DeleteMachine(ctx context.Context, name string) error {
	err := l.client.ComputeV1alpha1().Machines(l.options.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("deleting the Machine %s: %w", name, err)
	}
	return nil
}
