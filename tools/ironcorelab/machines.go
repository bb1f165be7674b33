package ironcorelab

import (
	"context"
	"slices"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	if machine.Spec.MachinePoolRef == nil {
		return nil // until the scheduler has chosen a pool
	}
	if !slices.Contains(machine.Finalizers, machineFinalizer) {
		machine.Finalizers = append(machine.Finalizers, machineFinalizer)
		_, err := l.client.ComputeV1alpha1().Machines(i.namespace).Update(ctx, machine, metav1.UpdateOptions{})
		return written("adding the finalizer of the machine", err)
	}
	return l.boot(ctx, i, machine)
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

func without(all []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one })
}
