package thalassa

import (
	"net/url"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/config"
)

const (
	// identityPattern is also safe inside a URL's path and a header.
	identityPattern = `[0-9A-Za-z][0-9A-Za-z._-]*`
	identityLetters = ", of letters, digits and - _ ."
	// labelPattern is a name as the cloud stores it in labels.
	labelPattern = `[0-9A-Za-z](?:[0-9A-Za-z._-]{0,61}[0-9A-Za-z])?`
	// labelKeyPattern is a name, with the domain of whoever defines it before a slash, if anybody does.
	labelKeyPattern = `(?:[0-9a-z](?:[0-9a-z.-]{0,251}[0-9a-z])?/)?` + labelPattern
	// labelReserved begins the keys of labels that the CCM sets itself.
	labelReserved = "k8s.thalassa.cloud/"
	// endpointPattern is a scheme, a host and perhaps a port.
	endpointPattern = `[Hh][Tt][Tt][Pp][Ss]?://(?:` + hostPattern + `|\[[0-9A-Fa-f:.]+\])(?::` + portPattern + `)?/?`
	hostPattern     = `[0-9A-Za-z][0-9A-Za-z_-]*(?:\.[0-9A-Za-z_-]+)*\.?`
	portPattern     = `(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])`
	// pathPattern is an absolute path. What does not look like one is not repeated: it may be the secret that should be in the file.
	pathPattern = `/[^\r\n]*`
	// annotationNames is what names of annotations consist of; which ones there are, the registry knows.
	annotationNames = `[!-~]+`
	// prefixPattern is the beginning of a label's key.
	prefixPattern = `[0-9A-Za-z][0-9A-Za-z._/-]*`
	wantPrefix    = "the beginning of a label's key: letters, digits and - _ . /"
	// cidrPattern is a network, roughly; what is none of it is told at the start.
	cidrPattern = `[0-9A-Fa-f.:]+/[0-9]{1,3}`
	// day bounds durations: more is a mistake in the unit.
	day = 86400
)

// ConfigKeys are all keys of the cloud-config file. Checks, reference page and JSON schema are made of them.
func ConfigKeys() []config.Key {
	keys := append(cloudKeys(), credentialKeys()...)
	return slices.Concat(keys, balancerKeys(), nodeKeys(), pacingKeys(), routeKeys())
}

// cloudKeys say where the cloud is and what there is ours.
func cloudKeys() []config.Key {
	return []config.Key{
		{Path: "organisation", Since: "0.1.0", Required: true, Environment: envOrganisation, Example: "my-organisation",
			Effect: "The organisation that owns the cluster's machines.",
			Rule:   config.Matching(identityPattern, "the organisation's identity or slug"+identityLetters)},
		{Path: "project", Since: "0.1.0", Environment: envProject, Example: "p-0123456789",
			Effect: "The project inside the organisation; without it the organisation's own scope.",
			Rule:   config.Matching(identityPattern, "the project's identity"+identityLetters)},
		{Path: "endpoint", Since: "0.1.0", Example: "https://api.thalassa.cloud",
			Effect: "Where the cloud's API is.",
			Rule: config.Rule{Pattern: endpointPattern, Explain: explainEndpoint,
				Want: "a URL of scheme and host, perhaps with a port, like https://api.thalassa.cloud"}},
		{Path: "caBundle", Since: "0.1.0", Example: "/etc/thalassa-ccm/ca/ca.crt",
			Effect: "Certificates that are trusted beside the public ones, for an API behind a private certificate authority.",
			Rule:   config.Matching(pathPattern, "the absolute path of a PEM file with at least one certificate")},
		{Path: "insecure", Since: "0.1.0", Example: "true",
			Effect: "Skips the verification of the API's certificate, only for tests: anybody on the way can then read the credentials. " +
				"Not together with caBundle."},
		{Path: "vpcIdentity", Since: "0.1.0", Required: true, Example: "vpc-0123456789",
			Effect: "The VPC that the cluster's machines are in.",
			Rule:   config.Matching(identityPattern, `the identity of the VPC that the cluster's machines are in, like "vpc-…"`+identityLetters)},
		{Path: "defaultSubnet", Since: "0.1.0", Example: "subnet-0123456789",
			Effect:  "The subnet of load balancers whose Service names none.",
			Default: "the VPC's only subnet, or the first one labelled " + labelSubnetRole,
			Rule:    config.Matching(identityPattern, "the subnet's identity or slug"+identityLetters)},
		{Path: "cluster", Since: "0.1.0", Required: true, Example: "k8s-0123456789",
			Effect: "An identity of this cluster that no other in the organisation has. All its cloud objects are labelled with it, " +
				"and recognised by it: it must never change.",
			Rule: config.Matching(labelPattern, "an identity of this cluster, unique in the organisation, like \"k8s-…\": "+
				"at most 63 letters, digits and - _ .")},
		{Path: "clusterCIDR", Since: "0.1.0", Example: `"10.244.0.0/16,fd00:244::/48"`, Default: "what the flag --cluster-cidr says",
			Effect: "The network of all pods, or one of each family. Routes lead nowhere else, and nodes are given networks within it; both need it, and nothing else does. The flag --cluster-cidr says the same.",
			Rule:   config.Matching(cidrPattern+"(?:,"+cidrPattern+")?", "a network like 10.244.0.0/16, or one IPv4 and one IPv6 network with a comma between")},
		{Path: "additionalLabels", Since: "0.1.0", Example: "{team: shop}",
			Effect: "Labels for every cloud object the cluster owns. Their keys may not begin with " + labelReserved + ".",
			Rule: config.Rule{Keys: labelKeyPattern, Pattern: "|" + labelPattern, Reserved: labelReserved,
				Want: "labels as in Kubernetes: keys and values of at most 63 letters, digits and - _ ., keys perhaps with a domain and a slash before"}},
	}
}

