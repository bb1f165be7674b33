package machine

import "github.com/thalassa-cloud/thalassa-ccm/src/cloud"

// The reasons of problems, which become events about Nodes, each with its texts. The page of each is in docs/events.
const (
	reasonNotFound = cloud.MachineNotFound
	textNotFound   = "VPC %s has no machine with the %s. %s."
	adviceName     = "Give the machine the name of this Node, or set spec.providerID of this Node to %s"
	adviceSimilar  = "Machine %s has the similar %s. If this Node runs on it, give it exactly the name of this " +
		"Node, or set spec.providerID of this Node to %s"
	adviceManySimilar = "These machines have similar names: %s. If this Node runs on one of them, give it exactly " +
		"the name of this Node, or set spec.providerID of this Node to %s"
	textNameDeleting = "The machine of VPC %s with the %s is being deleted, so it is not used for this Node. " +
		"Delete the Node, or give its machine that name."
	textIDNotFound = "VPC %s has no machine %s, which this Node names. If the machine was deleted, the Node is " +
		"deleted when its kubelet does not report any more."
	textAnnotatedDeleting = "Machine %s, which the annotation %s of this Node names, is being deleted. Correct the " +
		"annotation."
	textAnnotatedNotFound = "VPC %s has neither a machine with the %s nor machine %s, which the annotation %s of " +
		"this Node names."

	reasonAmbiguous = cloud.MachineAmbiguous
	textAmbiguous   = "%d machines of VPC %s have the %s. Set spec.providerID of this Node to the machine that it " +
		"runs on, %s, or rename the others."

	reasonElsewhere = cloud.MachineElsewhere
	textElsewhere   = "VPC %s of the cloud-config does not contain the machine of this Node: %s is in VPC %s. Move " +
		"the machine, or set vpcIdentity to the VPC of the cluster's machines."

	reasonReplaced = cloud.MachineReplaced
	textReplaced   = "VPC %s does not contain machine %s any more, which this Node names; the machine with the %s " +
		"is %s now. Delete this Node, so that the kubelet registers it again."

	reasonNoAddress = cloud.MachineNoAddress
	textNoAddress   = "Machine %s of this Node has no address on its network interface \"default\" yet. It is " +
		"retried automatically; if the problem persists, attach the machine to a subnet of its VPC with an " +
		"interface of that name."
	textInvalidAddress = "The cloud shows %q as an address of machine %s, which is not an address. Check the " +
		"machine in the cloud."

	reasonInvalidSetting = cloud.InvalidSetting
	textProviderID       = "The provider ID of this Node is %q, which does not name a machine: want %s. It cannot be " +
		"changed, so correct the kubelet's --provider-id, delete this Node, and restart the kubelet."
	textAnnotation = "The annotation %s of this Node is %q, which is not the identity of a machine."
	textReserved   = "The machine of this Node has the label %s. Labels and taints that begin with %s cannot be " +
		"set in this way, because they control what the cloud controller manager does with a Node. Set it on the " +
		"Node itself."
	textTypeNotListed = "The cloud does not list machine type %s, so the labels %s and %s of this Node do not change."

	// reasonRefused and reasonNotReachable have the same texts, which end with the error.
	reasonRefused      = cloud.CloudRefused
	reasonNotReachable = cloud.CloudNotReachable
	textNotKnown       = "The machine of this Node is not known: %v"
	textTypeNotKnown   = "The labels %s and %s of this Node do not change: %v"
)
