// Package label has the names of the labels and annotations that this cloud's objects and Nodes have.
package label

const (
	// Domain is the domain of the labels and annotations that are this cloud's.
	Domain = "k8s.thalassa.cloud"
	// Reserved begins the keys of labels that only this program sets.
	Reserved = Domain + "/"
	// AnnotationPrefix begins all Service annotations of this cloud, as in the CCM that it replaces.
	AnnotationPrefix = "loadbalancer." + Reserved
)

// Labels on cloud objects. They identify the Service of an object. They are those of the CCM that this provider
// replaces, and must never change.
const (
	Cluster          = Reserved + "kubernetes-cluster"
	Managed          = Reserved + "cloud-provider-managed"
	ServiceName      = Reserved + "kubernetes-service-name"
	ServiceNamespace = Reserved + "kubernetes-service-namespace"
	ServiceUID       = Reserved + "kubernetes-service-uid"
	ServicePort      = Reserved + "kubernetes-service-port"
	ServiceProtocol  = Reserved + "kubernetes-service-protocol"
)

// Labels of Nodes, in addition to those of Kubernetes.
const (
	CPUs   = Reserved + "cpus"
	Memory = Reserved + "memory-gib"
)

// SubnetRole marks the subnet for load balancers in a VPC with several subnets; the existing CCM uses the same
// label.
const SubnetRole = "kubernetes.io/role/lb"
