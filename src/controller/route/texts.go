package route

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
)

// The reasons of events about Nodes, each with its texts. The page of each is in docs/events.
const (
	// reasonFailed is a reason of k8s.io/cloud-provider, too. The cloud may have a reason of its own.
	reasonFailed = "FailedToCreateRoute"
	textFailed   = "Could not create the route to %s via %s in route table %s: %s"

	// reasonQuota: the route table is full.
	reasonQuota = cloud.RouteQuotaExceeded

	// reasonConflict: an unmanaged route has the destination, or a part of it.
	reasonConflict   = "RouteConflict"
	textConflict     = "Route table %s has a route to %s that leads to %s" + conflictEnd
	textPartConflict = "Route table %s has a route to %s, a part of %s, that leads to %s" + conflictEnd
	conflictEnd      = ", which does not belong to a node of this cluster. It is not changed. Delete it, even if " +
		"it is an older route of this Node, or give the pods of this Node another network."

	// reasonNoAddress: the Node has no address of the destination's IP family.
	reasonNoAddress = "NoNodeAddress"
	textNoAddress   = "No route to %s: the Node has no internal %s address that the route could lead to. Give its " +
		"machine one."

	reasonOutside = "PodCIDROutsideCluster"
	textOutside   = "No route to %s: it is not within --cluster-cidr, and routes to other networks are not " +
		"managed. Set --cluster-cidr to the network of all pods."

	reasonTaken = "PodCIDRTaken"
	textTaken   = "No route to %s: node %s has %s for its pods, which overlaps. Find out which programs allocate " +
		"networks, disable one of them, delete one of the two Nodes, and let it register again."

	reasonInvalid = "InvalidPodCIDR"
	textInvalid   = "No route: %q in spec.podCIDRs is not a network. The field cannot be changed: delete the Node, " +
		"and let it register again."

	reasonLarge = nodeipam.TooLarge
	textLarge   = "No route to %s is made, and an existing one does not change: the network is larger than the " +
		"networks that nodes of this cluster are given, so other nodes may have parts of it. If this is a mistake, " +
		"find out which program set it, delete this Node, and let it register again. If it is intended, set " +
		"--shortest-node-cidr-mask-size-ipv4 or -ipv6."

	// reasonRestored: another program or user deleted or changed the route.
	reasonRestored = "RouteRestored"
	textRestored   = "The route to %s in route table %s was deleted by another program or user. It is created again, " +
		"because the pods of this Node need it."
	textManyRestored = "%d routes in route table %s were deleted by another program or user: to %s. They are created " +
		"again, because the pods of their Nodes need them."

	reasonUnknown = "RoutesNotKnown"
	textUnknown   = "The existing routes are unknown: %s"

	// reasonOtherTable: the Node's subnet uses a table in which no routes are created.
	reasonOtherTable = "OtherRouteTable"
	textOtherTable   = "The subnet of this Node uses route table %s, which is not the route table that is " +
		"configured for routes. No routes are made in it, so this Node may be unable to reach pods of other Nodes. " +
		"Let the subnet use the configured table, or configure none."

	// reasonNoTable: the route table of the Node is not known. The cloud has the text.
	reasonNoTable = "RouteTableNotFound"

	// reasonLeftBehind: an unmanaged route may be that of a deleted Node.
	reasonLeftBehind = "RouteLeftBehind"
	textLeftBehind   = "Route table %s has %d routes inside the network of pods that lead to no Node: %s. They may " +
		"belong to Nodes that were deleted while this program did not run. They do not change: delete those that " +
		"nobody needs."
)
