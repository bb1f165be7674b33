package role

import (
	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InterfaceName returns the name of the network interface of an entry of a machine.
func InterfaceName(machine *computev1alpha1.Machine, entry computev1alpha1.NetworkInterface) string {
	if entry.NetworkInterfaceRef != nil {
		return entry.NetworkInterfaceRef.Name
	}
	return machine.Name + "-" + entry.Name
}

// MarkGenerated marks an object as one that IronCore generates for a machine.
func MarkGenerated(nic *networkingv1alpha1.NetworkInterface, machine *computev1alpha1.Machine) {
	metav1.SetMetaDataAnnotation(&nic.ObjectMeta, commonv1alpha1.EphemeralManagedByAnnotation,
		commonv1alpha1.DefaultEphemeralManager)
	nic.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(machine, computev1alpha1.SchemeGroupVersion.WithKind("Machine")),
	}
}

// Running sets the status that the agent of the pool reports for a machine that runs; runtime is the kind of its IDs.
func Running(machine *computev1alpha1.Machine, runtime string) {
	machine.Status.MachineID = runtime + "://" + machine.Name
	machine.Status.State = computev1alpha1.MachineStateRunning
	if machine.Spec.Power == computev1alpha1.PowerOff {
		machine.Status.State = computev1alpha1.MachineStateShutdown
	}
	machine.Status.NetworkInterfaces = nil
	for _, entry := range machine.Spec.NetworkInterfaces {
		name := InterfaceName(machine, entry)
		machine.Status.NetworkInterfaces = append(machine.Status.NetworkInterfaces,
			computev1alpha1.NetworkInterfaceStatus{
				Name: entry.Name, Handle: runtime + "://" + name,
				State:               computev1alpha1.NetworkInterfaceStateAttached,
				NetworkInterfaceRef: corev1.LocalObjectReference{Name: name},
			})
	}
}

// ProviderID returns the provider ID that the agent of a pool writes on a network interface.
func ProviderID(nic *networkingv1alpha1.NetworkInterface, pool string) string {
	return "ironcore-net://" + nic.Namespace + "/" + nic.Name + "/" + pool + "/" + string(nic.UID)
}
