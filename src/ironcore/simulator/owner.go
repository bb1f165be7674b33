package simulator

import (
	"net/netip"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

// Machine is a virtual machine that AddMachine adds.
type Machine struct {
	Name string
	// Pool and Class are the names of the pool, which is created if there is none, and of the class; "pool" and "class"
	// by default.
	Pool, Class string
	// Zone and Region are labels of the pool if it is created.
	Zone, Region string
	// Addresses are those of the network interface, one per IP family.
	Addresses []netip.Addr
	// Entry is the name of the machine's entry for the network interface; "primary" by default.
	Entry string
	// Interface is the name of a network interface to which the entry refers. Without it the network interface is
	// ephemeral: its name is that of the machine and of the entry.
	Interface string
	// Network is the network of the interface; the one of the options by default.
	Network string
	// Prefixes are routed to the interface.
	Prefixes []netip.Prefix
	// Labels are those of the machine and of the interface.
	Labels map[string]string
}

func (m Machine) withDefaults(network string) Machine {
	for value, otherwise := range map[*string]string{
		&m.Pool: "pool", &m.Class: "class", &m.Entry: "primary", &m.Network: network,
	} {
		if *value == "" {
			*value = otherwise
		}
	}
	return m
}

// AddMachine adds a Machine that runs in its pool, and its NetworkInterface, which is available. It does nothing if
// there is a Machine with the name.
func (s *Simulator) AddMachine(machine Machine) {
	machine = machine.withDefaults(s.options.Network)
	if _, ok := s.MachinePool(machine.Pool); !ok {
		s.Add(&computev1alpha1.MachinePool{
			ObjectMeta: metav1.ObjectMeta{Name: machine.Pool, Labels: machine.topology()},
			Spec:       computev1alpha1.MachinePoolSpec{ProviderID: "simulator://" + machine.Pool},
			Status:     computev1alpha1.MachinePoolStatus{State: computev1alpha1.MachinePoolStateReady},
		})
	}
	nic := machine.networkInterface(s.options.Namespace)
	object := machine.object(s.options.Namespace, nic)
	if !s.Add(object) {
		return
	}
	nic.Spec.MachineRef = commonv1alpha1.NewLocalObjUIDRef(object)
	if machine.Interface == "" {
		role.MarkGenerated(nic, object)
	}
	s.Add(nic)
	s.ChangeNetworkInterface(nic.Name, func(n *networkingv1alpha1.NetworkInterface) {
		n.Spec.ProviderID = role.ProviderID(n, machine.Pool)
		n.Status.State = networkingv1alpha1.NetworkInterfaceStateAvailable
	})
}

func (m Machine) topology() map[string]string {
	labels := map[string]string{}
	for label, value := range map[commonv1alpha1.TopologyLabel]string{
		commonv1alpha1.TopologyLabelZone: m.Zone, commonv1alpha1.TopologyLabelRegion: m.Region,
	} {
		if value != "" {
			labels[string(label)] = value
		}
	}
	return labels
}

func (m Machine) networkInterface(namespace string) *networkingv1alpha1.NetworkInterface {
	nic := &networkingv1alpha1.NetworkInterface{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: m.Name + "-" + m.Entry, Labels: m.Labels},
		Spec:       networkingv1alpha1.NetworkInterfaceSpec{NetworkRef: corev1.LocalObjectReference{Name: m.Network}},
	}
	if m.Interface != "" {
		nic.Name = m.Interface
	}
	for _, a := range m.Addresses {
		nic.Spec.IPs = append(nic.Spec.IPs, networkingv1alpha1.IPSource{Value: commonv1alpha1.NewIPPtr(a)})
		nic.Status.IPs = append(nic.Status.IPs, commonv1alpha1.NewIP(a))
	}
	setFamilies(&nic.Spec.IPFamilies, nic.Spec.IPs)
	for _, p := range m.Prefixes {
		nic.Spec.Prefixes = append(nic.Spec.Prefixes,
			networkingv1alpha1.PrefixSource{Value: &commonv1alpha1.IPPrefix{Prefix: p}})
		nic.Status.Prefixes = append(nic.Status.Prefixes, commonv1alpha1.IPPrefix{Prefix: p})
	}
	return nic
}

func (m Machine) object(namespace string, nic *networkingv1alpha1.NetworkInterface) *computev1alpha1.Machine {
	entry := computev1alpha1.NetworkInterface{Name: m.Entry}
	if m.Interface != "" {
		entry.NetworkInterfaceRef = &corev1.LocalObjectReference{Name: m.Interface}
	} else {
		entry.Ephemeral = &computev1alpha1.EphemeralNetworkInterfaceSource{
			NetworkInterfaceTemplate: &networkingv1alpha1.NetworkInterfaceTemplateSpec{Spec: *nic.Spec.DeepCopy()},
		}
	}
	machine := &computev1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: m.Name, Labels: m.Labels},
		Spec: computev1alpha1.MachineSpec{
			MachineClassRef:   corev1.LocalObjectReference{Name: m.Class},
			MachinePoolRef:    &corev1.LocalObjectReference{Name: m.Pool},
			Power:             computev1alpha1.PowerOn,
			NetworkInterfaces: []computev1alpha1.NetworkInterface{entry},
		},
	}
	role.Running(machine, "simulator")
	return machine
}
