// Package balancer computes the desired state of load balancers on IronCore, and the plans that lead to it. It has
// values only, and calls nothing: the same inputs give the same results.
package balancer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// Config is what all load balancers of a cluster have in common.
type Config struct {
	Cluster   string // the name of the cluster, as labels and annotations have it
	UID       *cloud.ClusterUID
	Namespace string // of the objects in IronCore
	Network   string // the network of the machines
	// Prefix and PrefixIPv6 are the parents of the IPv4 and IPv6 addresses of internal load balancers; "" if there is
	// none.
	Prefix, PrefixIPv6 string
	// Selector means that IronCore chooses the destinations, by the label of network interfaces.
	Selector bool
}

// Observed is what IronCore has of a Service, and of the machines that are or should be its targets.
type Observed struct {
	// LoadBalancers are those with one of the names of the Service: see [Names].
	LoadBalancers []*networkingv1alpha1.LoadBalancer
	// Routings are the LoadBalancerRoutings with the names of the load balancers.
	Routings map[string]*networkingv1alpha1.LoadBalancerRouting
	// Network is the network of the cluster; nil if it does not exist.
	Network *networkingv1alpha1.Network
	// Interfaces are the network interfaces in the network, by the name of their machine. Every machine that exists has
	// an entry.
	Interfaces map[string][]*networkingv1alpha1.NetworkInterface
	// MachineOf is the name of the machine of each network interface that is a destination now, by the name of the
	// interface. Interfaces that do not exist have no entry.
	MachineOf map[string]string
	// Selecting means that IronCore chooses the destinations of another load balancer in the network.
	Selecting bool
}

// Names returns the names that the load balancer of a Service may have, the preferred one first. A legacy name contains
// the value of --cluster-name of the program that this one replaces, which may be its default.
func Names(c Config, service *corev1.Service) []string {
	names := []string{label.LoadBalancerName(service), label.LegacyLoadBalancerName(c.Cluster, service)}
	if c.Cluster != label.DefaultCluster {
		names = append(names, label.LegacyLoadBalancerName(label.DefaultCluster, service))
	}
	return names
}

// Request is the input of a comparison.
type Request struct {
	Service  *corev1.Service
	Targets  cloud.Targets
	Observed Observed
}

// Compare returns the difference between the desired and the actual load balancer of a Service. The error is that
// another Service or cluster has the load balancer.
func Compare(c Config, r Request) (cloud.Comparison, error) {
	actual, err := ownLoadBalancer(c, r.Service, r.Observed.LoadBalancers)
	switch {
	case errors.Is(err, errAnotherCluster):
		return cloud.Comparison{Exists: true, Refused: cloud.Reason{Err: err, Reported: true},
			Notices: []cloud.Notice{settingNotice(reasonAnotherCluster, "%v", err)}}, nil
	case err != nil:
		return cloud.Comparison{}, err
	}
	targets, asked := r.targets(actual), newAnnotations().read(r.Service).keepPublic(r.Service, actual)
	found := cloud.Comparison{Exists: actual != nil,
		Targets: cloud.Choice{Machines: targets.machines, LeftOut: targets.incomplete},
		Notices: slices.Concat(asked.notices, unsupported(c, r.Service, asked, actual), interfaceNotices(c, r))}
	describe(&found, actual)
	wanted, err := specOf(c, r.Service, asked.internal, actual)
	if actual != nil && actual.DeletionTimestamp != nil {
		if cmp.Or(asked.refused, err) == nil {
			found.Notices = append(found.Notices, recreationNotices(r.Service, actual, wanted)...)
		}
		return found, nil
	}
	if err != nil {
		found.Notices = append(found.Notices, settingNotice(reasonAnnotation, "%v", err))
	}
	refused := cmp.Or(asked.refused, err)
	if refused != nil {
		refused = cloud.Reason{Err: refused, Until: cloud.ServiceChanges, Reported: true}
	} else {
		found.Plan, refused = c.planLoadBalancer(r, actual, wanted)
	}
	if refused == nil && recreation(actual, wanted) != "" {
		found.Plan = planRecreation(actual, wanted)
		found.Notices = append(found.Notices, recreationNotices(r.Service, actual, wanted)...)
		return found, nil
	}
	// The targets follow the Nodes, even if something else cannot be changed. Those of a load balancer in another
	// network cannot be in the cluster's, and those that IronCore chooses would be replaced at once.
	follows := actual != nil && actual.Spec.NetworkRef.Name == c.Network && !label.SelectsInterfaces(actual)
	if refused != nil && follows {
		wanted.IPFamilies = actual.Spec.IPFamilies
	}
	if !c.Selector && (refused == nil || follows) {
		found.Plan, err = c.addRouting(r, actual, found.Plan, wanted.IPFamilies, targets)
		if refused == nil {
			refused = err
		}
	}
	found.Refused = refused
	return found, nil
}

// ownLoadBalancer returns the load balancer of a Service; nil if there is none. If there are two, another program has
// made the second one: the published address decides, and then the program that this one replaces, which uses the one
// with the legacy name.
func ownLoadBalancer(c Config, service *corev1.Service,
	all []*networkingv1alpha1.LoadBalancer) (*networkingv1alpha1.LoadBalancer, error) {
	var own *networkingv1alpha1.LoadBalancer
	for _, one := range all {
		err := c.checkOwner(service, one)
		if err != nil && (one.Name == label.LoadBalancerName(service) || errors.Is(err, errAnotherCluster)) {
			return nil, err
		}
		if err == nil && (own == nil || published(service, one) || !published(service, own)) {
			own = one
		}
	}
	return own, nil
}