// credentialKeys are the four forms of credentials.
func credentialKeys() []config.Key {
	const path, identity = pathCredentials + ".", pathWorkloadIdentity + "."
	return []config.Key{
		{Path: path + "personalAccessToken", Since: "0.1.0", Secret: true, Example: `"<token>"`,
			Effect: "A personal access token. Better kept in a file, see directory.",
			Rule:   tokenRule()},
		{Path: path + "clientID", Since: "0.1.0", Example: "ccm-client",
			Effect: "The OIDC client, together with clientSecret.",
			Rule:   clientIDRule()},
		{Path: path + "clientSecret", Since: "0.1.0", Secret: true, Example: `"<secret>"`,
			Effect: "The secret of the OIDC client. Better kept in a file, see directory.",
			Rule:   clientSecretRule()},
		{Path: path + "directory", Since: "0.1.0", Example: "/etc/thalassa-ccm/credentials",
			Effect: "A directory with the file personalAccessToken, or with the files clientID and clientSecret, like a mounted Secret.",
			Rule:   config.Matching(pathPattern, "the absolute path of a directory")},
		{Path: identity + "serviceAccountID", Since: "0.1.0", Required: true, Environment: envServiceAccount, Example: "sa-0123456789",
			Effect: "The cloud's service account that the subject token is exchanged for.",
			Rule:   config.Matching(identityPattern, `the identity of a service account, like "sa-…"`+identityLetters)},
		{Path: identity + "organisationID", Since: "0.1.0", Environment: envOrganisation, Example: "o-0123456789", Default: "what organisation says",
			Effect: "The organisation of the service account, which the exchange wants as an identity.",
			Rule:   config.Matching(identityPattern, "the organisation's identity"+identityLetters)},
		{Path: identity + "subjectTokenFile", Since: "0.1.0", Environment: envSubjectTokenFile, Example: subjectTokenFile,
			Effect: "The token that is exchanged, for example a projected service account token. It is read at each exchange.",
			Rule:   config.Matching(pathPattern, "the absolute path of a file")},
		{Path: identity + "lifetime", Since: "0.1.0", Example: "3600",
			Effect: "How long the token is valid that it is exchanged for.",
			Rule:   config.Whole(60, day, "seconds")},
	}
}

// The rules of secrets hold wherever they are: in the cloud-config or in files.
func tokenRule() config.Rule {
	return config.Matching(`[!-~]+`, "a token without blanks, line ends and special letters")
}

func clientIDRule() config.Rule {
	return config.Matching(`[!-~]+`, "an identifier without blanks, line ends and special letters")
}

func clientSecretRule() config.Rule {
	return config.Matching(`[^\r\n]+`, "a secret on one line")
}

