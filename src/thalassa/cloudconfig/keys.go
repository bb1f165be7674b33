package cloudconfig

import (
	"net/url"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

const (
	// IdentityPattern is also safe inside a URL's path and a header.
	IdentityPattern = `[0-9A-Za-z][0-9A-Za-z._-]*`
	// IdentityLetters describes the letters of IdentityPattern, as the end of a sentence about what is wanted.
	IdentityLetters = ", of letters, digits and - _ ."
	// labelPattern is a name as the cloud stores it in labels.
	labelPattern = `[0-9A-Za-z](?:[0-9A-Za-z._-]{0,61}[0-9A-Za-z])?`
	// labelKeyPattern is a name, optionally with a domain and a slash before it.
	labelKeyPattern = `(?:[0-9a-z](?:[0-9a-z.-]{0,251}[0-9a-z])?/)?` + labelPattern
	// endpointPattern is a scheme, a host and an optional port.
	endpointPattern = `[Hh][Tt][Tt][Pp][Ss]?://(?:` + hostPattern + `|\[[0-9A-Fa-f:.]+\])(?::` + portPattern + `)?/?`
	hostPattern     = `[0-9A-Za-z][0-9A-Za-z_-]*(?:\.[0-9A-Za-z_-]+)*\.?`
	portPattern     = `(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])`
	// pathPattern is an absolute path. Errors do not repeat another value: it may be the secret that should be in the
	// file.
	pathPattern = `/[^\r\n]*`
	// AnnotationNames matches names of annotations. The registry knows which names exist.
	AnnotationNames = `[!-~]+`
	// prefixPattern is the beginning of a label's key.
	prefixPattern = `[0-9A-Za-z][0-9A-Za-z._/-]*`
	wantPrefix    = "the beginning of a label's key: letters, digits and - _ . /"
	// cidrPattern roughly matches a network. The program parses networks at its start, and reports those that are
	// invalid.
	cidrPattern = `[0-9A-Fa-f.:]+/[0-9]{1,3}`
)

// Keys are all keys of the cloud-config file. The checks, the reference page and the JSON schema are made from
// them.
func Keys() []configfile.Key {
	keys := append(cloudKeys(), credentialKeys()...)
	return slices.Concat(keys, balancerKeys(), nodeKeys(), pacingKeys(), routeKeys())
}

// cloudKeys are the keys of the cloud and of the cluster's VPC.
func cloudKeys() []configfile.Key {
	return []configfile.Key{
		{Path: "organisation", Since: "0.1.0", Required: true, Environment: envOrganisation, Example: "my-organisation",
			Effect: "The organisation that owns the cluster's machines.",
			Rule:   configfile.Matching(IdentityPattern, "the organisation's identity or slug"+IdentityLetters)},
		{Path: "project", Since: "0.1.0", Environment: envProject, Example: "p-0123456789",
			Effect: "The project inside the organisation. If it is not set, the organisation is used without a " +
				"project.",
			Rule: configfile.Matching(IdentityPattern, "the project's identity"+IdentityLetters)},
		{Path: "endpoint", Since: "0.1.0", Example: "https://api.thalassa.cloud",
			Effect: "The base URL of the cloud's API.",
			Rule: configfile.Rule{Pattern: endpointPattern, Explain: explainEndpoint,
				Want: "a URL of scheme and host, optionally with a port, like https://api.thalassa.cloud"}},
		{Path: "caBundle", Since: "0.1.0", Example: "/etc/thalassa-ccm/ca/ca.crt",
			Effect: "A file with certificates of certificate authorities. They are trusted in addition to the public " +
				"ones. Set it when the API's certificate is signed by a private authority.",
			Rule: configfile.Matching(pathPattern, "the absolute path of a PEM file with at least one certificate")},
		{Path: "insecure", Since: "0.1.0", Example: "true",
			Effect: "Disables the verification of the API's certificate. Use it only for tests: an attacker on the " +
				"network can then read the credentials. " +
				"It cannot be combined with caBundle."},
		{Path: "vpcIdentity", Since: "0.1.0", Required: true, Example: "vpc-0123456789",
			Effect: "The VPC that contains the cluster's machines.",
			Rule: configfile.Matching(IdentityPattern,
				`the identity of the VPC that contains the cluster's machines, like "vpc-…"`+IdentityLetters)},
		{Path: "defaultSubnet", Since: "0.1.0", Example: "subnet-0123456789",
			Effect:  "The subnet of load balancers whose Service does not set the annotation subnet.",
			Default: "the VPC's only subnet, or the first one labelled " + label.SubnetRole,
			Rule:    configfile.Matching(IdentityPattern, "the subnet's identity or slug"+IdentityLetters)},
		{Path: "cluster", Since: "0.1.0", Required: true, Digits: true, Example: "k8s-0123456789",
			Effect: "An identity of this cluster that is unique in the organisation. It is written as a label on " +
				"every cloud object of the cluster, " +
				"and the objects are found by this label. It must never change.",
			Rule: configfile.Matching(labelPattern,
				"an identity of this cluster, unique in the organisation, like \"k8s-…\": "+
					"at most 63 letters, digits and - _ .")},
		configfile.FormerUIDs("cluster"),
		{Path: "clusterCIDR", Since: "0.1.0", Example: `"10.244.0.0/16,fd00:244::/48"`,
			Default: "the value of the flag --cluster-cidr",
			Effect: "The network of all pods: one network, or one of each IP family. It is required for routes and " +
				"for the allocation of node CIDRs, and is not used for anything else. Routes are made only inside " +
				"it, and node CIDRs are taken from it. The flag --cluster-cidr has the same meaning.",
			Rule: configfile.Matching(cidrPattern+"(?:,"+cidrPattern+")?",
				"a network like 10.244.0.0/16, or one IPv4 and one IPv6 network, separated by a comma")},
		{Path: "additionalLabels", Since: "0.1.0", Example: "{team: shop}",
			Effect: "Labels that are added to every cloud object of the cluster. Keys that begin with " +
				label.Reserved + " are not allowed.",
			Rule: configfile.Rule{Keys: labelKeyPattern, Pattern: "|" + labelPattern, Reserved: label.Reserved,
				Want: "labels as in Kubernetes: keys and values of at most 63 letters, digits and - _ ., keys " +
					"optionally with a domain and a slash before them"}},
	}
}

// credentialKeys are the four forms of credentials.
func credentialKeys() []configfile.Key {
	const path, identity = pathCredentials + ".", pathWorkloadIdentity + "."
	return []configfile.Key{
		{Path: path + "personalAccessToken", Since: "0.1.0", Secret: true, Example: `"<token>"`,
			Effect: "A personal access token. Prefer a file, see directory.",
			Rule:   tokenRule()},
		{Path: path + "clientID", Since: "0.1.0", Example: "ccm-client",
			Effect: "The ID of the OIDC client. It requires clientSecret.",
			Rule:   clientIDRule()},
		{Path: path + "clientSecret", Since: "0.1.0", Secret: true, Example: `"<secret>"`,
			Effect: "The secret of the OIDC client. Prefer a file, see directory.",
			Rule:   clientSecretRule()},
		{Path: path + "directory", Since: "0.1.0", Example: "/etc/thalassa-ccm/credentials",
			Effect: "A directory with the file personalAccessToken, or with the files clientID and clientSecret. " +
				"Usually it is a mounted Secret.",
			Rule: configfile.Matching(pathPattern, "the absolute path of a directory")},
		{Path: identity + "serviceAccountID", Since: "0.1.0", Required: true, Environment: envServiceAccount,
			Example: "sa-0123456789",
			Effect:  "The service account in the cloud. The subject token is exchanged for a token of this account.",
			Rule: configfile.Matching(IdentityPattern,
				`the identity of a service account, like "sa-…"`+IdentityLetters)},
		{Path: identity + "organisationID", Since: "0.1.0", Environment: envOrganisation, Example: "o-0123456789",
			Default: "the value of organisation",
			Effect: "The identity of the organisation that owns the service account. Set it when organisation is a " +
				"slug: the token exchange accepts only an identity.",
			Rule: configfile.Matching(IdentityPattern, "the organisation's identity"+IdentityLetters)},
		{Path: identity + "subjectTokenFile", Since: "0.1.0", Environment: envSubjectTokenFile,
			Example: subjectTokenFile,
			Effect: "The file with the token that is exchanged, for example a projected service account token. The " +
				"file is read at each exchange.",
			Rule: configfile.Matching(pathPattern, "the absolute path of a file")},
		{Path: identity + "lifetime", Since: "0.1.0", Example: "3600",
			Effect: "The lifetime of the token that the exchange returns, in seconds.",
			Rule:   configfile.Whole(60, configfile.Day, "seconds")},
	}
}

// The rules of secrets hold wherever they are: in the cloud-config or in files.
func tokenRule() configfile.Rule {
	return configfile.Matching(`[!-~]+`, "a token of printable ASCII characters without blanks")
}

func clientIDRule() configfile.Rule {
	return configfile.Matching(`[!-~]+`, "an identifier of printable ASCII characters without blanks")
}

func clientSecretRule() configfile.Rule {
	return configfile.Matching(`[^\r\n]+`, "a secret on one line")
}

// balancerKeys are about Services.
func balancerKeys() []configfile.Key {
	return append(configfile.BalancerKeys(" 0 is taken as the default, with a warning."), []configfile.Key{
		{Path: "loadBalancer.enabled", Since: "0.1.0", Example: "false",
			Effect: "Enables load balancers for Services of type LoadBalancer."},
		{Path: "loadBalancer.creationPollInterval", Since: "0.1.0", Example: "10",
			Rule:    configfile.Whole(1, configfile.Day, "seconds"),
			Default: "1 second after a creation or deletion, growing to 5 seconds, and the same times for all Services",
			Effect: "The interval, in seconds, at which the state of a load balancer is read while the cloud creates " +
				"or deletes it. After a failure, or after creationPollTimeout, the interval grows to at most one " +
				"minute."},
		{Path: "loadBalancer.driftPeriod", Since: "0.1.0", Example: "600",
			Rule: configfile.Whole(0, configfile.Day, "seconds"),
			Effect: "The interval, in seconds, at which the cloud is checked for changes that were made by hand, and " +
				"for load balancers and target groups whose Service no longer exists. 0 disables the check."},
		{Path: "loadBalancer.class", Since: "0.1.0", Example: "example.com/public",
			Effect: "The loadBalancerClass that this program is responsible for, in addition to Services without a " +
				"class. Services of other classes are never changed.",
			Rule: configfile.Matching(labelKeyPattern, "a name like those of labels: letters, digits and - _ ., "+
				"optionally with a domain and a slash before it")},
		{Path: "loadBalancer.onlyClass", Since: "0.1.0", Example: "true",
			Effect: "Ignores Services without a loadBalancerClass. If class is not set, all Services are ignored."},
		{Path: "loadBalancer.defaults", Since: "0.1.0",
			Example: `{loadbalancing-policy: MAGLEV, health-check-enabled: "false"}`,
			Effect: "Default values of annotations, for Services that do not set them. A key is the annotation's " +
				"name without " + label.AnnotationPrefix + ". Load balancers that were taken over keep their settings.",
			Rule: configfile.Rule{Keys: AnnotationNames,
				Want: "names of annotations that can have a default, without " + label.AnnotationPrefix}},
		{Path: "loadBalancer.maxTargets", Since: "0.1.0", Example: "250",
			Rule: configfile.Whole(0, MaxTargetsLimit, "nodes"),
			Effect: "The largest number of nodes that a load balancer sends to, for Services that do not set the " +
				"annotation max-targets. Each Service has other nodes, evenly from all zones. It does not apply to " +
				"Services with externalTrafficPolicy: Local. It also applies to load balancers that were taken " +
				"over. 0 is no limit."},
	}...)
}

// nodeKeys are about nodes.
func nodeKeys() []configfile.Key {
	const path = "instancesV2."
	keys := []configfile.Key{
		{Path: path + "enabled", Since: "0.1.0", Example: "false",
			Effect: "Enables the node controllers. They set the provider ID, addresses, instance type, labels and " +
				"taints of nodes, and delete nodes whose machine no longer exists."},
		{Path: path + "zoneAndRegionEnabled", Since: "0.1.0", Example: "false",
			Effect: "Labels nodes with their zone and region. If it is false, these labels are not changed."},
		{Path: path + "typeLabels", Since: "0.1.0", Example: "true",
			Effect: "Labels nodes with the number of CPUs (" + label.CPUs + ") and the memory in GiB (" + label.Memory +
				") of their machine type."},
		{Path: path + "labelPrefix", Since: "0.1.0", Example: "node-label.example.com/",
			Effect: "Copies labels from a machine to its node. Labels whose key begins with this prefix are copied, " +
				"and the prefix is removed from the key.",
			Rule: configfile.Matching(prefixPattern, wantPrefix)},
		{Path: path + "taintPrefix", Since: "0.1.0", Example: "node-taint.example.com/",
			Effect: "Makes taints of a node from labels of its machine. Labels whose key begins with this prefix are " +
				"used, and the prefix is removed from the key. The label's value is the effect, like NoSchedule, or " +
				"the taint's value and the effect, separated by a dot, like gpu.NoSchedule.",
			Rule: configfile.Matching(prefixPattern, wantPrefix)},
		{Path: path + "machineAnnotation", Since: "0.1.0", Example: "example.com/machine",
			Effect: "The annotation of a node that contains the identity of its machine. It is used when no machine " +
				"has the node's name. Whoever can write the node's annotations can then choose its machine, and " +
				"every kubelet can write those of its own node. A machine that belongs to another node cannot be " +
				"chosen.",
			Rule: configfile.Matching(labelKeyPattern, "the name of an annotation: letters, digits and - _ ., "+
				"optionally with a domain and a slash before it")},
	}
	return append(keys, configfile.RemovalKeys()...)
}

// pacingKeys are the keys about the age of caches and the rate of calls.
func pacingKeys() []configfile.Key {
	keys := []configfile.Key{
		{Path: "inventory.machineAge", Since: "0.1.0", Example: "120", Rule: configfile.Whole(1, 3600, "seconds"),
			Effect: "The maximum age, in seconds, of the cached list of machines. The cache is never used to decide " +
				"that a machine no longer exists."},
		{Path: "inventory.balancerAge", Since: "0.1.0", Example: "900", Rule: configfile.Whole(1, 3600, "seconds"),
			Effect: "The maximum age, in seconds, of the cached list of load balancers. The list is also read every " +
				"loadBalancer.driftPeriod. If the maximum age is at least twice that period, a Service that changes " +
				"does not wait for the list."},
	}
	return append(keys, configfile.APIKeys("A list may take ten times as long if its answer never stops arriving for "+
		"longer than the timeout. When the program stops, it waits that long for a write that was sent: "+
		"terminationGracePeriodSeconds of the pod must be at least 15 seconds more. The Helm chart sets this.")...)
}

// routeKeys are the keys about routes to pods.
func routeKeys() []configfile.Key {
	return []configfile.Key{
		{Path: "routes.enabled", Since: "0.1.0", Example: "true",
			Effect: "Creates routes in the VPC to the pods of each node, so that no overlay network is needed. It " +
				"requires clusterCIDR."},
		{Path: "routes.table", Since: "0.1.0", Example: "rtb-0123456789",
			Default: "the route tables of all subnets that contain nodes",
			Effect:  "The route table that the routes are created in.",
			Rule: configfile.Matching(IdentityPattern, "the identity or slug of a route table in the VPC"+
				IdentityLetters)},
		{Path: "routes.exclusive", Since: "0.1.0", Example: "true",
			Effect: "Declares that this cluster alone manages the routes inside clusterCIDR in routes.table. Routes " +
				"in it that do not belong to a node are then deleted, also those of nodes that were deleted while " +
				"the program did not run. Routes to other networks are kept."},
		{Path: "routes.driftPeriod", Since: "0.1.0", Example: "600",
			Rule: configfile.Whole(0, configfile.Day, "seconds"),
			Effect: "The interval, in seconds, at which routes are checked for changes that were made by hand. 0 " +
				"disables the check. The flag --route-reconciliation-period takes precedence."},
	}
}

// explainEndpoint describes what is wrong without repeating the value, which may contain a password.
func explainEndpoint(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "text that is not a URL"
	case u.Scheme != "https" && u.Scheme != "http":
		return "text that does not begin with https:// or http://"
	case u.User != nil:
		return "a URL with a user name or a password"
	case u.Host == "":
		return "a URL without a host"
	case u.Port() != "" && !configfile.Matching(portPattern, "").Allows(u.Port()):
		return "a URL with an invalid port"
	case u.Path != "" && u.Path != "/":
		return "a URL with a path"
	case u.RawQuery != "" || u.ForceQuery:
		return "a URL with a query"
	case u.Fragment != "":
		return "a URL with a fragment"
	}
	return "a URL that is not allowed"
}
