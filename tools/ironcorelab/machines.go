package ironcorelab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

// machineFinalizer is that of the agent of a pool.
const machineFinalizer = "machinepoollet.ironcore.dev/machine"

func (l *Lab) reconcileMachine(ctx context.Context, i item) error {
	cached, err := l.caches.machines.Machines(i.namespace).Get(i.name)
	if err != nil {
		return l.gone(i, err)
	}
	machine := cached.DeepCopy()
	if machine.DeletionTimestamp != nil {
		return l.terminate(ctx, i, machine)
	}
	if err := l.generateInterfaces(ctx, machine); err != nil {
		return err
	}
	if changed := l.schedule(machine); changed {
		_, err := l.client.ComputeV1alpha1().Machines(i.namespace).Update(ctx, machine, metav1.UpdateOptions{})
		return written("binding the machine to a pool", err)
	}
	if machine.Spec.MachinePoolRef == nil {
		return nil // until there is a pool for it
	}
	return l.boot(ctx, i, machine)
}

// schedule is the scheduler, and the agent that takes over a machine that has a pool.
func (l *Lab) schedule(machine *computev1alpha1.Machine) (changed bool) {
	if machine.Spec.MachinePoolRef == nil {
		pools, _ := l.caches.pools.List(labels.SelectorFromSet(machine.Spec.MachinePoolSelector))
		if len(pools) == 0 {
			return false
		}
		first := slices.MinFunc(pools, func(a, b *computev1alpha1.MachinePool) int {
			return strings.Compare(a.Name, b.Name)
		})
		machine.Spec.MachinePoolRef = &corev1.LocalObjectReference{Name: first.Name}
		changed = true
	}
	if !slices.Contains(machine.Finalizers, machineFinalizer) {
		machine.Finalizers = append(machine.Finalizers, machineFinalizer)
		changed = true
	}
	return changed
}

// boot is the agent, which reports what runs.
func (l *Lab) boot(ctx context.Context, i item, machine *computev1alpha1.Machine) error {
	before := machine.Status.DeepCopy()
	role.Running(machine, "lab")
	if same(before, &machine.Status) {
		l.settled(i, "boot")
		return nil
	}
	if before.State != computev1alpha1.MachineStateRunning && !l.passed(i, "boot", l.options.Boot) {
		return nil
	}
	_, err := l.client.ComputeV1alpha1().Machines(i.namespace).UpdateStatus(ctx, machine, metav1.UpdateOptions{})
	return written("writing the status of the machine", err)
}

// terminate ends a machine that is deleted.
func (l *Lab) terminate(ctx context.Context, i item, machine *computev1alpha1.Machine) error {
	if !slices.Contains(machine.Finalizers, machineFinalizer) || !l.passed(i, "end", l.options.Deletion) {
		return nil
	}
	machine.Finalizers = without(machine.Finalizers, machineFinalizer)
	_, err := l.client.ComputeV1alpha1().Machines(i.namespace).Update(ctx, machine, metav1.UpdateOptions{})
	return written("removing the finalizer of the machine", err)
}

// generateInterfaces creates the network interfaces that are ephemeral, once.
func (l *Lab) generateInterfaces(ctx context.Context, machine *computev1alpha1.Machine) error {
	for _, entry := range machine.Spec.NetworkInterfaces {
		nic := role.EphemeralInterface(machine, entry)
		if nic == nil {
			continue
		}
		if _, err := l.caches.interfaces.NetworkInterfaces(nic.Namespace).Get(nic.Name); err == nil {
			continue
		}
		interfaces := l.client.NetworkingV1alpha1().NetworkInterfaces(nic.Namespace)
		_, err := interfaces.Create(ctx, nic, metav1.CreateOptions{})
		if err := created(fmt.Sprintf("generating the network interface %s", nic.Name), err); err != nil {
			return err
		}
	}
	return nil
}

func without(all []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one })
}
