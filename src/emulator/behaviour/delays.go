package behaviour

import (
	"time"
)

// ProgramDelays are those of the program without any flags.
func ProgramDelays() Delays {
	// The vendor's Terraform provider takes a node pool that it has not read as deleted for an error.
	return Delays{LoadbalancerCreate: 2 * time.Second, LoadbalancerDelete: time.Second,
		KubernetesLinger: 5 * time.Second, TokenLifetime: time.Hour}
}

// Delays are how long the cloud takes. Zero means at once.
type Delays struct {
	// LoadbalancerCreate is how long a load balancer is `creating`, and has no
	// address, after it was created.
	LoadbalancerCreate time.Duration
	// LoadbalancerDelete is how long it is `deleting` after DELETE.
	LoadbalancerDelete time.Duration
	// LoadbalancerLinger is how long it is then still listed as `deleted`.
	LoadbalancerLinger time.Duration
	// LoadbalancerUpdate is how long a load balancer is `updating` after a change
	// of it or its listeners; it keeps its addresses and its traffic.
	LoadbalancerUpdate time.Duration
	// MachineCreate is how long a machine's status is `provisioning`.
	MachineCreate time.Duration
	// MachineDelete is how long a machine is `deleting` after DELETE.
	MachineDelete time.Duration
	// MachineLinger is how long a machine is then still listed as `deleted`.
	MachineLinger time.Duration
	// NetworkCreate is how long VPCs and subnets are `creating` and security
	// groups `provisioning`; all can be used meanwhile.
	NetworkCreate time.Duration
	// NetworkDelete is how long VPCs, subnets, security groups, reserved IPs and
	// NAT gateways are `deleting` after DELETE.
	NetworkDelete time.Duration
	// NetworkLinger is how long they are then still listed as `deleted`.
	NetworkLinger time.Duration
	// ReservedIPCreate is how long a reserved IP is `creating`; it cannot be
	// attached meanwhile.
	ReservedIPCreate time.Duration
	// NATGatewayCreate is how long a NAT gateway is `creating`, and has no
	// endpoint.
	NATGatewayCreate time.Duration
	// VolumeCreate is how long a volume is `Creating`; it cannot be attached
	// meanwhile.
	VolumeCreate time.Duration
	// VolumeAttach is how long a volume is `Attaching`.
	VolumeAttach time.Duration
	// VolumeDetach is how long a volume is `Detaching`.
	VolumeDetach time.Duration
	// VolumeResize is how long a volume keeps its old size after it was made larger.
	VolumeResize time.Duration
	// VolumeDelete is how long a volume is `Deleting` after DELETE.
	VolumeDelete time.Duration
	// VolumeLinger is how long a volume is then still listed as `Deleted`.
	VolumeLinger time.Duration
	// SnapshotCreate is how long a snapshot is `Creating`; nothing can be restored
	// from it meanwhile.
	SnapshotCreate time.Duration
	// SnapshotDelete is how long a snapshot is `Deleting` after DELETE.
	SnapshotDelete time.Duration
	// SnapshotLinger is how long a snapshot is then still listed as `Deleted`.
	SnapshotLinger time.Duration
	// KubernetesCreate is how long clusters and node pools are `provisioning`.
	KubernetesCreate time.Duration
	// KubernetesDelete is how long they are `deleting` after DELETE.
	KubernetesDelete time.Duration
	// KubernetesLinger is how long they are then still listed as `deleted`.
	KubernetesLinger time.Duration
	// LabelFilters is how far lists with a label filter lag behind: they show what
	// there was so long ago, when lists without one show what there is.
	LabelFilters time.Duration
	// TokenLifetime is the life of bearer tokens; zero means one hour, which is
	// what the real service gives.
	TokenLifetime time.Duration
}
