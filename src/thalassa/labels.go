package thalassa

import (
	"maps"
	"strconv"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// Labels on cloud objects. They identify the Service of an object. They are those of the CCM that this provider
// replaces, and must never change.
const (
	labelCluster   = "k8s.thalassa.cloud/kubernetes-cluster"
	labelManaged   = "k8s.thalassa.cloud/cloud-provider-managed"
	labelName      = "k8s.thalassa.cloud/kubernetes-service-name"
	labelNamespace = "k8s.thalassa.cloud/kubernetes-service-namespace"
	labelUID       = "k8s.thalassa.cloud/kubernetes-service-uid"
	labelPort      = "k8s.thalassa.cloud/kubernetes-service-port"
	labelProtocol  = "k8s.thalassa.cloud/kubernetes-service-protocol"
)

// Labels of Nodes, in addition to those of Kubernetes.
const (
	labelCPUs   = "k8s.thalassa.cloud/cpus"
	labelMemory = "k8s.thalassa.cloud/memory-gib"
)

// scopeOf returns which objects of the VPC belong to this cluster.
func scopeOf(c Config) inventory.Scope {
	return inventory.Scope{
		VPC:        c.VPCIdentity,
		Owned:      inventory.Labels{labelCluster: c.Cluster, labelManaged: "true"},
		OwnerLabel: labelUID,

		MachineLabels: c.InstancesV2.machineLabels(),
	}
}

// ownerLabels are the labels of all objects of a Service. Additional labels never override the others.
func ownerLabels(owner cloud.Owner, additional map[string]string) inventory.Labels {
	labels := inventory.Labels{}
	maps.Copy(labels, additional)
	maps.Copy(labels, inventory.Labels{
		labelCluster:   owner.Cluster,
		labelManaged:   "true",
		labelName:      owner.Name,
		labelNamespace: owner.Namespace,
		labelUID:       string(owner.UID),
	})
	return labels
}

// portLabels are the labels of a port's listener and target group, including those of the owner.
func portLabels(owner inventory.Labels, key cloud.Key) inventory.Labels {
	labels := maps.Clone(owner)
	labels[labelPort] = strconv.Itoa(int(key.Port))
	labels[labelProtocol] = protocol(key)
	return labels
}

// protocol is the protocol as the cloud writes it: in lower case.
func protocol(key cloud.Key) string { return strings.ToLower(string(key.Protocol)) }

// withLabels returns the present labels, overridden by the wanted ones. Labels of others stay.
func withLabels(present, wanted inventory.Labels) inventory.Labels {
	labels := inventory.Labels{}
	maps.Copy(labels, present)
	maps.Copy(labels, wanted)
	return labels
}
