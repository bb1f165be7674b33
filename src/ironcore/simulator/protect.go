package simulator

import (
	"slices"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
)

// networkFinalizer is that of IronCore's controller, which keeps a Network while something uses it.
const networkFinalizer = "networking.ironcore.dev/network"

// protectNetwork adds the finalizer of a Network, and removes it if the Network is deleted and nothing uses it.
func (s *Simulator) protectNetwork(of key) {
	o, exists := s.objects[s.kindNamed("Network")][of]
	if !exists {
		return
	}
	held, deleted := slices.Contains(o.GetFinalizers(), networkFinalizer), o.GetDeletionTimestamp() != nil
	if held == deleted && (!deleted || !s.inUse(of)) {
		changeLocked(s, "Network", of, func(n *networkingv1alpha1.Network) {
			n.Finalizers = slices.DeleteFunc(n.Finalizers, func(f string) bool { return f == networkFinalizer })
			if !deleted {
				n.Finalizers = append(n.Finalizers, networkFinalizer)
			}
		})
	}
}

// inUse reports whether a load balancer or a network interface that is not deleted has a Network.
func (s *Simulator) inUse(network key) bool {
	for _, o := range slices.Concat(s.list(s.kindNamed("LoadBalancer"), network.namespace),
		s.list(s.kindNamed("NetworkInterface"), network.namespace)) {
		name := ""
		switch user := o.Object.(type) {
		case *networkingv1alpha1.LoadBalancer:
			name = user.Spec.NetworkRef.Name
		case *networkingv1alpha1.NetworkInterface:
			name = user.Spec.NetworkRef.Name
		}
		if name == network.name && o.GetDeletionTimestamp() == nil {
			return true
		}
	}
	return false
}
