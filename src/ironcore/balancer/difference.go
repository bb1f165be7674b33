package balancer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// The kinds of objects, as plans name them.
const (
	kindLoadBalancer = "LoadBalancer"
	kindRouting      = "LoadBalancerRouting"
)

// The names of fields, as JSON has them.
const (
	fieldSelector     = "networkInterfaceSelector"
	fieldDestinations = "destinations"
)

// ApplyLoadBalancer applies the fields of a load balancer. It is the object of an operation that creates or updates
// one.
type ApplyLoadBalancer struct {
	Name            string
	ResourceVersion string // that the plan was computed from; "" creates the load balancer
	Force           bool   // takes over fields of the cloud controller manager that this one replaces
	Annotations     map[string]string
	Spec            networkingv1alpha1.LoadBalancerSpec
}

// ApplyRouting applies the destinations of a load balancer.
type ApplyRouting struct {
	Name            string // of the load balancer, too
	ResourceVersion string // that the plan was computed from; "" creates the routing
	Force           bool   // takes over fields of programs that have written the routing before
	Annotations     map[string]string
	// LoadBalancer is the UID of the load balancer; "" if an earlier operation of the plan creates it.
	LoadBalancer types.UID
	Network      commonv1alpha1.LocalUIDReference
	Destinations []networkingv1alpha1.LoadBalancerDestination
}

// DeleteObject deletes a load balancer or a routing.
type DeleteObject struct {
	Kind, Name string
	// UID and ResourceVersion are those that the plan was computed from.
	UID             types.UID
	ResourceVersion string
}

// planLoadBalancer returns what leads to the desired specification. The error is that a difference cannot be written.
func (c Config) planLoadBalancer(r Request, actual *networkingv1alpha1.LoadBalancer,
	wanted networkingv1alpha1.LoadBalancerSpec) (cloud.Plan, error) {
	apply := ApplyLoadBalancer{Name: label.LoadBalancerName(r.Service), Annotations: c.ownerOf(r.Service).Annotations(),
		Spec: wanted}
	if actual == nil {
		return cloud.Plan{{Verb: cloud.Create, Kind: kindLoadBalancer, Name: apply.Name, Object: apply}}, nil
	}
	apply.Name, apply.ResourceVersion = actual.Name, actual.ResourceVersion
	if actual.Spec.NetworkRef != wanted.NetworkRef {
		return nil, fmt.Errorf("LoadBalancer %s is in network %s, which cannot be changed, and the cluster is in "+
			"network %s: delete the Service and create it again to get a load balancer in this network", actual.Name,
			actual.Spec.NetworkRef.Name, wanted.NetworkRef.Name)
	}
	fields := differing(actual.Spec, wanted)
	annotations := differingEntries(actual.Annotations, apply.Annotations)
	if len(annotations) == 0 && c.lacksOnlySelector(r.Observed, actual, fields) {
		fields, apply.Spec.NetworkInterfaceSelector = nil, nil
	}
	why := reasons(actual.Spec, wanted, fields)
	if len(annotations) > 0 {
		why = append(why, "annotations that name the Service are missing")
	}
	owner, err := ownershipOf(kindLoadBalancer, actual, appliedPaths(apply), slices.Concat(pathsOf(fields, "spec"),
		annotationPaths(annotations)), label.FormerFieldManager)
	if err != nil {
		return nil, err
	}
	if why = append(why, owner.why()...); len(why) == 0 {
		return nil, nil
	}
	apply.Force = owner.Force
	return cloud.Plan{{Verb: cloud.Update, Kind: kindLoadBalancer, Name: apply.Name, Why: strings.Join(why, ", "),
		Object: apply}}, nil
}

