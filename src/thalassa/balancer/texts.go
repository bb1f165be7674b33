package balancer

// The reasons of notices, which become events about Services, each with its texts. The page of each is in docs/events.
const (
	// reasonAnnotation: the text of most mistakes is that of the registry of annotations, to which these are added.
	reasonAnnotation = "InvalidAnnotation"
	adviceMeant      = " Until it is corrected, the setting that was probably meant does not change in the " +
		"cloud; if it is about allowed sources, no further port is opened."
	adviceSources = "; until it is valid, ports that it applies to are not opened, and open ports keep " +
		"their sources"
	adviceForeign = ". Until this is done or the annotation is removed, no further port is opened. Open " +
		"ports do not change."

	reasonConflict     = "ConflictingSettings"
	textAffinityPolicy = "spec.sessionAffinity is ClientIP, and annotation %sloadbalancing-policy names " +
		"a policy for %s that sends connections of one client to several nodes. Set it to %s or remove it."
	textPingsWithoutNetworks = "Annotation %[1]ssecurity-group-allow-icmp: ICMP is not permitted, " +
		"because no networks are set. Set them in %[1]ssecurity-group-icmp-allowed-sources or " +
		"%[1]sacl-allowed-sources."
	textTypeConflict = "Annotation %[1]stype is internal and %[1]sinternal is false: no port is opened " +
		"until one of them is changed or removed."
	textTwoAddresses = "%s names %s (%s), but spec.loadBalancerIP is %s. Remove one of the two."
	textLocalCheck   = "With externalTrafficPolicy Local the nodes are always checked by HTTP, because " +
		"some nodes may have no pod: %shealth-check-enabled and -protocol have no effect then."

	reasonUnsupported = "UnsupportedSetting"
	textAffinityKept  = "spec.sessionAffinity is ClientIP, and this load balancer was not created by " +
		"this program: it keeps the policy that it has for %s, which sends connections of one client to " +
		"several nodes. Set annotation %sloadbalancing-policy to %s."
	textAffinityTimeout = "spec.sessionAffinityConfig.clientIP.timeoutSeconds is %d, and load balancers " +
		"of Thalassa Cloud have no such timeout: a client comes to the same node for as long as the nodes stay " +
		"the same. Remove the field, or leave it at %d."
	textMaxTargetsLocal = "Annotation %s%s has no effect while spec.externalTrafficPolicy is Local: all " +
		"nodes with a ready endpoint receive traffic. Remove the annotation, or set the policy to Cluster."
	textNoAddressOfFamily = "The load balancer has no %s address, which spec.ipFamilies requests: its " +
		"addresses are %s. The IP families depend on its subnet and region. Choose a subnet with %s by " +
		"%ssubnet, or remove the family."
	textNoHostname = "Annotation %spublish: the load balancer has no hostname, so its addresses are " +
		"published."
	textInternalReservedIP = "%s: an internal load balancer cannot have a reserved IP, which is a " +
		"public address. Remove one of the two."

	reasonImmutable   = "ImmutableSetting"
	textAdoptsAnother = "Annotation %sadopt names %s, but this Service already has load balancer %s, " +
		"which it keeps. To use the other one, delete the Service and create it again."
	textInternalSubnet = "Annotation %ssubnet: an internal load balancer cannot be moved to another " +
		"subnet, and stays in %s. To use %s, delete the Service and create it again; its address then changes."
	textAddressNotApplied = "spec.loadBalancerIP is not applied to a load balancer that this program " +
		"did not create, because its address would change. To change the address, set %sreserved-ip: %q."
	textImmutableType = "This Service requests a load balancer of type %s, but its load balancer is of " +
		"type %s, which cannot be changed. The type does not change, and no new port is opened. To change the " +
		"type, delete the Service and create it again; its address then changes."

	reasonUnknownSubnet = "UnknownSubnet"
	textUnknownSubnet   = "Annotation %ssubnet: VPC %s has no subnet %q; it has %s."

	reasonUnknownGroup = "UnknownSecurityGroup"
	textUnknownGroup   = "Annotation %ssecurity-groups: VPC %s has no security group %q%s. Its security " +
		"groups do not change, and no new port is opened."

	reasonUnknownIP = "UnknownReservedIP"
	textUnknownIP   = "%s: region %s has no reserved IP %q. Reserve one in the cloud and name it here, by " +
		"identity, slug or address."
	textNoIP = "spec.loadBalancerIP: %q is not an IP address; give the address of a reserved IP, or " +
		"remove it."

	reasonInUse = "ReservedIPInUse"
	textInUse   = "%s: reserved IP %s (%s) is attached to %s. Detach it there, or name another one. It is " +
		"retried automatically."

	// reasonGroupFull: the text is mostly the error.
	reasonGroupFull  = "SecurityGroupFull"
	textTooManyPings = "The security group of the Service: %v. Name fewer networks in " +
		"%ssecurity-group-icmp-allowed-sources; the ports are not concerned."

	// reasonSourcesKept: the port accepts only some sources, and the Service does not ask for that.
	reasonSourcesKept = "AllowedSourcesKept"
	textSourcesKept   = "Port %s accepts connections from %s only. This Service does not configure these " +
		"sources. They were set in the cloud, or by a previous controller, and do not change, because opening " +
		"the port could be a mistake. To open it, set %sacl-allowed-sources to 0.0.0.0/0,::/0."

	// reasonHealthCheckKept: the cloud does not remove a health check.
	reasonHealthCheckKept = "HealthCheckKept"
	textHealthCheckKept   = "The cloud accepted the removal of the health check of target group %s, but " +
		"did not remove it: %s. Nodes that fail it receive no traffic. Remove it in the cloud. If that is not " +
		"possible, delete the port's listener and this target group there: new ones are then created " +
		"automatically."

	// reasonLeftOut: some nodes receive no traffic of the Service.
	reasonLeftOut         = "NodesLeftOut"
	textWithoutProviderID = "These nodes receive no traffic of this Service, because they have no " +
		"provider ID: %s. See the events of the nodes; spec.providerID must be set to %s. The kubelet of a " +
		"node without events may run without --cloud-provider=external."
	textWithoutMachine = "These nodes receive no traffic of this Service, because VPC %s does not " +
		"contain their machines, or the machines are being deleted: %s. Delete nodes whose machines were " +
		"deleted. If the machines are in another VPC, set vpcIdentity in the cloud-config."
	textUnsureMachine = "It is not known whether the machines of these nodes exist: %s. The cloud's " +
		"list does not contain them, and requests for them fail. Until a request succeeds, the nodes stay " +
		"targets where they are targets, and are not added elsewhere. It is retried automatically."
	textNoNodeRemains = "No node remains: a new load balancer has no targets, and an existing load " +
		"balancer keeps its targets."

	// reasonLabelsLost: the Service's load balancer lost labels, and was recognised without them.
	reasonLabelsLost = "LabelsLost"
	textLabelsLost   = "Load balancer %s (%s) lost labels of this Service in the cloud. It was recognised " +
		"without them and keeps its address. The labels are set again. Find out which user or program removed " +
		"them."

	// reasonUncertain: a load balancer may be the Service's, but its labels do not say so.
	reasonUncertain = "LoadBalancerUncertain"
	textUncertain   = "load balancer %s (%s) may belong to this Service: %s. No other load balancer is " +
		"created, and this one is not changed. If it belongs to the Service, set these labels on it in the " +
		"cloud: %s=%s, %s=%s, %s=%s."
	textMayAlsoBelong = "Load balancer %s (%s) may also belong to this Service: %s. The Service uses %s. If %s is " +
		"not needed, delete it in the cloud."
	adviceFormerName = " If the name of the cluster was changed, set cluster in the cloud-config to the " +
		"previous name."

	// reasonAnotherCluster: the Service's load balancer has the UID of another cluster.
	reasonAnotherCluster = "LoadBalancerOfAnotherCluster"
	textAnotherCluster   = "load balancer %s (%s) has the labels of this Service, and its annotation %s " +
		"is %s, the UID of another cluster with the same value of cluster in its cloud-config. It is not " +
		"changed, and no other load balancer is created. If this cluster replaces the other one, add the UID " +
		"to formerClusterUIDs in the cloud-config. If both exist, give the newer one another value of cluster"
)
