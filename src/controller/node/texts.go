package node

import "github.com/thalassa-cloud/thalassa-ccm/src/cloud"

// The reasons of events about Nodes, each with its texts; the cloud has more of each. The page of each warning is in
// docs/events.
const (
	// reasonSynced is a reason of the node controller of k8s.io/cloud-provider, too.
	reasonSynced = "Synced"
	textSynced   = "Node synced successfully"

	// reasonNotWritten: the API server refuses the patch.
	reasonNotWritten = "NodeNotWritten"
	textNotWritten   = "The API server refused the update of this Node: %s Check the roles of the cloud controller " +
		"manager, admission policies and webhooks."

	reasonNotFound   = cloud.MachineNotFound
	textNoProviderID = "The cloud found a machine for this Node, but returned no provider ID. Set spec.providerID of " +
		"the Node."

	reasonNoAddress = cloud.MachineNoAddress
	textNoAddress   = "The machine of this Node has no address in the cloud. It is retried automatically; if the " +
		"problem persists, connect the machine to the cluster's network."

	reasonTaken = cloud.MachineTaken
	textTaken   = "The machine of this Node, %s, already belongs to Node %s. If that Node is not in use any more, " +
		"delete it. Otherwise correct the name, provider ID or annotation by which the machine of this Node is " +
		"found."

	// reasonNotKnown: the cloud returned an error, which is the text.
	reasonNotKnown = cloud.MachineNotKnown

	reasonInvalidIP = cloud.InvalidNodeIP
	textInvalidIP   = "The kubelet of this Node sets the address %q with --node-ip, which its machine does not " +
		"have in the cloud. The addresses of the machine are %s, and only these are set on the Node. Correct the " +
		"kubelet's --node-ip, or give the machine that address."

	reasonInvalidSetting = cloud.InvalidSetting
	textInvalidLabel     = "The cloud says %q for the label %s, which is not a valid value of a label. The label " +
		"does not change."
	textRecordChanged = "The annotation %s of this Node, or the label %s, was changed by another program or user. " +
		"Therefore it is unknown which labels and taints were copied from its machine. Both are written again. " +
		"Remove labels and taints by hand that the machine does not have any more."
	textLabelOfAnother = "The machine of this Node requests the label %s=%s, but another program or user set it to " +
		"%q. The label does not change. To use the machine's value, remove the label from the Node."
	textTaintOfAnother = "The machine of this Node requests the taint %s with the value %q, but another program or " +
		"user set it to %q. The taint does not change. To use the machine's value, remove the taint from the Node."
	textInvalidEffect = "The machine of this Node requests the taint %s with the effect %q, which does not exist. " +
		"Use %s, %s or %s."
	textNotAllowed = "The machine of this Node requests the %s %q with the value %q, which Kubernetes does not " +
		"allow: %s."
	textKeepNode = "The machine of this Node requests the %s %s, which protects a Node from deletion and cannot " +
		"be set in this way. Set it on the Node itself."
	textReserved = "The machine of this Node requests the %s %s, which is reserved for Kubernetes. Of the reserved " +
		"domains, only %s/ can be set in this way."
)