// appliedPaths returns the paths of the fields of a load balancer that may change.
func appliedPaths(apply ApplyLoadBalancer) []fieldpath.Path {
	fields := []string{"type", "ipFamilies", "ports"}
	if len(apply.Spec.IPs) > 0 {
		fields = append(fields, "ips")
	}
	if apply.Spec.NetworkInterfaceSelector != nil {
		fields = append(fields, fieldSelector)
	}
	return append(pathsOf(fields, "spec"), annotationPaths(slices.Sorted(maps.Keys(apply.Annotations)))...)
}

func annotationPaths(keys []string) []fieldpath.Path { return pathsOf(keys, "metadata", "annotations") }

func (c Config) ownerOf(service *corev1.Service) label.Owner {
	return label.Owner{Cluster: c.Cluster, UID: service.UID,
		Service: types.NamespacedName{Namespace: service.Namespace, Name: service.Name}}
}

func reasons(actual, wanted networkingv1alpha1.LoadBalancerSpec, fields []string) []string {
	why := make([]string, len(fields))
	for i, field := range fields {
		why[i] = reason(actual, wanted, field)
	}
	return why
}

// reason describes the difference of a field for people.
func reason(actual, wanted networkingv1alpha1.LoadBalancerSpec, field string) string {
	return fmt.Sprintf("%s %s becomes %s", field, text(actual, field), text(wanted, field))
}

// differingEntries returns the keys of the desired entries that actual does not have with their values, sorted.
func differingEntries(actual, wanted map[string]string) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if value, exists := actual[key]; !exists || value != wanted[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// errNoNetwork is the reason why destinations cannot be written.
var errNoNetwork = errors.New("the network does not exist")

// addRouting adds what leads to the desired destinations to a plan for the load balancer.
func (c Config) addRouting(r Request, balancer *networkingv1alpha1.LoadBalancer, plan cloud.Plan,
	families []corev1.IPFamily, targets selection) (cloud.Plan, error) {
	if kept := keepDestinations(c, r, balancer, plan); kept != nil {
		return append(kept, plan...), nil
	}
	routing, err := c.planRouting(r, balancer, families, targets)
	if balancer != nil && balancer.Spec.NetworkInterfaceSelector == nil {
		return append(routing, plan...), err // with its first selector, IronCore writes the routing, too
	}
	return append(plan, routing...), err
}

// planRouting returns what leads to the desired destinations.
func (c Config) planRouting(r Request, balancer *networkingv1alpha1.LoadBalancer,
	families []corev1.IPFamily, targets selection) (cloud.Plan, error) {
	if r.Observed.Network == nil {
		return nil, fmt.Errorf("%w: create the Network %s/%s in IronCore, or correct networkName in the cloud-config "+
			"file", errNoNetwork, c.Namespace, c.Network)
	}
	apply := ApplyRouting{
		Name: label.LoadBalancerName(r.Service), Annotations: c.ownerOf(r.Service).Annotations(),
		Network: commonv1alpha1.LocalUIDReference{Name: r.Observed.Network.Name, UID: r.Observed.Network.UID},
	}
	if balancer != nil {
		apply.Name, apply.LoadBalancer = balancer.Name, balancer.UID
	}
	actual := r.Observed.Routings[apply.Name]
	if isOfAnother(actual, apply.LoadBalancer) {
		return cloud.Plan{deletion(kindRouting, actual)}, nil
	}
	apply.Destinations = r.destinations(actual, families, targets)
	if actual == nil && len(apply.Destinations) == 0 && targets.incomplete {
		return nil, nil // the cache may lack a routing that has destinations, and would lose them
	}
	if actual == nil {
		return cloud.Plan{{Verb: cloud.Create, Kind: kindRouting, Name: apply.Name, Object: apply}}, nil
	}
	apply.ResourceVersion = actual.ResourceVersion
	fields, why := differingRouting(actual, apply)
	owner, err := ownershipOf(kindRouting, actual, pathsOf([]string{fieldDestinations}), pathsOf(fields),
		label.FormerFieldManager, label.FormerUpdateFieldManager, label.RoutingFieldManager)
	if err != nil {
		return nil, err
	}
	if why = append(why, owner.why()...); len(why) == 0 {
		return nil, nil
	}
	apply.Force = owner.Force
	return cloud.Plan{{Verb: cloud.Update, Kind: kindRouting, Name: apply.Name, Why: strings.Join(why, ", "),
		Object: apply}}, nil
}

// isOfAnother reports whether IronCore collects a routing with a load balancer that is gone, or was replaced by the one
// with this UID. An object has one controller: both IronCore and this program have applied the owner reference.
func isOfAnother(routing *networkingv1alpha1.LoadBalancerRouting, balancer types.UID) bool {
	if routing == nil {
		return false
	}
	controller := metav1.GetControllerOf(routing)
	return controller != nil && controller.UID != balancer
}

// differingRouting returns the fields of a routing that differ, and the differences for people.
func differingRouting(actual *networkingv1alpha1.LoadBalancerRouting, apply ApplyRouting) (fields, why []string) {
	was := sortedDestinations(actual.Destinations)
	if !slices.EqualFunc(was, apply.Destinations, equalDestinations) {
		fields, why = append(fields, fieldDestinations), append(why, destinationsText(was, apply.Destinations))
	}
	if actual.NetworkRef != apply.Network {
		fields = append(fields, "networkRef")
		why = append(why, fmt.Sprintf("the Network was replaced: its UID %s becomes %s", actual.NetworkRef.UID,
			apply.Network.UID))
	}
	if apply.LoadBalancer != "" && !ownedBy(actual, apply.LoadBalancer) {
		why = append(why, "the owner reference to the load balancer is missing")
	}
	return fields, why
}

func ownedBy(object metav1.Object, uid types.UID) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == uid })
}

