// Package label has the names, labels and annotations that connect objects of IronCore with the cluster. All but those
// of routes are those of the cloud controller manager that this one replaces.
package label

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Cluster is the label of machines and network interfaces with the name of the cluster that they belong to.
const Cluster = "kubernetes.io/cluster"

// The annotations of a load balancer: the cluster and the Service that it belongs to.
const (
	ClusterName      = "cluster-name"
	ServiceName      = "service-name"
	ServiceNamespace = "service-namespace"
	ServiceUID       = "service-uid"
)

// The annotations of a Service.
const (
	// ServicePrefix begins the names of all of them.
	ServicePrefix = "service.beta.kubernetes.io/ironcore-"
	// Internal gives the load balancer addresses of the network, instead of public ones.
	Internal = ServicePrefix + "load-balancer-internal"
)

// Routes is the annotation of a network interface with the name of the cluster and the prefixes that it manages there,
// separated by spaces: prefixes of a network interface cannot carry labels.
const Routes = "cloud-provider.ironcore.dev/routes"

// Node is the annotation of a network interface with the name of the Node for which this program has added the label of
// the cluster: a process that starts after the Node was deleted removes the label.
const Node = "cloud-provider.ironcore.dev/node"

// The field managers of server-side apply.
const (
	// FieldManager applies the objects that this program writes.
	FieldManager = "thalassa-ccm"
	// FormerFieldManager has applied the load balancers of the cloud controller manager that this one replaces.
	FormerFieldManager = "cloud-provider.ironcore.dev/loadbalancer"
	// FormerUpdateFieldManager has updated the destinations of that program when Nodes changed: the API server uses the
	// name of its binary, because it gives none.
	FormerUpdateFieldManager = "ironcore-cloud-controller-manager"
	// RoutingFieldManager applies the routing of a load balancer that has a selector, in IronCore itself.
	RoutingFieldManager = "loadbalancers.networking.ironcore.dev"
)

// ClusterUID is the annotation of load balancers and their routings with the UID of the namespace kube-system of the
// cluster that has written them last.
const ClusterUID = "k8s.thalassa.cloud/cluster-uid"

// Owner is the Service that a load balancer belongs to, as its annotations name it. Missing ones are "".
type Owner struct {
	Cluster string
	Service types.NamespacedName
	UID     types.UID
	// ClusterUID is the UID of the cluster.
	ClusterUID types.UID
}

// OwnerOf returns the owner of a load balancer.
func OwnerOf(balancer metav1.Object) Owner {
	annotations := balancer.GetAnnotations()
	return Owner{
		Cluster: annotations[ClusterName], UID: types.UID(annotations[ServiceUID]),
		Service:    types.NamespacedName{Namespace: annotations[ServiceNamespace], Name: annotations[ServiceName]},
		ClusterUID: types.UID(annotations[ClusterUID]),
	}
}

// DefaultCluster is the name of a cluster for which --cluster-name was not set.
const DefaultCluster = "kubernetes"

// MayBe reports whether an object with this name of a cluster may belong to the cluster. The program that this one
// replaces has written the value of --cluster-name, which may be the default, instead of the name in its configuration.
func MayBe(written, cluster string) bool {
	return written == "" || written == cluster || written == DefaultCluster
}

// Annotations returns the annotations that name the owner, without the UID of the cluster: it is written with them, and
// is no reason to write.
func (o Owner) Annotations() map[string]string {
	return map[string]string{
		ClusterName: o.Cluster, ServiceName: o.Service.Name, ServiceNamespace: o.Service.Namespace,
		ServiceUID: string(o.UID),
	}
}

// LoadBalancerName returns the name of the load balancer of a Service: its UID without dashes, since the names of load
// balancers have at most 63 characters.
func LoadBalancerName(service *corev1.Service) string {
	return strings.ReplaceAll(string(service.UID), "-", "")
}

// LegacyLoadBalancerName returns the name that a load balancer has if it was created before October 2024.
func LegacyLoadBalancerName(cluster string, service *corev1.Service) string {
	first, _, _ := strings.Cut(string(service.UID), "-")
	return cluster + "-" + service.Name + "-" + first
}
