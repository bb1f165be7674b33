package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// Owner is the Service that a load balancer belongs to. Cluster and UID identify it; the names are for people.
type Owner struct {
	Cluster   string // the cluster's identity in the cloud
	Namespace string
	Name      string
	UID       types.UID
}

// OwnerOf returns the Service as the owner of cloud objects of the given cluster.
func OwnerOf(cluster string, service *corev1.Service) Owner {
	return Owner{Cluster: cluster, Namespace: service.Namespace, Name: service.Name, UID: service.UID}
}

// String is "namespace/name".
func (o Owner) String() string { return o.Namespace + "/" + o.Name }

// Key identifies a port of a load balancer: two ports may share the number when their protocols differ.
type Key struct {
	Protocol corev1.Protocol
	Port     int32
}

// String is "80/TCP".
func (k Key) String() string { return fmt.Sprintf("%d/%s", k.Port, k.Protocol) }

// Port is one port of the load balancer of a Service.
type Port struct {
	Key
	Name       string // of the port in the Service; may be empty
	TargetPort int32  // the node port; 0 if the Service has none
}

// Desired is the desired state of a Service in the cloud, without terms of a specific cloud.
type Desired struct {
	Owner Owner
	Ports []Port // sorted by port, then protocol
	// Unserved are the ports that cannot be served. If they exist in the cloud, they do not change.
	Unserved []Key
	// HealthCheckNodePort is the node port that answers HTTP requests with 200 on nodes with a ready endpoint. It is 0
	// unless the externalTrafficPolicy of the Service is Local.
	HealthCheckNodePort int32
}

// Desire returns the desired state of the Service. It is a function of its arguments only.
func Desire(owner Owner, service *corev1.Service) Desired {
	desired := Desired{Owner: owner}
	if service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		desired.HealthCheckNodePort = service.Spec.HealthCheckNodePort
	}
	for _, port := range service.Spec.Ports {
		key := Key{Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP), Port: port.Port}
		desired.Ports = append(desired.Ports, Port{Key: key, Name: port.Name, TargetPort: port.NodePort})
	}
	slices.SortFunc(desired.Ports, func(a, b Port) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
	return desired
}

// WithNodePorts returns the desired state in a cloud whose load balancers reach pods through node ports: ports without
// one are not served. The problems are sentences about them for the owner of the Service.
func (d Desired) WithNodePorts() (served Desired, problems []string) {
	served = d
	served.Ports = nil
	var without []string
	for _, port := range d.Ports {
		if port.TargetPort != 0 {
			served.Ports = append(served.Ports, port)
			continue
		}
		served.Unserved = append(served.Unserved, port.Key)
		without = append(without, strconv.Itoa(int(port.Port)))
	}
	if len(without) > 0 {
		problems = append(problems, withoutNodePort(d.Owner, without))
	}
	return served, problems
}

// withoutNodePort returns one sentence about all ports of a Service that have no node port.
func withoutNodePort(owner Owner, ports []string) string {
	subject := fmt.Sprintf("port %s of Service %s has no node port", ports[0], owner)
	if len(ports) > 1 {
		subject = fmt.Sprintf("ports %s of Service %s have no node ports", strings.Join(ports, ", "), owner)
	}
	return subject +
		", and the load balancer reaches pods through node ports: set spec.allocateLoadBalancerNodePorts to true"
}

// SameDesired reports whether two versions of a Service have the same desired state.
func SameDesired(a, b *corev1.Service) bool {
	return a == b || a.UID == b.UID && equality.Semantic.DeepEqual(a.Spec, b.Spec) &&
		equality.Semantic.DeepEqual(a.Annotations, b.Annotations) && equality.Semantic.DeepEqual(a.Labels, b.Labels)
}
