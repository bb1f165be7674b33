package role

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// RoutingManager is the field manager of IronCore's controller of load balancers.
const RoutingManager = "loadbalancers.networking.ironcore.dev"

// Selects means that IronCore writes the routing of a load balancer, with this network interface.
func Selects(lb *networkingv1alpha1.LoadBalancer, nic *networkingv1alpha1.NetworkInterface) bool {
	if lb.Spec.NetworkInterfaceSelector == nil || lb.Spec.NetworkRef != nic.Spec.NetworkRef {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(lb.Spec.NetworkInterfaceSelector)
	return err == nil && selector.Matches(labels.Set(nic.Labels))
}

// Routing returns the routing that IronCore's controller applies for a load balancer with a selector: all addresses of
// all available network interfaces that it selects.
func Routing(lb *networkingv1alpha1.LoadBalancer, network *networkingv1alpha1.Network,
	nics []*networkingv1alpha1.NetworkInterface) *networkingv1alpha1.LoadBalancerRouting {
	routing := &networkingv1alpha1.LoadBalancerRouting{
		TypeMeta: metav1.TypeMeta{
			APIVersion: networkingv1alpha1.SchemeGroupVersion.String(), Kind: "LoadBalancerRouting",
		},
		ObjectMeta: metav1.ObjectMeta{Namespace: lb.Namespace, Name: lb.Name, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(lb, networkingv1alpha1.SchemeGroupVersion.WithKind("LoadBalancer")),
		}},
		NetworkRef:   commonv1alpha1.LocalObjUIDRef(network),
		Destinations: []networkingv1alpha1.LoadBalancerDestination{},
	}
	routing.OwnerReferences[0].BlockOwnerDeletion = nil
	sorted := slices.SortedFunc(slices.Values(nics), func(a, b *networkingv1alpha1.NetworkInterface) int {
		return strings.Compare(a.Name, b.Name)
	})
	for _, nic := range sorted {
		if nic.Status.State == networkingv1alpha1.NetworkInterfaceStateAvailable && Selects(lb, nic) {
			routing.Destinations = append(routing.Destinations, destinations(nic)...)
		}
	}
	return routing
}

// RoutingBody returns the body with which IronCore's controller applies a routing: without destinations if there are
// none, so that those that another manager has applied stay.
func RoutingBody(routing *networkingv1alpha1.LoadBalancerRouting) ([]byte, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(routing)
	if err != nil {
		return nil, fmt.Errorf("encoding the routing %s: %w", routing.Name, err)
	}
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	if len(routing.Destinations) == 0 {
		delete(content, "destinations")
	}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encoding the routing %s: %w", routing.Name, err)
	}
	return body, nil
}

func destinations(nic *networkingv1alpha1.NetworkInterface) []networkingv1alpha1.LoadBalancerDestination {
	all := make([]networkingv1alpha1.LoadBalancerDestination, len(nic.Status.IPs))
	for i, ip := range nic.Status.IPs {
		all[i] = networkingv1alpha1.LoadBalancerDestination{
			IP: ip, TargetRef: &networkingv1alpha1.LoadBalancerTargetRef{
				UID: nic.UID, Name: nic.Name, ProviderID: nic.Spec.ProviderID,
			},
		}
	}
	return all
}
