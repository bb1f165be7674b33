package label

import (
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NoInterface selects no network interface, whatever labels it has. Load balancers whose destinations this program
// writes need such a selector: after a change of a network interface, IronCore's controller updates the destinations of
// no load balancer in its network if one of them has no selector. For one with this selector it applies no
// destinations, so that those that this program has applied stay.
func NoInterface() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: Cluster, Operator: metav1.LabelSelectorOpExists},
		{Key: Cluster, Operator: metav1.LabelSelectorOpDoesNotExist},
	}}
}

// SelectsInterfaces reports whether IronCore chooses the destinations of a load balancer.
func SelectsInterfaces(balancer *networkingv1alpha1.LoadBalancer) bool {
	selector := balancer.Spec.NetworkInterfaceSelector
	return selector != nil && metav1.FormatLabelSelector(selector) != metav1.FormatLabelSelector(NoInterface())
}