// balancerKeys are about Services.
func balancerKeys() []config.Key {
	return []config.Key{
		{Path: "loadBalancer.enabled", Since: "0.1.0", Example: "false", Effect: "Serves Services of type LoadBalancer."},
		{Path: "loadBalancer.creationPollInterval", Since: "0.1.0", Example: "10", Rule: config.Whole(1, day, "seconds"),
			Effect: "The time between two looks at a load balancer that is being made or deleted. One that failed, or takes longer than creationPollTimeout, is looked at ever more rarely, down to once a minute."},
		{Path: "loadBalancer.creationPollTimeout", Since: "0.1.0", Example: "600", Rule: config.Whole(1, day, "seconds"),
			Effect: "After this time an event on the Service says that its load balancer takes long; looking goes on."},
		{Path: "loadBalancer.driftPeriod", Since: "0.1.0", Example: "600", Rule: config.Whole(0, day, "seconds"),
			Effect: "The time between two looks for what was changed in the cloud by hand, and for what Services that are gone left behind; 0 never looks."},
		{Path: "loadBalancer.drift", Since: "0.1.0", Example: driftReport,
			Effect: "What is done about what was changed in the cloud by hand: " + driftRepair + " puts it right and says so; " + driftReport + " says so, and puts it right with the next change of the Service or its nodes, or the next start; " + driftOff + " leaves it in the same way, and says nothing.",
			Rule:   config.Matching(driftRepair+"|"+driftReport+"|"+driftOff, "one of "+driftRepair+", "+driftReport+", "+driftOff)},
		{Path: "loadBalancer.removeOrphans", Since: "0.1.0", Example: "true",
			Effect: "Deletes load balancers and target groups of this cluster whose Services are gone. Otherwise they are reported, by an event and a metric. Two looks in a row must find them so, and the API server must say so, too."},
		{Path: "loadBalancer.class", Since: "0.1.0", Example: "example.com/public",
			Effect: "The loadBalancerClass whose Services are served, besides those without one. Services of other classes are never touched.",
			Rule:   config.Matching(labelKeyPattern, "a name like those of labels: letters, digits and - _ ., perhaps with a domain and a slash before")},
		{Path: "loadBalancer.onlyClass", Since: "0.1.0", Example: "true",
			Effect: "Leaves Services without a loadBalancerClass to others; without class, that is all of them."},
		{Path: "loadBalancer.defaults", Since: "0.1.0", Example: `{loadbalancing-policy: MAGLEV, health-check-enabled: "false"}`,
			Effect: "What holds for Services that do not have an annotation: the annotation's name without " + annotationPrefix + ", and its value. Load balancers that were taken over keep what they have.",
			Rule:   config.Rule{Keys: annotationNames, Want: "annotations that may have a default, by their names without " + annotationPrefix}},
		{Path: "loadBalancer.nodeSecurityGroup", Since: "0.1.0", Example: "sg-0123456789",
			Effect: "The security group of the nodes, in which rules are made for the node ports of Services with the annotation open-node-ports. Other rules in it stay as they are.",
			Rule:   config.Matching(identityPattern, "the identity or slug of a security group in the VPC"+identityLetters)},
	}
}

