package cloudconfig

import (
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
)

const (
	namePattern = `[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*`
	// namespacePattern is a DNS label.
	namespacePattern = `[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?`
	// labelPattern is the value of a label.
	labelPattern = `[0-9A-Za-z](?:[0-9A-Za-z._-]{0,61}[0-9A-Za-z])?`
)

// Keys are all keys of the cloud-config file. The checks, the reference page and the JSON schema are made from them.
func Keys() []configfile.Key {
	return slices.Concat(clusterKeys(), configfile.BalancerKeys(""), configfile.RemovalKeys(),
		configfile.APIKeys("Watches have no timeout."))
}

// clusterKeys are the keys that identify the cluster's objects.
func clusterKeys() []configfile.Key {
	return []configfile.Key{
		{Path: "networkName", Since: "0.1.0", Required: true, Example: "my-network",
			Effect: "The Network that the machines of the cluster are in. Load balancers are created in it. " +
				"Addresses and routes of other Networks are not used.",
			Rule: nameRule()},
		{Path: "prefixName", Since: "0.1.0", Example: "my-prefix",
			Effect: "The parent Prefix of the IPv4 addresses of internal load balancers. If it is not set, an " +
				"internal load balancer with an IPv4 address is refused.",
			Rule: nameRule()},
		{Path: "prefixNameIPv6", Since: "0.1.0", Example: "my-prefix-ipv6",
			Effect: "The parent Prefix of the IPv6 addresses of internal load balancers: a Prefix of IronCore has " +
				"one IP family. If it is not set, an internal load balancer with an IPv6 address is refused.",
			Rule: nameRule()},
		{Path: "clusterName", Since: "0.1.0", Required: true, Example: "my-cluster",
			Effect: "The value of the label kubernetes.io/cluster on the Machines, NetworkInterfaces and load " +
				"balancers of this cluster. It must be unique in the namespace, and must never change. The flag " +
				"--cluster-name is not needed; if it is set, it must have the same value.",
			Rule: configfile.Matching(labelPattern, "the value of a label: at most 63 letters, digits and - _ ., "+
				"with a letter or a digit at both ends")},
		configfile.FormerUIDs("clusterName"),
		{Path: "namespace", Since: "0.1.0", Example: "my-namespace",
			Default: "the namespace of the current context of --ironcore-kubeconfig",
			Effect: "The namespace of IronCore's API server that contains the objects of the cluster. There is an " +
				"error if neither this key nor the context is set.",
			Rule: configfile.Matching(namespacePattern, "the name of a namespace: at most 63 lower-case letters, "+
				"digits and -")},
	}
}

// nameRule permits the name of an object of IronCore (DNS subdomain).
func nameRule() configfile.Rule {
	return configfile.Rule{Pattern: namePattern, MaxLength: 253,
		Want: "the name of an object: at most 253 lower-case letters, digits and - ."}
}
