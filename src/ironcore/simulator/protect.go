package simulator

import (
	"slices"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/apiserver"
)

// networkFinalizer is that of IronCore's controller, which keeps a Network while something uses it.
const networkFinalizer = "networking.ironcore.dev/network"

// protectNetwork adds the finalizer of a Network, and removes it if the Network is deleted and nothing uses it.
func protectNetwork(objects apiserver.State, name types.NamespacedName) {
	network, exists := apiserver.Find[*networkingv1alpha1.Network](objects, name)
	if !exists {
		return
	}
	held, deleted := slices.Contains(network.Finalizers, networkFinalizer), network.DeletionTimestamp != nil
	if held != deleted || deleted && inUse(objects, name) {
		return
	}
	apiserver.Change(objects, name, func(n *networkingv1alpha1.Network) {
		n.Finalizers = slices.DeleteFunc(n.Finalizers, func(f string) bool { return f == networkFinalizer })
		if !deleted {
			n.Finalizers = append(n.Finalizers, networkFinalizer)
		}
	})
}

// inUse reports whether a load balancer or a network interface that is not deleted has a Network.
func inUse(objects apiserver.State, network types.NamespacedName) bool {
	return slices.ContainsFunc(apiserver.List[*networkingv1alpha1.LoadBalancer](objects, network.Namespace),
		func(user *networkingv1alpha1.LoadBalancer) bool {
			return user.Spec.NetworkRef.Name == network.Name && user.DeletionTimestamp == nil
		}) || slices.ContainsFunc(apiserver.List[*networkingv1alpha1.NetworkInterface](objects, network.Namespace),
		func(user *networkingv1alpha1.NetworkInterface) bool {
			return user.Spec.NetworkRef.Name == network.Name && user.DeletionTimestamp == nil
		})
}
