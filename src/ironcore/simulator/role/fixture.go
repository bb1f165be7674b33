package role

import (
	"net/netip"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Machine describes a virtual machine with one network interface, for tests that add one.
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
	// Network is the network of the interface; the one of the server by default.
	Network string
	// Prefixes are routed to the interface.
	Prefixes []netip.Prefix
	// Labels are those of the machine and of the interface.
	Labels map[string]string
}

// WithDefaults returns the machine with what it leaves open, in a network.
func (m Machine) WithDefaults(network string) Machine {
	for value, otherwise := range map[*string]string{
		&m.Pool: "pool", &m.Class: "class", &m.Entry: "primary", &m.Network: network,
	} {
		if *value == "" {
			*value = otherwise
		}
	}
	return m
}

// Topology returns the labels of the pool.
func (m Machine) Topology() map[string]string {
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

// NetworkInterface returns the network interface, without a reference to the machine.
func (m Machine) NetworkInterface(namespace string) *networkingv1alpha1.NetworkInterface {
	nic := &networkingv1alpha1.NetworkInterface{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: m.Name + "-" + m.Entry, Labels: m.Labels},
		Spec:       networkingv1alpha1.NetworkInterfaceSpec{NetworkRef: corev1.LocalObjectReference{Name: m.Network}},
	}
	if m.Interface != "" {
		nic.Name = m.Interface
	}
	for _, a := range m.Addresses {
		nic.Spec.IPs = append(nic.Spec.IPs, networkingv1alpha1.IPSource{Value: commonv1alpha1.NewIPPtr(a)})
		nic.Spec.IPFamilies = append(nic.Spec.IPFamilies, commonv1alpha1.NewIP(a).Family())
	}
	for _, p := range m.Prefixes {
		nic.Spec.Prefixes = append(nic.Spec.Prefixes,
			networkingv1alpha1.PrefixSource{Value: &commonv1alpha1.IPPrefix{Prefix: p}})
	}
	return nic
}

// Object returns the Machine, which has a pool and no status.
func (m Machine) Object(namespace string) *computev1alpha1.Machine {
	entry := computev1alpha1.NetworkInterface{Name: m.Entry}
	if m.Interface != "" {
		entry.NetworkInterfaceRef = &corev1.LocalObjectReference{Name: m.Interface}
	} else {
		nic := m.NetworkInterface(namespace)
		entry.Ephemeral = &computev1alpha1.EphemeralNetworkInterfaceSource{
			NetworkInterfaceTemplate: &networkingv1alpha1.NetworkInterfaceTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: nic.Labels}, Spec: nic.Spec,
			},
		}
	}
	return &computev1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: m.Name, Labels: m.Labels},
		Spec: computev1alpha1.MachineSpec{
			MachineClassRef:   corev1.LocalObjectReference{Name: m.Class},
			MachinePoolRef:    &corev1.LocalObjectReference{Name: m.Pool},
			Power:             computev1alpha1.PowerOn,
			NetworkInterfaces: []computev1alpha1.NetworkInterface{entry},
		},
	}
}
