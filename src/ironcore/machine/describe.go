package machine

import (
	"cmp"
	"fmt"
	"strings"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/providerid"
)

// describe returns what a Node gets from its machine.
func (p *Provider) describe(node *corev1.Node, machine *computev1alpha1.Machine) cloud.Machine {
	described := cloud.Machine{ProviderID: providerid.Of(p.store.Client.Namespace, machine.Name)}
	described.Type = labelValue(&described, "MachineClass", machine.Spec.MachineClassRef.Name)
	p.addTopology(&described, machine)
	interfaces, unknown := p.store.InterfacesOf(machine)
	described.Addresses = addresses(node.Name, interfaces)
	if len(described.Addresses) > 0 {
		return described
	}
	why := ""
	if len(unknown) > 0 {
		why = fmt.Sprintf(textNoInterfaces, strings.Join(unknown, ", "))
	}
	described.Problems = append(described.Problems, *cloud.ProblemOf(reasonNoAddress, textNoAddress, machine.Name,
		p.store.Network, why))
	return described
}

// addresses returns the addresses of network interfaces: those of the network first, then virtual ones, then the
// hostname. Without an address there is no hostname either.
func addresses(hostname string, interfaces []*networkingv1alpha1.NetworkInterface) []corev1.NodeAddress {
	var internal, external []corev1.NodeAddress
	for _, one := range interfaces {
		for _, ip := range one.Status.IPs {
			internal = append(internal, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip.String()})
		}
		if virtual := one.Status.VirtualIP; virtual.IsValid() {
			external = append(external, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: virtual.String()})
		}
	}
	if len(internal) == 0 {
		return nil
	}
	return append(append(internal, external...), corev1.NodeAddress{Type: corev1.NodeHostName, Address: hostname})
}

// addTopology adds zone and region of the machine's pool. A pool without a zone is a zone of its own. The labels of the
// Node do not change if the machine is not scheduled yet, or if its pool is not known.
func (p *Provider) addTopology(described *cloud.Machine, machine *computev1alpha1.Machine) {
	if machine.Spec.MachinePoolRef == nil {
		return
	}
	pool, exists := p.store.MachinePools.Get(machine.Spec.MachinePoolRef.Name)
	if !exists {
		return
	}
	zone := cmp.Or(pool.Labels[string(commonv1alpha1.TopologyLabelZone)], pool.Name)
	described.Zone = labelValue(described, "MachinePool", zone)
	described.Region = pool.Labels[string(commonv1alpha1.TopologyLabelRegion)]
}

// labelValue returns a name that becomes a label, or "" with a problem if it cannot be one.
func labelValue(described *cloud.Machine, kind, name string) string {
	mistakes := validation.IsValidLabelValue(name)
	if len(mistakes) == 0 {
		return name
	}
	described.Problems = append(described.Problems, *cloud.ProblemOf(reasonInvalidSetting, textLabelValue, kind, name,
		strings.Join(mistakes, "; "), kind))
	return ""
}
