// Package label has the names of the labels and annotations that this cloud's objects and Nodes have.
package label

import "strings"

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

// ClusterUID is an annotation on objects of a cluster: the UID of the namespace kube-system of the cluster that has
// written the object last.
const ClusterUID = Reserved + "cluster-uid"

// ofUID separates a key from a UID. No key of a cluster contains it.
const ofUID = "#"

// WithUID returns the value of the label Cluster that distinguishes the objects of another cluster with the same key
// from those of this cluster. It is never written to the cloud.
func WithUID(key, uid string) string { return key + ofUID + uid }

// UIDOf returns the UID in a value that WithUID has made for the key; "" if it is another value.
func UIDOf(value, key string) string {
	uid, with := strings.CutPrefix(value, key+ofUID)
	if !with {
		return ""
	}
	return uid
}

// Labels on volumes and snapshots. They are those of the CSI driver that this one replaces, and must never change.
const (
	CSIDriver       = Reserved + "csi-driver"
	CSIDriverName   = Reserved + "csi-driver-name"
	CSICluster      = Reserved + "cluster-identity"
	CSISourceVolume = "csi.volume.id"
)

// Annotations on volumes and snapshots, as in the CSI driver that this one replaces. CSISnapshotName is the name of a
// snapshot in Kubernetes, and on a volume the identity of the snapshot that it was restored from.
const (
	CSIDescription  = Reserved + "description"
	CSIFilesystem   = Reserved + "fstype"
	CSISnapshotName = "csi.snapshot.id"
)

// CSIClone is a label on the snapshot that a volume is cloned by. Its value is the name of the new volume in the cloud.
const CSIClone = Reserved + "csi-clone"

// CSIAdoptedBy is an annotation on a volume that existed before. Its value is the name of its PersistentVolume.
const CSIAdoptedBy = Reserved + "csi-adopted-by"

// Labels of Nodes, in addition to those of Kubernetes.
const (
	CPUs   = Reserved + "cpus"
	Memory = Reserved + "memory-gib"
)

// SubnetRole marks the subnet for load balancers in a VPC with several subnets; the existing CCM uses the same
// label.
const SubnetRole = "kubernetes.io/role/lb"
