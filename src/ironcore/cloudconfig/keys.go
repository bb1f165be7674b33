package cloudconfig

import (
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/config"
)

const (
	// namePattern and maxName describe the name of an object of IronCore (DNS subdomain).
	namePattern = `[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*`
	maxName     = 253
	wantName    = "the name of an object: at most 253 lower-case letters, digits and - ."
	// namespacePattern is a DNS label.
	namespacePattern = `[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?`
	// labelPattern is the value of a label.
	labelPattern = `[0-9A-Za-z](?:[0-9A-Za-z._-]{0,61}[0-9A-Za-z])?`
)

// Keys are all keys of the cloud-config file. The checks, the reference page and the JSON schema are made from them.
func Keys() []config.Key {
	return slices.Concat(clusterKeys(), balancerKeys(), config.RemovalKeys("instancesV2.", "0.1.0"), pacingKeys())
}

// clusterKeys are the keys that identify the cluster's objects.
func clusterKeys() []config.Key {
	return []config.Key{
		{Path: "networkName", Since: "0.1.0", Required: true, Example: "my-network",
			Effect: "The Network that the machines of the cluster are in. Load balancers are created in it. " +
				"Addresses and routes of other Networks are not used.",
			Rule: config.Matching(namePattern, wantName)},
		{Path: "prefixName", Since: "0.1.0", Example: "my-prefix",
			Effect: "The parent Prefix of the addresses of internal load balancers. If it is not set, an internal " +
				"load balancer is refused.",
			Rule: config.Matching(namePattern, wantName)},
		{Path: "clusterName", Since: "0.1.0", Required: true, Example: "my-cluster",
			Effect: "The value of the label kubernetes.io/cluster on the Machines, NetworkInterfaces and load " +
				"balancers of this cluster. It must be unique in the namespace, and must never change. The flag " +
				"--cluster-name is not needed; if it is set, it must have the same value.",
			Rule: config.Matching(labelPattern, "the value of a label: at most 63 letters, digits and - _ ., with a "+
				"letter or a digit at both ends")},
		config.FormerUIDs("clusterName", "0.1.0"),
		{Path: "namespace", Since: "0.1.0", Example: "my-namespace",
			Default: "the namespace of the current context of --ironcore-kubeconfig",
			Effect: "The namespace of IronCore's API server that contains the objects of the cluster. There is an " +
				"error if neither this key nor the context is set.",
			Rule: config.Matching(namespacePattern, "the name of a namespace: at most 63 lower-case letters, digits "+
				"and -")},
	}
}

// balancerKeys are about Services.
func balancerKeys() []config.Key {
	return []config.Key{
		{Path: "loadBalancer.creationPollTimeout", Since: "0.1.0", Example: "600",
			Rule: config.Whole(1, config.Day, "seconds"),
			Effect: "The time, in seconds, after which an event on the Service reports that its load balancer is not " +
				"ready yet. The controller continues to wait."},
		{Path: "loadBalancer.drift", Since: "0.1.0", Example: driftReport,
			Effect: "What to do when an object of a load balancer was changed by hand. " + driftRepair +
				" reverts the change and reports it. " + driftReport + " only reports it. " + driftOff +
				" does neither. With " + driftReport + " and " + driftOff +
				" the change is reverted when the Service or its nodes change next, or when the program restarts.",
			Rule: config.Matching(driftRepair+"|"+driftReport+"|"+driftOff, "one of "+driftRepair+", "+driftReport+
				", "+driftOff)},
		{Path: "loadBalancer.removeOrphans", Since: "0.1.0", Example: "true",
			Effect: "Deletes load balancers of this cluster whose Service no longer exists. If it is false, they are " +
				"only reported, by an event and a metric. An object is deleted only after two checks in a row and " +
				"after the API server confirmed that the Service does not exist."},
	}
}

// pacingKeys are about the requests to the IronCore API.
func pacingKeys() []config.Key {
	return []config.Key{
		{Path: "api.callTimeout", Since: "0.1.0", Example: "60", Rule: config.Whole(1, 600, "seconds"),
			Effect: "The timeout of one request to the IronCore API, in seconds. Watches have no timeout."},
		{Path: "api.requestsPerSecond", Since: "0.1.0", Example: "10", Rule: config.Whole(1, 1000, "calls"),
			Effect: "The maximum number of requests to the IronCore API per second, for the whole process."},
		{Path: "api.burst", Since: "0.1.0", Example: "20", Rule: config.Whole(1, 10000, "calls"),
			Effect: "The maximum number of requests that can be made at once after a pause. 1 spreads the requests " +
				"evenly."},
	}
}
