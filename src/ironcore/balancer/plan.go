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

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// The kinds of objects, as plans name them.
const (
	kindLoadBalancer = "LoadBalancer"
	kindRouting      = "LoadBalancerRouting"
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

// ReleaseFields removes the fields of a load balancer that only the given field manager has applied.
type ReleaseFields struct {
	Name, FieldManager string
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
func (c Config) planLoadBalancer(service *corev1.Service, actual *networkingv1alpha1.LoadBalancer,
	wanted networkingv1alpha1.LoadBalancerSpec) (cloud.Plan, error) {
	apply := ApplyLoadBalancer{Name: label.LoadBalancerName(service), Annotations: c.ownerOf(service).Annotations(),
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
	why := reasons(actual.Spec, wanted, fields)
	annotations := differingEntries(actual.Annotations, apply.Annotations)
	if len(annotations) > 0 {
		why = append(why, "annotations that name the Service are missing")
	}
	if len(why) == 0 {
		return nil, nil
	}
	paths := append(pathsOf(fields, "spec"), pathsOf(annotations, "metadata", "annotations")...)
	var err error
	if apply.Force, err = ownedByFormer(kindLoadBalancer, actual, paths, label.FormerFieldManager); err != nil {
		return nil, err
	}
	plan := cloud.Plan{{Verb: cloud.Update, Kind: kindLoadBalancer, Name: apply.Name, Why: strings.Join(why, ", "),
		Object: apply}}
	if apply.Force && removesField(wanted, fields) {
		plan = append(plan, release(apply.Name, label.FormerFieldManager))
	}
	return plan, nil
}

func (c Config) ownerOf(service *corev1.Service) label.Owner {
	return label.Owner{Cluster: c.Cluster, UID: service.UID,
		Service: types.NamespacedName{Namespace: service.Namespace, Name: service.Name}}
}

// removesField reports whether one of the fields is not set in the desired specification: the former field manager
// keeps it alive as long as it owns it.
func removesField(wanted networkingv1alpha1.LoadBalancerSpec, fields []string) bool {
	return slices.Contains(fields, "ips") && len(wanted.IPs) == 0 ||
		slices.Contains(fields, "networkInterfaceSelector") && wanted.NetworkInterfaceSelector == nil
}

func release(name, manager string) cloud.Operation {
	return cloud.Operation{Verb: cloud.Update, Kind: kindLoadBalancer, Name: name,
		Why: "fields of " + manager + " are released", Object: ReleaseFields{Name: name, FieldManager: manager}}
}

func reasons(actual, wanted networkingv1alpha1.LoadBalancerSpec, fields []string) []string {
	why := make([]string, len(fields))
	for i, field := range fields {
		why[i] = fmt.Sprintf("%s %s becomes %s", field, text(actual, field), text(wanted, field))
	}
	return why
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

// planRouting returns what leads to the desired destinations.
func (c Config) planRouting(r Request, balancer *networkingv1alpha1.LoadBalancer,
	families []corev1.IPFamily, targets cloud.Targets) (cloud.Plan, error) {
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
	apply.Destinations = r.destinations(actual, families, targets)
	if actual == nil && len(apply.Destinations) == 0 && targets.Incomplete {
		return nil, nil // the cache may lack a routing that has destinations, and would lose them
	}
	if actual == nil {
		return cloud.Plan{{Verb: cloud.Create, Kind: kindRouting, Name: apply.Name, Object: apply}}, nil
	}
	apply.ResourceVersion = actual.ResourceVersion
	fields, why := differingRouting(actual, apply)
	if len(why) == 0 {
		return nil, nil
	}
	var err error
	if apply.Force, err = ownedByFormer(kindRouting, actual, pathsOf(fields), label.FormerFieldManager,
		label.FormerUpdateFieldManager, label.RoutingFieldManager); err != nil {
		return nil, err
	}
	return cloud.Plan{{Verb: cloud.Update, Kind: kindRouting, Name: apply.Name, Why: strings.Join(why, ", "),
		Object: apply}}, nil
}

// differingRouting returns the fields of a routing that differ, and the differences for people.
func differingRouting(actual *networkingv1alpha1.LoadBalancerRouting, apply ApplyRouting) (fields, why []string) {
	was := sortedDestinations(actual.Destinations)
	if !slices.EqualFunc(was, apply.Destinations, equalDestinations) {
		fields, why = append(fields, "destinations"), append(why, destinationsText(was, apply.Destinations))
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
func PlanDelete(c Config, service *corev1.Service, o Observed) (cloud.Comparison, error) {
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
	return found, nil
}

// isOwnRouting reports whether the routing is of a load balancer of the Service. The load balancer may not exist any
// more: the annotations name the Service then, or the name contains its UID.
func (c Config) isOwnRouting(service *corev1.Service, all []*networkingv1alpha1.LoadBalancer,
	routing *networkingv1alpha1.LoadBalancerRouting) bool {
	for _, balancer := range all {
		if balancer.Name == routing.Name {
			return c.checkOwner(service, balancer) == nil && !c.Selector
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
