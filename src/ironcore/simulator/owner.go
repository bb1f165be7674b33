package simulator

import (
	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/apiserver"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

// Machine is a virtual machine that AddMachine adds.
type Machine = role.Machine

// AddMachine adds a Machine that runs in its pool, and its NetworkInterface, which is available. It does nothing if
// there is a Machine with the name.
func (s *Simulator) AddMachine(machine Machine) {
	machine = machine.WithDefaults(s.options.Network)
	if _, ok := s.MachinePool(machine.Pool); !ok {
		s.Add(&computev1alpha1.MachinePool{
			ObjectMeta: metav1.ObjectMeta{Name: machine.Pool, Labels: machine.Topology()},
			Spec:       computev1alpha1.MachinePoolSpec{ProviderID: "simulator://" + machine.Pool},
			Status:     computev1alpha1.MachinePoolStatus{State: computev1alpha1.MachinePoolStateReady},
		})
	}
	nic := machine.NetworkInterface(s.options.Namespace)
	added := false
	s.Do(func(objects apiserver.State) { added = s.addWith(objects, nic, machine) })
	if !added {
		return
	}
	s.ChangeNetworkInterface(nic.Name, func(n *networkingv1alpha1.NetworkInterface) {
		n.Spec.ProviderID = role.ProviderID(n, machine.Pool)
		n.Status.State = networkingv1alpha1.NetworkInterfaceStateAvailable
	})
}

// addWith adds a Machine that runs, and its NetworkInterface. Nobody reads the one without the other: a Machine that
// runs has its network interfaces.
func (s *Simulator) addWith(
	objects apiserver.State, nic *networkingv1alpha1.NetworkInterface, machine Machine,
) bool {
	object := machine.Object(s.options.Namespace)
	role.Running(object, "simulator")
	if !add(objects, object) {
		return false
	}
	for _, source := range nic.Spec.IPs {
		nic.Status.IPs = append(nic.Status.IPs, *source.Value)
	}
	for _, source := range nic.Spec.Prefixes {
		nic.Status.Prefixes = append(nic.Status.Prefixes, *source.Value)
	}
	nic.Spec.MachineRef = commonv1alpha1.NewLocalObjUIDRef(object)
	if machine.Interface == "" {
		role.MarkGenerated(nic, object)
	}
	add(objects, nic)
	return true
}
