package service

// The reasons of events, each with its texts. Those of conditions that are no events are in status.go. The page of each
// warning is in docs/events.

// Reasons of Normal events, which the service controller of k8s.io/cloud-provider also has, except reasonRetained.
const (
	reasonEnsuring = "EnsuringLoadBalancer"
	textEnsuring   = "Ensuring load balancer: %s"

	reasonEnsured = "EnsuredLoadBalancer"
	textEnsured   = "Ensured load balancer"

	reasonUpdated = "UpdatedLoadBalancer"
	textUpdated   = "Updated load balancer with new hosts"

	reasonDeleting = "DeletingLoadBalancer"
	textDeleting   = "Deleting load balancer"

	reasonDeleted = "DeletedLoadBalancer"
	textDeleted   = "Deleted load balancer"

	// reasonRetained: the Service has no load balancer any more, and the load balancer still exists in the cloud. The
	// provider has the text.
	reasonRetained = "KeptLoadBalancer"
)

// Reasons about the load balancer.
const (
	reasonSyncFailed = "SyncLoadBalancerFailed"
	textSyncFailed   = "Error syncing load balancer: %v"

	reasonSlow = "LoadBalancerSlow"
	textSlow   = "%s is still %q after %s. The controller continues to check it, and nothing needs to be done in the " +
		"cluster. If the status does not change soon, ask the cloud's support."

	reasonFailed = "LoadBalancerFailed"
	textFailed   = "The cloud reports that %s failed: its status is %q. Ask the cloud's support for the cause, or " +
		"delete it in the cloud: a new one is then created automatically."

	reasonDrifted    = "LoadBalancerDrifted"
	textDriftReverts = "The load balancer of this Service was changed in the cloud. The change is being reverted: " +
		"%s. To configure the load balancer, change the Service."
	textDriftStays = "The load balancer of this Service was changed in the cloud. As configured, the change is not " +
		"reverted until the Service or its nodes change. The difference: %s."

	// reasonNotRepaired: drift is not reverted.
	reasonNotRepaired = "LoadBalancerNotRepaired"
	textRevertedAgain = "The same change was made again minutes after it was reverted: look for another program that " +
		"changes the load balancer. It is reverted when five minutes have passed"
	textNotRepaired = "The load balancer of this Service was changed in the cloud, and the change is not reverted: " +
		"%s"

	// reasonRepaired: the addresses of the load balancer changed, or did so perhaps while no process ran.
	reasonRepaired      = "LoadBalancerRepaired"
	textAddressesChange = "The addresses of the load balancer changed from %s to %s. Update DNS, if that is not " +
		"automated."
	textAddressesDiffer = "The status of this Service had the addresses %s, and the load balancer has %s, which are " +
		"published now. Update DNS, if that is not automated."

	// reasonOverwritten: another program replaced the addresses in the status.
	reasonOverwritten = "StatusOverwritten"
	textOverwritten   = "Another program wrote the addresses %s into the status of this Service. The load balancer " +
		"still has %s, which are published again. Find out which program it is: kubectl get service --output yaml " +
		"--show-managed-fields names it."

	// reasonAddressInvalid: the API server does not accept an address of the load balancer.
	reasonAddressInvalid = "LoadBalancerAddressInvalid"
	textAddressInvalid   = "The cloud returns addresses of the load balancer that Kubernetes does not accept, so " +
		"they are not published: %s. Ask the cloud's support to correct them."

	// reasonLeft: objects that may belong to the Service stay in the cloud. The provider has the text.
	reasonLeft = "LoadBalancerLeft"
)

// Reasons about the targets.
const (
	// reasonNoReadyEndpoints: there is no endpoint that can receive traffic.
	reasonNoReadyEndpoints = "NoReadyEndpoints"
	textNoReadyEndpoints   = "%s, and its externalTrafficPolicy is Local: the targets of the load balancer do not " +
		"change, and they do not answer. %s."
	whyNoneReady  = "No endpoint of this Service is ready"
	nextNoneReady = "Check the pods that the Service selects"
	whyElsewhere  = "All ready endpoints of this Service are on nodes that are not in the cluster or not of this " +
		"cloud"
	whyNameless = "Endpoints of this Service are ready, but its EndpointSlices name no node of the cluster for " +
		"them"
	nextIfNameless = "Set nodeName of these endpoints, or set externalTrafficPolicy to Cluster"

	// reasonEndpointsExcluded: all ready endpoints are on nodes that are excluded from load balancers.
	reasonEndpointsExcluded = "EndpointsOnExcludedNodes"
	textEndpointsExcluded   = "All ready endpoints of this Service are on nodes that are excluded by the label %s, " +
		"about to be removed or being deleted: %s. Its externalTrafficPolicy is Local, so no other node can serve " +
		"it, and the load balancer sends traffic to these nodes. Run the pods on other nodes, or remove the label."

	reasonEndpointsNotRead = "EndpointsNotRead"
	textEndpointsNotRead   = "The cloud controller manager cannot read the EndpointSlices of this Service, and its " +
		"externalTrafficPolicy is Local: the targets of the load balancer do not change. Permit it to list and watch " +
		"endpointslices of discovery.k8s.io, as the chart of its version does. If it has the permission, see its log."

	reasonNoNodeMatches = "NoNodeMatches"
	textNoNodeMatches   = "No available node matches the node selector of this Service: the targets of the load " +
		"balancer do not change. Change the selector, or label nodes."
	textNoLocalNodeMatches = "No node with a ready endpoint of this Service matches its node selector, and its " +
		"externalTrafficPolicy is Local: the targets of the load balancer do not change. Change the selector, label " +
		"nodes, or run the pods on those that match."

	reasonUnavailable = "UnAvailableLoadBalancer"
	textUnavailable   = "There are no available nodes for LoadBalancer: every node is excluded by the label %s, is " +
		"about to be removed, is of another cloud, or does not exist."
)

// Reasons about objects in the cloud that no Service of this cluster has.
const (
	reasonOrphaned = "LoadBalancerOrphaned"
	textOrphaned   = "The cloud has %s of a Service that is not in this cluster any more, or has a load balancer of " +
		"another class (%s, UID %s). %s"
	adviceOtherClass = "Another controller that is now responsible for that Service may use it. It is deleted when " +
		"the Service is deleted or gets another type. If no controller uses it, delete it in the cloud before."
	adviceRetained = "It is kept, because its Service had the annotation on-delete: keep. Adopt it with another " +
		"Service, or delete it in the cloud."
	adviceUnlabelled = "It lost its labels, so nothing of this Service is deleted. Delete all of it in the cloud."
	adviceRemoved    = "It is being deleted, as configured."
	adviceDoubt      = "The objects are not deleted, although removeOrphans is set: %s. If no other cluster uses " +
		"them, delete them with kubectl thalassa orphans delete %s --force."
	adviceHeld = "It is not deleted, although removeOrphans is set, because most objects that this cluster has in " +
		"the cloud belong to no Service, or because its labels are incomplete. Check that the program runs in the " +
		"right cluster, and delete the object in the cloud."
	adviceReported = "Delete it in the cloud, or set loadBalancer.removeOrphans to true."

	// reasonForeign: objects have the key of this cluster, and another cluster has made them.
	reasonForeign = "LoadBalancerOfAnotherCluster"
	textForeign   = "The cloud has %d objects with the name of this cluster that another cluster has made, whose UID " +
		"is %s: %s. They are neither changed nor deleted. Give one of the two clusters another name in the " +
		"cloud-config. If this cluster replaces the other one, set formerClusterUIDs."
)
