package ironcorelab

import (
	"context"
	"net/netip"
	"slices"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

// interfaceFinalizer is that of the network provider.
const interfaceFinalizer = "apinet.ironcore.dev/networkinterface"

func (l *Lab) reconcileNetwork(ctx context.Context, i item) error {
	cached, err := l.caches.networks.Networks(i.namespace).Get(i.name)
	if err != nil {
		return l.gone(i, err)
	}
	network := cached.DeepCopy()
	networks := l.client.NetworkingV1alpha1().Networks(i.namespace)
	if network.Spec.ProviderID == "" {
		network.Spec.ProviderID = "ironcore-net://" + network.Namespace + "/" + network.Name
		if network, err = networks.Update(ctx, network, metav1.UpdateOptions{}); err != nil {
			return written("writing the provider ID of the network", err)
		}
	}
	if network.Status.State != networkingv1alpha1.NetworkStateAvailable {
		network.Status.State = networkingv1alpha1.NetworkStateAvailable
		_, err = networks.UpdateStatus(ctx, network, metav1.UpdateOptions{})
	}
	return written("writing the status of the network", err)
}

func (l *Lab) reconcileInterface(ctx context.Context, i item) error {
	cached, err := l.caches.interfaces.NetworkInterfaces(i.namespace).Get(i.name)
	if err != nil {
		if err := l.forgetInterface(ctx, i); err != nil {
			return err
		}
		return l.gone(i, err)
	}
	nic := cached.DeepCopy()
	if l.attach(i, nic) {
		_, err := l.client.NetworkingV1alpha1().NetworkInterfaces(i.namespace).Update(ctx, nic, metav1.UpdateOptions{})
		return written("attaching the network interface", err)
	}
	if err := l.connect(ctx, i, nic); err != nil {
		return err
	}
	return l.routeInterface(ctx, i, cached)
}

// attach is the agent of the pool, and the finalizer of the network provider.
func (l *Lab) attach(i item, nic *networkingv1alpha1.NetworkInterface) (changed bool) {
	held := slices.Contains(nic.Finalizers, interfaceFinalizer)
	if nic.DeletionTimestamp != nil {
		if held && l.passed(i, "end", l.options.Deletion) {
			nic.Finalizers = without(nic.Finalizers, interfaceFinalizer)
			return true
		}
		return false
	}
	if !held {
		nic.Finalizers, changed = append(nic.Finalizers, interfaceFinalizer), true
	}
	machine := l.machineOf(nic)
	if machine == nil || machine.Spec.MachinePoolRef == nil {
		return changed
	}
	if nic.Spec.MachineRef == nil {
		nic.Spec.MachineRef, changed = commonv1alpha1.NewLocalObjUIDRef(machine), true
	}
	if id := role.ProviderID(nic, machine.Spec.MachinePoolRef.Name); nic.Spec.ProviderID != id {
		nic.Spec.ProviderID, changed = id, true
	}
	return changed
}

// machineOf returns the machine that has a network interface; nil if there is none.
func (l *Lab) machineOf(nic *networkingv1alpha1.NetworkInterface) *computev1alpha1.Machine {
	machines, _ := l.caches.machines.Machines(nic.Namespace).List(labels.Everything())
	for _, machine := range machines {
		for _, entry := range machine.Spec.NetworkInterfaces {
			if role.InterfaceName(machine, entry) == nic.Name {
				return machine
			}
		}
	}
	return nil
}

// connect is the network provider: it writes what a network interface has.
func (l *Lab) connect(ctx context.Context, i item, nic *networkingv1alpha1.NetworkInterface) error {
	ready := nic.DeletionTimestamp == nil && nic.Spec.ProviderID != ""
	if !ready || !l.networkReady(i.namespace, nic.Spec.NetworkRef.Name) {
		return nil
	}
	status := nic.Status.DeepCopy()
	allocated := l.allocatedFor(nic)
	status.IPs, status.Prefixes = role.Addresses(nic.Name, nic.Spec.IPs, allocated), role.Prefixes(nic, allocated)
	status.VirtualIP = l.virtualIP(nic)
	if len(status.IPs) == len(nic.Spec.IPs) {
		status.State = networkingv1alpha1.NetworkInterfaceStateAvailable
	}
	if same(status, &nic.Status) {
		l.settled(i, "connect")
		return nil
	}
	if !l.passed(i, "connect", l.options.Provision) {
		return nil
	}
	if status.State != nic.Status.State {
		now := metav1.Now()
		status.LastStateTransitionTime = &now
	}
	nic.Status = *status
	interfaces := l.client.NetworkingV1alpha1().NetworkInterfaces(i.namespace)
	_, err := interfaces.UpdateStatus(ctx, nic, metav1.UpdateOptions{})
	if err == nil {
		l.settled(i, "connect")
	}
	return written("writing the status of the network interface", err)
}

func (l *Lab) networkReady(namespace, name string) bool {
	network, err := l.caches.networks.Networks(namespace).Get(name)
	return err == nil && network.Status.State == networkingv1alpha1.NetworkStateAvailable
}

// virtualIP returns the address from outside of the network; nil if none is wanted.
func (l *Lab) virtualIP(nic *networkingv1alpha1.NetworkInterface) *commonv1alpha1.IP {
	if nic.Spec.VirtualIP == nil {
		return nil
	}
	return commonv1alpha1.NewIPPtr(l.address(nic.UID, Claim{Kind: "NetworkInterface", Namespace: nic.Namespace,
		Name: nic.Name, Family: corev1.IPv4Protocol}))
}

// allocatedFor returns what is allocated for the Prefixes that an object controls.
func (l *Lab) allocatedFor(owner metav1.Object) role.Allocated {
	return func(name string, _ ipamv1alpha1.PrefixSpec) (netip.Prefix, bool) {
		prefix, err := l.caches.prefixes.Prefixes(owner.GetNamespace()).Get(name)
		if err != nil || !metav1.IsControlledBy(prefix, owner) || prefix.Spec.Prefix == nil ||
			prefix.Status.Phase != ipamv1alpha1.PrefixPhaseAllocated {
			return netip.Prefix{}, false
		}
		return prefix.Spec.Prefix.Prefix, true
	}
}