// PlanDelete returns what deletes all load balancers of a Service, and their routings. The routings are first: without
// its load balancer, a routing does not show which Service it belongs to.
func PlanDelete(c Config, service *corev1.Service, o Observed) cloud.Comparison {
	var found cloud.Comparison
	for _, name := range slices.Sorted(maps.Keys(o.Routings)) {
		routing := o.Routings[name]
		if !c.isOwnRouting(service, o.LoadBalancers, routing) {
			continue
		}
		found.Exists = true
		if routing.DeletionTimestamp == nil {
			found.Plan = append(found.Plan, deletion(kindRouting, routing))
		}
	}
	for _, balancer := range o.LoadBalancers {
		if err := c.checkOwner(service, balancer); err != nil {
			continue // it is not of this Service
		}
		found.Exists = true
		describe(&found, balancer)
		if balancer.DeletionTimestamp == nil {
			found.Plan = append(found.Plan, deletion(kindLoadBalancer, balancer))
		}
	}
	return found
}

// isOwnRouting reports whether the routing is of a load balancer of the Service. The load balancer may not exist any
// more: the annotations name the Service then, or the name contains its UID.
func (c Config) isOwnRouting(service *corev1.Service, all []*networkingv1alpha1.LoadBalancer,
	routing *networkingv1alpha1.LoadBalancerRouting) bool {
	for _, balancer := range all {
		if balancer.Name == routing.Name {
			// IronCore writes the routing of a load balancer with a selector again as long as this exists, and deletes
			// both together.
			return c.checkOwner(service, balancer) == nil && balancer.Spec.NetworkInterfaceSelector == nil
		}
	}
	owner := label.OwnerOf(routing)
	return label.MayBe(owner.Cluster, c.Cluster) && !c.isForeign(owner) &&
		(owner.UID == service.UID || owner.UID == "" && routing.Name == label.LoadBalancerName(service))
}

func deletion(kind string, object metav1.Object) cloud.Operation {
	return cloud.Operation{Verb: cloud.Delete, Kind: kind, Name: object.GetName(), Object: DeleteObject{
		Kind: kind, Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion()}}
}
