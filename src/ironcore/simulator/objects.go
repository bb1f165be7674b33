package simulator

import (
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
)

// The methods in this file are no requests of clients: they are not counted, do not fail, and change no managed fields.

// Add adds an object with its status as it is. It reports whether there was none with the name.
func (s *Simulator) Add(object Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(object)
}

// add is Add with the lock held.
func (s *Simulator) add(object Object) bool {
	k := s.kindOf(object)
	if k == nil {
		return false
	}
	if _, ok := s.objects[k][keyOf(object)]; ok {
		return false
	}
	setDefaults(object)
	k.admit(object, nil)
	created := s.create(k, copyOf(object))
	object.SetUID(created.GetUID())
	return true
}

// ChangeMachine changes a Machine. It reports whether there is one with the name.
func (s *Simulator) ChangeMachine(name string, change func(*computev1alpha1.Machine)) bool {
	return changeObject(s, "Machine", name, change)
}

// ChangeMachinePool changes a MachinePool. It reports whether there is one with the name.
func (s *Simulator) ChangeMachinePool(name string, change func(*computev1alpha1.MachinePool)) bool {
	return changeObject(s, "MachinePool", name, change)
}

// ChangeNetwork changes a Network. It reports whether there is one with the name.
func (s *Simulator) ChangeNetwork(name string, change func(*networkingv1alpha1.Network)) bool {
	return changeObject(s, "Network", name, change)
}

// ChangeNetworkInterface changes a NetworkInterface. It reports whether there is one with the name.
func (s *Simulator) ChangeNetworkInterface(name string, change func(*networkingv1alpha1.NetworkInterface)) bool {
	return changeObject(s, "NetworkInterface", name, change)
}

// ChangeLoadBalancer changes a LoadBalancer. It reports whether there is one with the name.
func (s *Simulator) ChangeLoadBalancer(name string, change func(*networkingv1alpha1.LoadBalancer)) bool {
	return changeObject(s, "LoadBalancer", name, change)
}

// ChangeLoadBalancerRouting changes a LoadBalancerRouting. It reports whether there is one with the name.
func (s *Simulator) ChangeLoadBalancerRouting(name string, change func(*networkingv1alpha1.LoadBalancerRouting)) bool {
	return changeObject(s, "LoadBalancerRouting", name, change)
}

// DeleteMachine deletes a Machine. Garbage collection deletes its ephemeral NetworkInterfaces. It reports whether there
// is one with the name.
func (s *Simulator) DeleteMachine(name string) bool {
	return s.Delete("Machine", name)
}

// Delete deletes an object of a kind, such as "LoadBalancer". Finalizers keep it, as usual. It reports whether there is
// one with the name.
func (s *Simulator) Delete(kind, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kindNamed(kind)
	o, ok := s.objects[k][s.keyNamed(k, name)]
	if ok {
		s.delete(k, o)
	}
	return ok
}

// Machine returns the Machine with a name.
func (s *Simulator) Machine(name string) (*computev1alpha1.Machine, bool) {
	return getObject[*computev1alpha1.Machine](s, "Machine", name)
}

// MachinePool returns the MachinePool with a name.
func (s *Simulator) MachinePool(name string) (*computev1alpha1.MachinePool, bool) {
	return getObject[*computev1alpha1.MachinePool](s, "MachinePool", name)
}

// Network returns the Network with a name.
func (s *Simulator) Network(name string) (*networkingv1alpha1.Network, bool) {
	return getObject[*networkingv1alpha1.Network](s, "Network", name)
}

// NetworkInterface returns the NetworkInterface with a name.
func (s *Simulator) NetworkInterface(name string) (*networkingv1alpha1.NetworkInterface, bool) {
	return getObject[*networkingv1alpha1.NetworkInterface](s, "NetworkInterface", name)
}

// LoadBalancer returns the LoadBalancer with a name.
func (s *Simulator) LoadBalancer(name string) (*networkingv1alpha1.LoadBalancer, bool) {
	return getObject[*networkingv1alpha1.LoadBalancer](s, "LoadBalancer", name)
}

// CarriedOut returns what the network has carried out last of the LoadBalancer with a name, and whether that is all
// that it asks for.
func (s *Simulator) CarriedOut(name string) (spec networkingv1alpha1.LoadBalancerSpec, all bool) {
	lb, exists := s.LoadBalancer(name)
	if !exists {
		return spec, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	spec = s.network.carried[lb.UID]
	return *spec.DeepCopy(), spec.Type == lb.Spec.Type
}

// LoadBalancerRouting returns the LoadBalancerRouting with a name.
func (s *Simulator) LoadBalancerRouting(name string) (*networkingv1alpha1.LoadBalancerRouting, bool) {
	return getObject[*networkingv1alpha1.LoadBalancerRouting](s, "LoadBalancerRouting", name)
}

// Machines returns all Machines in the order of their names.
func (s *Simulator) Machines() []*computev1alpha1.Machine {
	return listObjects[*computev1alpha1.Machine](s, "Machine")
}

// NetworkInterfaces returns all NetworkInterfaces in the order of their names.
func (s *Simulator) NetworkInterfaces() []*networkingv1alpha1.NetworkInterface {
	return listObjects[*networkingv1alpha1.NetworkInterface](s, "NetworkInterface")
}

// LoadBalancers returns all LoadBalancers in the order of their names.
func (s *Simulator) LoadBalancers() []*networkingv1alpha1.LoadBalancer {
	return listObjects[*networkingv1alpha1.LoadBalancer](s, "LoadBalancer")
}

// LoadBalancerRoutings returns all LoadBalancerRoutings in the order of their names.
func (s *Simulator) LoadBalancerRoutings() []*networkingv1alpha1.LoadBalancerRouting {
	return listObjects[*networkingv1alpha1.LoadBalancerRouting](s, "LoadBalancerRouting")
}

// keyNamed returns the key of an object in the namespace of the options, or of one without a namespace.
func (s *Simulator) keyNamed(k *kind, name string) key {
	if k.cluster {
		return key{name: name}
	}
	return key{s.options.Namespace, name}
}

func (s *Simulator) kindNamed(name string) *kind {
	for _, k := range s.kinds {
		if k.Kind == name {
			return k
		}
	}
	return &kind{} // which has no objects
}

func (s *Simulator) get(kind, name string) (stored, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kindNamed(kind)
	o, ok := s.objects[k][s.keyNamed(k, name)]
	return o, ok
}

func changeObject[T Object](s *Simulator, kind, name string, change func(T)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return changeLocked(s, kind, s.keyNamed(s.kindNamed(kind), name), change)
}

// changeLocked changes an object if that makes a difference. The server is locked.
func changeLocked[T Object](s *Simulator, kind string, key key, change func(T)) bool {
	k := s.kindNamed(kind)
	old, ok := s.objects[k][key]
	if !ok {
		return false
	}
	object, _ := copyOf(old.Object).(T)
	change(object)
	if !same(object, old.Object) {
		s.update(k, object, old.Object)
	}
	return true
}

func getObject[T Object](s *Simulator, kind, name string) (T, bool) {
	o, ok := s.get(kind, name)
	if !ok {
		var none T
		return none, false
	}
	object, _ := copyOf(o.Object).(T)
	return object, true
}

func listObjects[T Object](s *Simulator, kind string) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []T
	for _, o := range s.list(s.kindNamed(kind), s.options.Namespace) {
		object, _ := copyOf(o.Object).(T)
		all = append(all, object)
	}
	return all
}
