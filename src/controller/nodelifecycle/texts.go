package nodelifecycle

// The reasons of events about Nodes, each with its texts. The page of each warning is in docs/events.

// The lifecycle controller of k8s.io/cloud-provider has these reasons, too.
const (
	reasonDeleting = "DeletingNode"
	textDeleting   = "Deleting Node %s: its machine %s does not exist, as two lists and a request for it confirmed"

	reasonDeletingFailed = "DeletingNodeFailed"
	textDeletingFailed   = "Deleting Node %s, whose machine does not exist: %v; it is retried automatically"
)

const (
	// reasonNotRemoved: the machine is missing, and the Node is not deleted now. What follows are the ends of its text.
	reasonNotRemoved = "NodeNotRemoved"
	textNotRemoved   = "The machine of this Node is missing, but the Node is not deleted: %s"
	whyKept          = "it has the annotation or label %s/%s"
	whyDryRun        = "it would be deleted, but dryRun is set"
	whyNoMachines    = "the cloud shows no machine of any Node, so the organisation, project or VPC may be wrong; if " +
		"its machine was really deleted, delete the Node by hand, or start a machine of the cluster"
	whyReplaced = "another machine, %s, has its name and is not shut down, so its kubelet may use this Node. If the " +
		"Node does not become ready, delete it and restart the kubelet of that machine, which registers the Node again"
	whyNameUnknown     = "the cloud did not answer whether another machine has its name: %v"
	whyTooMany         = "%s, and more would be deleted"
	whyCredentials     = "it is not certain that the credentials and the configured cloud are correct: %v"
	whyElsewhere       = "its machine exists, but not in the configured VPC: %v"
	whyWasElsewhere    = "its machine was in another network at the last check"
	whyNoAnswer        = "the cloud did not answer the second request: %v"
	whyContradicted    = "its machine was missing from the list, but a second request shows that it is %s"
	whyNotPermitted    = "removing Node %s was not permitted: %v"
	whyNotRead         = "reading the Node once more: %v"
	whyChanged         = "it changed at the same moment, so its kubelet may be running"
	whyReadyNotKnown   = "looking at the machine of Node %s, which is ready: %v"
	whyReadyMissing    = "the cloud's list lacks the machine of Node %s, which is ready"
	whyAllReadyMissing = "the cloud shows no machine for %s, although these Nodes are ready: check that it is the " +
		"right cloud; if it is, correct or delete these Nodes"
	whyReadyBeingChecked = "the cloud shows no machine for %s, although these Nodes are ready; each of these " +
		"machines is being checked, a few at a time"
	textMachinesUnknown = "These Nodes are not ready, and the state of their machines has been unknown for %s, so " +
		"the Nodes do not change: %s. The cloud's answer: %v"

	// reasonRemovalsStopped: more Nodes are missing than may be deleted, so none is. What follows are its limits.
	reasonRemovalsStopped = "NodeRemovalsStopped"
	textRemovalsStopped   = "The machines of %d Nodes are missing: %s. %d Nodes were deleted recently. No Node is " +
		"deleted until fewer machines are missing: %s. If machines are missing without a reason, check the cloud's " +
		"API and the credentials. If they were really deleted, delete the Nodes by hand, or raise maxRemovals"
	limitNone    = "no Node is ever deleted, because maxRemovals is 0"
	limitStarted = "at most one Node is deleted in the first %s after the program starts, because it does not know " +
		"which Nodes were deleted before"
	limitShare = "no more than %d %% of the Nodes may be deleted within %s (maxRemovals, removalWindow)"

	// reasonStateUnknown: this version does not know the state of the machine.
	reasonStateUnknown = "MachineStateUnknown"
	textStateUnknown   = "The state of this Node's machine is not known to this version, so the Node does not " +
		"change. Check whether a newer version supports it"
)