// ErrOtherOwner is the error for a load balancer that has the name of a Service's, and belongs to another one.
var ErrOtherOwner = errors.New("the load balancer belongs to another Service")

// errAnotherCluster is the error for a load balancer of a Service that another cluster with the same name has written.
var errAnotherCluster = errors.New("another cluster with the same clusterName in its cloud-config has written it")

// checkOwner returns an error unless the load balancer belongs to the Service: its annotation has the UID of the
// Service, or it has no such annotation and nothing else contradicts.
func (c Config) checkOwner(service *corev1.Service, balancer *networkingv1alpha1.LoadBalancer) error {
	owner := label.OwnerOf(balancer)
	same := owner.UID == service.UID
	if owner.UID == "" { // nothing says otherwise, and the name contains the UID of the Service, or its beginning
		same = (owner.Service.Name == "" || owner.Service.Name == service.Name) &&
			(owner.Service.Namespace == "" || owner.Service.Namespace == service.Namespace)
	}
	// Two clusters that were restored from the same backup have Services with the same UID.
	if same && label.MayBe(owner.Cluster, c.Cluster) {
		if !c.isForeign(owner) {
			return nil
		}
		return fmt.Errorf("LoadBalancer %s/%s has the name of this Service, and %w: its annotation %s is %s. It is "+
			"not changed, and no other one is created. If this cluster replaces the other one, add this UID to "+
			"formerClusterUIDs in the cloud-config. If both exist, give the newer one another clusterName",
			c.Namespace, balancer.Name, errAnotherCluster, label.ClusterUID, owner.ClusterUID)
	}
	return fmt.Errorf("%w: the annotations of LoadBalancer %s/%s name the Service %s with the UID %q in the cluster "+
		"%q; it is not changed: delete it in IronCore if nothing uses it", ErrOtherOwner, c.Namespace, balancer.Name,
		owner.Service, owner.UID, owner.Cluster)
}

// isForeign reports whether the owner is in another cluster with the same name.
func (c Config) isForeign(owner label.Owner) bool { return c.UID.IsForeign(string(owner.ClusterUID)) }

// Manages reports whether an object is of this cluster, as its annotations say completely, or of another one with the
// same name.
func (c Config) Manages(balancer *networkingv1alpha1.LoadBalancer) (ours, foreign bool) {
	owner := label.OwnerOf(balancer)
	named := owner.Cluster == c.Cluster && owner.UID != "" && balancer.Spec.NetworkRef.Name == c.Network
	foreign = named && c.isForeign(owner)
	return named && !foreign, foreign
}

// published reports whether the status of the Service has an address of the load balancer.
func published(service *corev1.Service, balancer *networkingv1alpha1.LoadBalancer) bool {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		for _, ip := range balancer.Status.IPs {
			if ip.String() == ingress.IP {
				return true
			}
		}
	}
	return false
}

// The states of a load balancer. IronCore has none.
const (
	stateCreating = "creating"
	stateReady    = "ready"
	stateDeleting = "deleting"
)

// describe sets the state of the load balancer, its addresses, and what to wait for.
func describe(found *cloud.Comparison, actual *networkingv1alpha1.LoadBalancer) {
	switch {
	case actual == nil:
		return
	case actual.DeletionTimestamp != nil:
		found.Balancer.State, found.Wait = stateDeleting, waitFor(actual, stateDeleting,
			"IronCore deletes it, and a finalizer holds it until this has finished")
		return
	case len(actual.Status.IPs) == 0:
		found.Balancer.State = stateCreating
		found.Wait = waitFor(actual, stateCreating, "IronCore has not assigned an address")
		return
	case isInternal(actual) && len(actual.Status.IPs) < len(actual.Spec.IPFamilies):
		found.Balancer.State, found.Wait = stateCreating, waitFor(actual, stateCreating, fmt.Sprintf(
			"IronCore has assigned only %v of the addresses of the IP families %v. Its Prefix for the other one may "+
				"be of another family, or have no free address", actual.Status.IPs, actual.Spec.IPFamilies))
		return
	}
	found.Balancer.State = stateReady
	mode := corev1.LoadBalancerIPModeVIP
	for _, ip := range actual.Status.IPs {
		found.Balancer.Status.Ingress = append(found.Balancer.Status.Ingress,
			corev1.LoadBalancerIngress{IP: ip.String(), IPMode: &mode})
	}
}

func isInternal(balancer *networkingv1alpha1.LoadBalancer) bool {
	return balancer.Spec.Type == networkingv1alpha1.LoadBalancerTypeInternal
}

func waitFor(actual *networkingv1alpha1.LoadBalancer, status, why string) *cloud.Wait {
	name := kindLoadBalancer + " " + actual.Name
	return &cloud.Wait{Object: string(actual.UID), Name: name, Status: status, Deleting: status == stateDeleting,
		Message: fmt.Sprintf("%s is %s: %s", name, status, why)}
}
