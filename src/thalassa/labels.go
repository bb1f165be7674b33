package thalassa

import (
	"maps"
	"strconv"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// scopeOf returns which objects of the VPC belong to this cluster.
func scopeOf(c cloudconfig.Config) inventory.Scope {
	return inventory.Scope{
		VPC:        c.VPCIdentity,
		Owned:      resource.Labels{label.Cluster: c.Cluster, label.Managed: "true"},
		OwnerLabel: label.ServiceUID,

		MachineLabels: c.InstancesV2.MachineLabels(),
	}
}

// ownerLabels are the labels of all objects of a Service. Additional labels never override the others.
func ownerLabels(owner cloud.Owner, additional map[string]string) resource.Labels {
	labels := resource.Labels{}
	maps.Copy(labels, additional)
	maps.Copy(labels, resource.Labels{
		label.Cluster:          owner.Cluster,
		label.Managed:          "true",
		label.ServiceName:      owner.Name,
		label.ServiceNamespace: owner.Namespace,
		label.ServiceUID:       string(owner.UID),
	})
	return labels
}

// portLabels are the labels of a port's listener and target group, including those of the owner.
func portLabels(owner resource.Labels, key cloud.Key) resource.Labels {
	labels := maps.Clone(owner)
	labels[label.ServicePort] = strconv.Itoa(int(key.Port))
	labels[label.ServiceProtocol] = protocol(key)
	return labels
}

// protocol is the protocol as the cloud writes it: in lower case.
func protocol(key cloud.Key) string { return strings.ToLower(string(key.Protocol)) }

// withLabels returns the present labels, overridden by the wanted ones. Labels of others stay.
func withLabels(present, wanted resource.Labels) resource.Labels {
	labels := resource.Labels{}
	maps.Copy(labels, present)
	maps.Copy(labels, wanted)
	return labels
}
