package machine

import "github.com/thalassa-cloud/thalassa-ccm/src/cloud"

// The reasons of problems, which become events about Nodes, each with its texts. The page of each is in docs/events.
const (
	reasonNotFound = cloud.MachineNotFound
	textNotFound   = "There is no machine %s in the namespace %s of IronCore. A Node must have the name of its " +
		"machine: create the machine, or start the kubelet with %s."
	adviceOverride = "--hostname-override"
	adviceSimilar  = "--hostname-override=%s, if it runs on that machine"

	reasonElsewhere = cloud.MachineElsewhere
	textElsewhere   = "The machine of this Node cannot be used: %s The namespace of the cluster is %s. A provider ID " +
		"cannot be changed: delete the Node, and start the kubelet without --provider-id and with the name of its " +
		"machine."

	reasonNoAddress = cloud.MachineNoAddress
	textNoAddress   = "The machine %s has no address in the Network %s%s. The Node is initialised when IronCore has " +
		"assigned one."
	textNoInterfaces = ": these network interfaces do not exist: %s"

	reasonInvalidSetting = cloud.InvalidSetting
	textLabelValue       = "The name of the %s %s cannot be the value of a label, so that the Node does not get the " +
		"label: %s. Use a %s with a shorter name."
)