// nodeKeys are about nodes.
func nodeKeys() []config.Key {
	const path = "instancesV2."
	return []config.Key{
		{Path: path + "enabled", Since: "0.1.0", Example: "false",
			Effect: "Serves nodes: provider ID, addresses, instance type, labels, taints and removal."},
		{Path: path + "zoneAndRegionEnabled", Since: "0.1.0", Example: "false",
			Effect: "Labels nodes with their zone and region. Otherwise these labels stay as they are."},
		{Path: path + "typeLabels", Since: "0.1.0", Example: "true",
			Effect: "Labels nodes with the processors and the memory, in GiB, of their machine type: " + labelCPUs + " and " + labelMemory + "."},
		{Path: path + "labelPrefix", Since: "0.1.0", Example: "node-label.example.com/",
			Effect: "A label of a server whose key begins so becomes a label of its node, without the prefix.",
			Rule:   config.Matching(prefixPattern, wantPrefix)},
		{Path: path + "taintPrefix", Since: "0.1.0", Example: "node-taint.example.com/",
			Effect: "A label of a server whose key begins so becomes a taint of its node, without the prefix. Its value is the effect, like NoSchedule, or value and effect with a dot between them, like gpu.NoSchedule.",
			Rule:   config.Matching(prefixPattern, wantPrefix)},
		{Path: path + "machineAnnotation", Since: "0.1.0", Example: "example.com/server",
			Effect: "The annotation of a node that names its server, by identity, when no server is called like the node. Who may write annotations of nodes, as each kubelet may of its own, can then choose the server, though none that another node has.",
			Rule:   config.Matching(labelKeyPattern, "the name of an annotation: letters, digits and - _ ., perhaps with a domain and a slash before")},
		{Path: path + "removalGracePeriod", Since: "0.1.0", Example: "300", Rule: config.Whole(1, day, "seconds"),
			Effect: "The time between the two looks that must both say that a server is gone before its node is removed."},
		{Path: path + "maxRemovals", Since: "0.1.0", Example: "10", Rule: config.Whole(0, 100, "percent"),
			Effect: "The share of all nodes that may be removed within removalWindow. When more would be, none is until somebody has looked. One node always may; with 0, none ever."},
		{Path: path + "removalWindow", Since: "0.1.0", Example: "3600", Rule: config.Whole(60, day, "seconds"),
			Effect: "The time in which no more nodes are removed than maxRemovals allows. In the first one of a process one node may be."},
		{Path: path + "dryRun", Since: "0.1.0", Example: "true",
			Effect: "Says which nodes would be removed, by events and metrics, and removes none."},
	}
}

// pacingKeys say how old and how fast.
func pacingKeys() []config.Key {
	return []config.Key{
		{Path: "inventory.machineAge", Since: "0.1.0", Example: "120", Rule: config.Whole(1, 3600, "seconds"),
			Effect: "How old the list of machines may be from which nodes are answered. That a machine is gone never comes from an old list."},
		{Path: "inventory.balancerAge", Since: "0.1.0", Example: "600", Rule: config.Whole(1, 3600, "seconds"),
			Effect: "How old the list of load balancers may be that Services are compared with."},
		{Path: "api.callTimeout", Since: "0.1.0", Example: "60", Rule: config.Whole(1, 600, "seconds"),
			Effect: "How long one call of the API may take."},
		{Path: "api.requestsPerSecond", Since: "0.1.0", Example: "10", Rule: config.Whole(1, 1000, "calls"),
			Effect: "How many calls a second the whole process makes at most."},
		{Path: "api.burst", Since: "0.1.0", Example: "20", Rule: config.Whole(1, 10000, "calls"),
			Effect: "How many calls may be made at once after a pause; with 1 they are evenly spread."},
	}
}

// routeKeys say where routes to pods are.
func routeKeys() []config.Key {
	return []config.Key{
		{Path: "routes.enabled", Since: "0.1.0", Example: "true",
			Effect: "Makes routes to the pods of nodes in the VPC, so that no overlay network is needed. It needs clusterCIDR."},
		{Path: "routes.table", Since: "0.1.0", Example: "rtb-0123456789", Default: "the route tables of all subnets that nodes are in",
			Effect: "The route table that the routes are in.",
			Rule:   config.Matching(identityPattern, "the identity or slug of a route table in the VPC"+identityLetters)},
		{Path: "routes.exclusive", Since: "0.1.0", Example: "true",
			Effect: "Says that nobody else has routes in routes.table within the pods' network: what is there and not a node's is removed, and many routes are written at once. Routes to elsewhere stay, but what others write into that table at the same moment is lost."},
		{Path: "routes.driftPeriod", Since: "0.1.0", Example: "600", Rule: config.Whole(0, day, "seconds"),
			Effect: "The time between two looks for routes that were changed by hand; 0 never looks. The flag --route-reconciliation-period, if it is set, wins."},
	}
}

// explainEndpoint says what is wrong without repeating it: there may be a password in it.
func explainEndpoint(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "text that is no URL"
	case u.Scheme != "https" && u.Scheme != "http":
		return "text that does not begin with https:// or http://"
	case u.User != nil:
		return "a URL with a user name or a password"
	case u.Host == "":
		return "a URL without a host"
	case u.Port() != "" && !config.Matching(portPattern, "").Allows(u.Port()):
		return "a URL with an impossible port"
	case u.Path != "" && u.Path != "/":
		return "a URL with a path"
	case u.RawQuery != "" || u.ForceQuery:
		return "a URL with a query"
	case u.Fragment != "":
		return "a URL with a fragment"
	}
	return "a URL with something in it that is not allowed"
}
