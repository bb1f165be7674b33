package simulator

import (
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/apiserver"
)

// The methods in this file are no requests of clients: they are not counted, do not fail, and change no managed fields.

// Add adds an object with its status as it is, and sets its UID. It reports whether there was none with the name.
func (s *Simulator) Add(object Object) (added bool) {
	s.Do(func(objects apiserver.State) { added = add(objects, object) })
	return added
}

func add(objects apiserver.State, object Object) bool {
	created, added := objects.Add(object)
	if added {
		object.SetUID(created.GetUID())
	}
	return added
}

// ChangeMachine changes a Machine. It reports whether there is one with the name.
func (s *Simulator) ChangeMachine(name string, change func(*computev1alpha1.Machine)) bool {
	return changeObject(s, name, change)
}

// ChangeMachinePool changes a MachinePool. It reports whether there is one with the name.
func (s *Simulator) ChangeMachinePool(name string, change func(*computev1alpha1.MachinePool)) bool {
	return changeObject(s, name, change)
}

// ChangeNetwork changes a Network. It reports whether there is one with the name.
func (s *Simulator) ChangeNetwork(name string, change func(*networkingv1alpha1.Network)) bool {
	return changeObject(s, name, change)
}

// ChangeNetworkInterface changes a NetworkInterface. It reports whether there is one with the name.
func (s *Simulator) ChangeNetworkInterface(name string, change func(*networkingv1alpha1.NetworkInterface)) bool {
	return changeObject(s, name, change)
}

// ChangeLoadBalancer changes a LoadBalancer. It reports whether there is one with the name.
func (s *Simulator) ChangeLoadBalancer(name string, change func(*networkingv1alpha1.LoadBalancer)) bool {
	return changeObject(s, name, change)
}

// ChangeLoadBalancerRouting changes a LoadBalancerRouting. It reports whether there is one with the name.
func (s *Simulator) ChangeLoadBalancerRouting(name string, change func(*networkingv1alpha1.LoadBalancerRouting)) bool {
	return changeObject(s, name, change)
}

// DeleteMachine deletes a Machine. Garbage collection deletes its ephemeral NetworkInterfaces. It reports whether there
// is one with the name.
func (s *Simulator) DeleteMachine(name string) bool {
	return s.Delete("Machine", name)
}

// Delete deletes an object of a kind, such as "LoadBalancer". Finalizers keep it, as usual. It reports whether there is
// one with the name.
func (s *Simulator) Delete(kind, name string) (deleted bool) {
	for _, k := range kinds() {
		if k.Kind != kind {
			continue
		}
		like := k.New()
		like.SetName(name)
		if !k.Cluster {
			like.SetNamespace(s.options.Namespace)
		}
		s.Do(func(objects apiserver.State) { deleted = objects.Delete(like) })
	}
	return deleted
}

// Machine returns the Machine with a name.
func (s *Simulator) Machine(name string) (*computev1alpha1.Machine, bool) {
	return getObject[*computev1alpha1.Machine](s, name)
}

// MachinePool returns the MachinePool with a name.
func (s *Simulator) MachinePool(name string) (*computev1alpha1.MachinePool, bool) {
	return getObject[*computev1alpha1.MachinePool](s, name)
}

// Network returns the Network with a name.
func (s *Simulator) Network(name string) (*networkingv1alpha1.Network, bool) {
	return getObject[*networkingv1alpha1.Network](s, name)
}

// NetworkInterface returns the NetworkInterface with a name.
func (s *Simulator) NetworkInterface(name string) (*networkingv1alpha1.NetworkInterface, bool) {
	return getObject[*networkingv1alpha1.NetworkInterface](s, name)
}

// LoadBalancer returns the LoadBalancer with a name.
func (s *Simulator) LoadBalancer(name string) (*networkingv1alpha1.LoadBalancer, bool) {
	return getObject[*networkingv1alpha1.LoadBalancer](s, name)
}

// CarriedOut returns what the network has carried out last of the LoadBalancer with a name, and whether that is all
// that it asks for.
func (s *Simulator) CarriedOut(name string) (spec networkingv1alpha1.LoadBalancerSpec, all bool) {
	lb, exists := s.LoadBalancer(name)
	if !exists {
		return spec, false
	}
	s.Do(func(apiserver.State) { spec = s.network.carried[lb.UID] })
	return *spec.DeepCopy(), spec.Type == lb.Spec.Type
}

// LoadBalancerRouting returns the LoadBalancerRouting with a name.
func (s *Simulator) LoadBalancerRouting(name string) (*networkingv1alpha1.LoadBalancerRouting, bool) {
	return getObject[*networkingv1alpha1.LoadBalancerRouting](s, name)
}

// Machines returns all Machines in the order of their names.
func (s *Simulator) Machines() []*computev1alpha1.Machine {
	return listObjects[*computev1alpha1.Machine](s)
}

// NetworkInterfaces returns all NetworkInterfaces in the order of their names.
func (s *Simulator) NetworkInterfaces() []*networkingv1alpha1.NetworkInterface {
	return listObjects[*networkingv1alpha1.NetworkInterface](s)
}

// LoadBalancers returns all LoadBalancers in the order of their names.
func (s *Simulator) LoadBalancers() []*networkingv1alpha1.LoadBalancer {
	return listObjects[*networkingv1alpha1.LoadBalancer](s)
}

// LoadBalancerRoutings returns all LoadBalancerRoutings in the order of their names.
func (s *Simulator) LoadBalancerRoutings() []*networkingv1alpha1.LoadBalancerRouting {
	return listObjects[*networkingv1alpha1.LoadBalancerRouting](s)
}

func (s *Simulator) named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.options.Namespace, Name: name}
}

func changeObject[T Object](s *Simulator, name string, change func(T)) (exists bool) {
	s.Do(func(objects apiserver.State) { exists = apiserver.Change(objects, s.named(name), change) })
	return exists
}

func getObject[T Object](s *Simulator, name string) (object T, exists bool) {
	s.Do(func(objects apiserver.State) {
		if object, exists = apiserver.Find[T](objects, s.named(name)); exists {
			object, _ = object.DeepCopyObject().(T)
		}
	})
	return object, exists
}

func listObjects[T Object](s *Simulator) (all []T) {
	s.Do(func(objects apiserver.State) {
		for _, o := range apiserver.List[T](objects, s.options.Namespace) {
			object, _ := o.DeepCopyObject().(T)
			all = append(all, object)
		}
	})
	return all
}
