package balancer

import (
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// selector returns the selector of the load balancers of this cluster.
func (c Config) selector() *metav1.LabelSelector {
	if c.Selector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{label.Cluster: c.Cluster}}
	}
	return label.NoInterface()
}

// lacksOnlySelector reports whether nothing differs but that the load balancer has no selector, and that this harms
// nobody: it gets one with its next change. So a load balancer of the program that this one replaces is taken over
// without a write.
func (c Config) lacksOnlySelector(o Observed, actual *networkingv1alpha1.LoadBalancer, fields []string) bool {
	return !c.Selector && !o.Selecting && actual.Spec.NetworkInterfaceSelector == nil && len(fields) == 1 &&
		fields[0] == fieldSelector
}

// keepDestinations returns what makes the destinations that IronCore has chosen those of this program, too, as they
// are: it is done before the plan for the load balancer ends the choice, because IronCore removes those that only it
// owns. The next plan changes them. It returns nil if there are none.
func keepDestinations(c Config, r Request, balancer *networkingv1alpha1.LoadBalancer, plan cloud.Plan) cloud.Plan {
	if balancer == nil || len(plan) == 0 {
		return nil
	}
	routing := r.Observed.Routings[balancer.Name]
	if routing == nil || firstOf(pathsOf([]string{fieldDestinations}),
		fieldsOf(routing.ManagedFields, label.RoutingFieldManager),
		fieldsOf(routing.ManagedFields, label.FieldManager)) == "" {
		return nil
	}
	return cloud.Plan{{Verb: cloud.Update, Kind: kindRouting, Name: routing.Name,
		Why: "its destinations stay when IronCore does not choose them any more",
		Object: ApplyRouting{Name: routing.Name, ResourceVersion: routing.ResourceVersion,
			Annotations: c.ownerOf(r.Service).Annotations(), LoadBalancer: balancer.UID,
			Network: routing.NetworkRef, Destinations: routing.Destinations}}}
}
