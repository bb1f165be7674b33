package nodeipam

// The reasons of events about Nodes, each with its texts. The page of each is in docs/events.
const (
	// reasonExhausted is a reason of kube-controller-manager, too.
	reasonExhausted = "CIDRNotAvailable"
	textExhausted   = "No network with a prefix of %d bits is free in %s of --cluster-cidr for the pods of this " +
		"Node. Delete Nodes that are not needed, or allocate smaller networks. The Node gets a network as soon as " +
		"one is free."

	// reasonFailed is a reason of kube-controller-manager, too. The text is the error.
	reasonFailed = "CIDRAssignmentFailed"

	reasonMask = "InvalidNodeCIDRMask"
	textMask   = "No network for the pods of this Node: its label or annotation %s is %q; want a whole number from " +
		"%d to %d, the length of a prefix within %s. --shortest-node-cidr-mask-size-ipv4 and -ipv6 limit the size " +
		"of a Node's network."

	reasonOverlap = "PodCIDROverlaps"
	textOverlap   = "The network %s in spec.podCIDRs overlaps with a network of another Node, or of Services, and " +
		"was not allocated by this controller. Another program or user also allocates networks. Stop the other " +
		"program, delete this Node, and let it register again."

	reasonCompeting = "AnotherGivesPodCIDRs"
	textCompeting   = "Another program recently allocated networks of --cluster-cidr to Nodes: %s. If it does so " +
		"for %d Nodes within %s, this controller pauses, because two programs would allocate the same networks. " +
		"Find out which program sets spec.podCIDRs. If it is kube-controller-manager, set " +
		"--allocate-node-cidrs=false for one of the two."
	textCompetingStops = "Another program allocated networks of --cluster-cidr to Nodes: %s. Two programs would " +
		"allocate the same networks, so this controller allocates none until the other program has stopped for %s. " +
		"If kube-controller-manager allocates networks, set --allocate-node-cidrs=false for this program; otherwise " +
		"set it for kube-controller-manager."

	reasonLarge = "PodCIDRTooLarge"
	textLarge   = "The network %s in spec.podCIDRs is larger than the networks that this controller allocates, " +
		"which have a prefix of %d bits. No other Node gets a part of it while this Node exists. If this is a " +
		"mistake, find out which program set it, delete this Node, and let it register again. If it is intended, " +
		"set --shortest-node-cidr-mask-size-ipv4 or -ipv6."
)
