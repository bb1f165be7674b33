package seed

import (
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Objects are what an organisation or a project owns besides networks and machines. References are identities or
// slugs.
type Objects struct {
	CloudInits       []CloudInit      `yaml:"cloudInits,omitempty"`
	NATGateways      []NATGateway     `yaml:"natGateways,omitempty"`
	TargetGroups     []TargetGroup    `yaml:"targetGroups,omitempty"`
	LoadBalancers    []LoadBalancer   `yaml:"loadBalancers,omitempty"`
	Filesystems      []Filesystem     `yaml:"filesystems,omitempty"`
	Volumes          []Volume         `yaml:"volumes,omitempty"`
	Snapshots        []Snapshot       `yaml:"snapshots,omitempty"`
	SnapshotPolicies []SnapshotPolicy `yaml:"snapshotPolicies,omitempty"`
	Peerings         []Peering        `yaml:"peerings,omitempty"`
	Clusters         []Cluster        `yaml:"kubernetesClusters,omitempty"`
	Buckets          []Bucket         `yaml:"buckets,omitempty"`
}

// Object is what objects have in common.
type Object struct {
	Identity string            `yaml:"identity,omitempty"`
	Name     string            `yaml:"name,omitempty"`
	Labels   map[string]string `yaml:"labels,omitempty"`
	Details  `yaml:",inline"`
}

// CloudInit is a cloud-init template.
type CloudInit struct {
	Object  `yaml:",inline"`
	Content string `yaml:"content,omitempty"`
}

// NATGateway is a NAT gateway. Without addresses or a reserved IP it gets public addresses of its region.
type NATGateway struct {
	Object         `yaml:",inline"`
	Life           `yaml:",inline"`
	Subnet         string       `yaml:"subnet,omitempty"`
	InstanceSize   string       `yaml:"instanceSize,omitempty"`
	SecurityGroups []string     `yaml:"securityGroups,omitempty"`
	Addresses      []netip.Addr `yaml:"addresses,omitempty"`
	ReservedIP     string       `yaml:"reservedIp,omitempty"`
}

// LoadBalancer is a load balancer. Without addresses or a reserved IP it gets some.
type LoadBalancer struct {
	Object           `yaml:",inline"`
	Life             `yaml:",inline"`
	Subnet           string       `yaml:"subnet,omitempty"`
	Internal         bool         `yaml:"internal,omitempty"`
	InstanceSize     string       `yaml:"instanceSize,omitempty"`
	DeleteProtection bool         `yaml:"deleteProtection,omitempty"`
	SecurityGroups   []string     `yaml:"securityGroups,omitempty"`
	Addresses        []netip.Addr `yaml:"addresses,omitempty"`
	ReservedIP       string       `yaml:"reservedIp,omitempty"`
	// ChangingUntil is until when it is updating.
	ChangingUntil time.Time  `yaml:"changingUntil,omitempty"`
	Listeners     []Listener `yaml:"listeners,omitempty"`
}

// Listener is a port of a load balancer.
type Listener struct {
	Object         `yaml:",inline"`
	Port           int      `yaml:"port,omitempty"`
	Protocol       string   `yaml:"protocol,omitempty"`
	TargetGroup    string   `yaml:"targetGroup,omitempty"`
	MaxConnections *uint32  `yaml:"maxConnections,omitempty"`
	IdleTimeout    *uint32  `yaml:"connectionIdleTimeout,omitempty"`
	AllowedSources []string `yaml:"allowedSources,omitempty"`
}

// TargetGroup is a target group.
type TargetGroup struct {
	Object        `yaml:",inline"`
	VPC           string                  `yaml:"vpc,omitempty"`
	Port          int                     `yaml:"targetPort,omitempty"`
	Protocol      string                  `yaml:"protocol,omitempty"`
	Policy        string                  `yaml:"loadbalancingPolicy,omitempty"`
	ProxyProtocol *bool                   `yaml:"enableProxyProtocol,omitempty"`
	Selector      map[string]string       `yaml:"targetSelector,omitempty"`
	HealthCheck   JSON[*wire.HealthCheck] `yaml:"healthCheck,omitempty"`
	Attachments   []Attachment            `yaml:"attachments,omitempty"`
	// Listeners are the identities of listeners of load balancers, in the order in which they are listed here.
	Listeners []string `yaml:"listeners,omitempty"`
}

// Attachment is a machine in a target group.
type Attachment struct {
	Identity  string    `yaml:"identity,omitempty"`
	CreatedAt time.Time `yaml:"createdAt,omitempty"`
	Machine   string    `yaml:"machine,omitempty"`
	// Selected attachments come and go with the selector.
	Selected bool `yaml:"selected,omitempty"`
}

// Filesystem is an NFS file system.
type Filesystem struct {
	Object           `yaml:",inline"`
	Subnet           string       `yaml:"subnet,omitempty"`
	Endpoint         string       `yaml:"endpoint,omitempty"`
	Addresses        []netip.Addr `yaml:"addresses,omitempty"`
	Size             int          `yaml:"size,omitempty"`
	DeleteProtection bool         `yaml:"deleteProtection,omitempty"`
	SecurityGroups   []string     `yaml:"securityGroups,omitempty"`
}

// Volume is a volume. Sizes are in GiB.
type Volume struct {
	Object           `yaml:",inline"`
	Life             `yaml:",inline"`
	Region           string    `yaml:"region,omitempty"`
	Type             string    `yaml:"type,omitempty"`
	Image            string    `yaml:"image,omitempty"`
	Size             int       `yaml:"size,omitempty"`
	SizeBefore       int       `yaml:"sizeBefore,omitempty"`
	GrownAt          time.Time `yaml:"grownAt,omitempty"`
	DeleteProtection bool      `yaml:"deleteProtection,omitempty"`
	// RestoredFrom is the identity of a snapshot.
	RestoredFrom string            `yaml:"restoredFrom,omitempty"`
	Attachment   *VolumeAttachment `yaml:"attachment,omitempty"`
	// Gone volumes are not listed, but snapshots name them.
	Gone bool `yaml:"gone,omitempty"`
}

// VolumeAttachment is the use of a volume by a machine.
type VolumeAttachment struct {
	Identity    string    `yaml:"identity,omitempty"`
	Description string    `yaml:"description,omitempty"`
	CreatedAt   time.Time `yaml:"createdAt,omitempty"`
	Machine     string    `yaml:"machine,omitempty"`
	// Root is the disk that the machine boots from. Existed volumes stay when the machine is deleted.
	Root    bool `yaml:"root,omitempty"`
	Existed bool `yaml:"existed,omitempty"`
	// DetachingAt and DetachedAt are there after the end was requested.
	AttachedAt  time.Time `yaml:"attachedAt,omitempty"`
	DetachingAt time.Time `yaml:"detachingAt,omitempty"`
	DetachedAt  time.Time `yaml:"detachedAt,omitempty"`
}

// Snapshot is a snapshot of a volume.
type Snapshot struct {
	Object           `yaml:",inline"`
	Life             `yaml:",inline"`
	Volume           string `yaml:"volume,omitempty"`
	Size             int    `yaml:"size,omitempty"`
	DeleteProtection bool   `yaml:"deleteProtection,omitempty"`
	// Policy is the identity of the snapshot policy that took the snapshot, if one did.
	Policy string `yaml:"policy,omitempty"`
	// Gone snapshots are not listed, but volumes were made from them.
	Gone bool `yaml:"gone,omitempty"`
}

// SnapshotPolicy is a snapshot policy.
type SnapshotPolicy struct {
	Object `yaml:",inline"`
	Region string                  `yaml:"region,omitempty"`
	Plan   JSON[wire.SnapshotPlan] `yaml:"plan,omitempty"`
	TTL    time.Duration           `yaml:"ttl,omitempty"`
	// NextAt is when the next snapshots were due. If this has passed, they are taken at once. LastAt is when the latest
	// was taken.
	NextAt time.Time `yaml:"nextAt,omitempty"`
	LastAt time.Time `yaml:"lastAt,omitempty"`
}

// Peering is a peering connection, described where it was requested.
type Peering struct {
	Object    `yaml:",inline"`
	Requester string `yaml:"requesterVpc,omitempty"`
	// Accepter may be a VPC of another organisation.
	Accepter string `yaml:"accepterVpc,omitempty"`
	// Status is pending when empty.
	Status  string  `yaml:"status,omitempty"`
	Message *string `yaml:"message,omitempty"`
}

// FirewallRule is a rule of a VPC's firewall.
type FirewallRule struct {
	Object            `yaml:",inline"`
	Match             JSON[wire.FirewallMatch] `yaml:"match,omitempty"`
	Interface         string                   `yaml:"interface,omitempty"`
	SourceSubnet      string                   `yaml:"sourceSubnet,omitempty"`
	DestinationSubnet string                   `yaml:"destinationSubnet,omitempty"`
}

// Bucket is a bucket of the object storage. Its name is unique in the cloud.
type Bucket struct {
	Object    `yaml:",inline"`
	Region    string                      `yaml:"region,omitempty"`
	Settings  JSON[wire.BucketSettings]   `yaml:"settings,omitempty"`
	Lifecycle JSON[*wire.BucketLifecycle] `yaml:"lifecycle,omitempty"`
}

// Cluster is a Kubernetes cluster.
type Cluster struct {
	Object `yaml:",inline"`
	Life   `yaml:",inline"`
	// Type is managed when empty.
	Type string `yaml:"type,omitempty"`
	// Region is that of the subnet when empty. Only managed clusters have a subnet, and they need one.
	Region string `yaml:"region,omitempty"`
	Subnet string `yaml:"subnet,omitempty"`
	// Version is an identity, a slug or a name.
	Version        string                       `yaml:"version,omitempty"`
	Networking     JSON[wire.ClusterNetworking] `yaml:"networking,omitempty"`
	Settings       JSON[wire.ClusterSettings]   `yaml:"settings,omitempty"`
	SecurityGroups []string                     `yaml:"securityGroups,omitempty"`
	NodePools      []NodePool                   `yaml:"nodePools,omitempty"`
}

// NodePool is a group of machines of a cluster.
type NodePool struct {
	Object `yaml:",inline"`
	Life   `yaml:",inline"`
	// Subnet and Version are those of the cluster when empty. Zone and Type are as in Machine.
	Subnet         string                      `yaml:"subnet,omitempty"`
	Version        string                      `yaml:"version,omitempty"`
	Zone           string                      `yaml:"zone,omitempty"`
	Type           string                      `yaml:"type,omitempty"`
	Settings       JSON[wire.NodePoolSettings] `yaml:"settings,omitempty"`
	SecurityGroups []string                    `yaml:"securityGroups,omitempty"`
	// Machines are identities or slugs of machines of the seed. No others are made for the pool.
	Machines []string `yaml:"machines,omitempty"`
}
