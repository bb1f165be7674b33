package wire

import "time"

// KubernetesVersion is a version of Kubernetes that clusters can have.
type KubernetesVersion struct {
	Identity    string            `json:"identity"`
	Name        string            `json:"name"`
	Slug        string            `json:"slug"`
	Description string            `json:"description"`
	CreatedAt   time.Time         `json:"createdAt"`
	Annotations map[string]string `json:"annotations"`
	// Enabled versions can be chosen.
	Enabled    bool   `json:"enabled"`
	Supported  bool   `json:"supported"`
	Kubernetes string `json:"kubernetesVersion"`
}

// Cluster is a Kubernetes cluster. It has no updatedAt.
type Cluster struct {
	Identity      string            `json:"identity"`
	Name          string            `json:"name"`
	Slug          string            `json:"slug"`
	Description   string            `json:"description"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
	CreatedAt     time.Time         `json:"createdAt"`
	ObjectVersion int               `json:"objectVersion"`
	Organisation  *Organisation     `json:"organisation"`
	Status        string            `json:"status"`
	StatusMessage string            `json:"statusMessage"`
	// LastStatusTransitionedAt has a key of its own style.
	LastStatusTransitionedAt time.Time            `json:"lastStatusTransitioned_at"`
	ClusterType              string               `json:"clusterType"`
	ClusterVersion           *KubernetesVersion   `json:"clusterVersion"`
	APIServerURL             string               `json:"apiServerURL"`
	APIServerCA              string               `json:"apiServerCA"`
	Configuration            ClusterConfiguration `json:"configuration"`
	VPC                      *VPC                 `json:"vpc"`
	Subnet                   *Subnet              `json:"subnet"`
	Region                   *Region              `json:"region"`
	ClusterSettings
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
}

// ClusterConfiguration is the part of a cluster's configuration that has a level of its own.
type ClusterConfiguration struct {
	Networking ClusterNetworking `json:"networking"`
}

// ClusterNetworking is the network inside a cluster.
type ClusterNetworking struct {
	CNI                 string `json:"cni"`
	KubeProxyMode       string `json:"kubeProxyMode,omitempty"`
	KubeProxyDeployment string `json:"kubeProxyDeployment,omitempty"`
	ServiceCIDR         string `json:"serviceCidr"`
	PodCIDR             string `json:"podCidr"`
}

// ClusterSettings are settings with the same keys in requests and answers.
type ClusterSettings struct {
	PodSecurityStandardsProfile string            `json:"podSecurityStandardsProfile"`
	AuditLogProfile             string            `json:"auditLogProfile"`
	DefaultNetworkPolicy        string            `json:"defaultNetworkPolicy"`
	DeleteProtection            bool              `json:"deleteProtection"`
	APIServerACL                APIServerACL      `json:"apiServerACL"`
	DisablePublicEndpoint       bool              `json:"disablePublicEndpoint"`
	AutoUpgradePolicy           string            `json:"autoUpgradePolicy"`
	MaintenanceDay              *uint             `json:"maintenanceDay,omitempty"`
	MaintenanceStartAt          *uint             `json:"maintenanceStartAt,omitempty"`
	AutoscalerConfig            *AutoscalerConfig `json:"autoscalerConfig,omitempty"`
}

// APIServerACL is who may reach the API server of a cluster.
type APIServerACL struct {
	AllowedCIDRs []string `json:"allowedCIDRs"`
}

// AutoscalerConfig are the settings of the cluster autoscaler.
type AutoscalerConfig struct {
	ScaleDownDisabled             bool    `json:"scaleDownDisabled"`
	ScaleDownDelayAfterAdd        string  `json:"scaleDownDelayAfterAdd"`
	Estimator                     string  `json:"estimator"`
	Expander                      string  `json:"expander"`
	IgnoreDaemonsetsUtilization   bool    `json:"ignoreDaemonsetsUtilization"`
	BalanceSimilarNodeGroups      bool    `json:"balanceSimilarNodeGroups"`
	ExpendablePodsPriorityCutoff  int     `json:"expendablePodsPriorityCutoff"`
	ScaleDownUnneededTime         string  `json:"scaleDownUnneededTime"`
	ScaleDownUtilizationThreshold float64 `json:"scaleDownUtilizationThreshold"`
	MaxGracefulTerminationSec     int     `json:"maxGracefulTerminationSec"`
	EnableProactiveScaleUp        bool    `json:"enableProactiveScaleUp"`
}

// ClusterInput is the body of POST and PUT on clusters, besides ClusterSettings. PUT reads neither the place, the type
// nor the ranges of the network.
type ClusterInput struct {
	MetaInput
	RegionIdentity            string            `json:"regionIdentity"`
	ClusterType               string            `json:"clusterType"`
	KubernetesVersionIdentity string            `json:"kubernetesVersionIdentity"`
	Subnet                    string            `json:"subnet"`
	Networking                ClusterNetworking `json:"networking"`
	// KubeProxyMode and KubeProxyDeployment may be here or in Networking.
	KubeProxyMode            string   `json:"kubeProxyMode"`
	KubeProxyDeployment      string   `json:"kubeProxyDeployment"`
	SecurityGroupAttachments []string `json:"securityGroupAttachments"`
}

// NodePool is a group of equal nodes of a cluster.
type NodePool struct {
	Meta
	AvailabilityZone string  `json:"availabilityZone"`
	Status           string  `json:"status"`
	VPC              *VPC    `json:"vpc"`
	Subnet           *Subnet `json:"subnet"`
	NodePoolSettings
	MachineType       *MachineType       `json:"machineType"`
	KubernetesVersion *KubernetesVersion `json:"kubernetesVersion"`
	SecurityGroups    []SecurityGroup    `json:"securityGroups,omitempty"`
}

// NodePoolSettings are settings with the same keys in requests and answers.
type NodePoolSettings struct {
	EnableAutoscaling     bool         `json:"enableAutoscaling"`
	EnableAutoHealing     bool         `json:"enableAutoHealing"`
	Replicas              int          `json:"replicas"`
	MinReplicas           int          `json:"minReplicas"`
	MaxReplicas           int          `json:"maxReplicas"`
	ManageNodeAllocatable bool         `json:"manageNodeAllocatable"`
	NodeSettings          NodeSettings `json:"nodeSettings"`
	UpgradeStrategy       string       `json:"upgradeStrategy"`
}

// NodeSettings are the settings of the nodes in the cluster.
type NodeSettings struct {
	Annotations map[string]string `json:"nodeAnnotations"`
	Labels      map[string]string `json:"nodeLabels"`
	Taints      []NodeTaint       `json:"nodeTaints"`
}

// NodeTaint is a taint of nodes.
type NodeTaint struct {
	Key      string `json:"key"`
	Value    string `json:"value"`
	Operator string `json:"operator"`
	Effect   string `json:"effect"`
}

// NodePoolInput is the body of POST and PUT on node pools, besides NodePoolSettings. PUT does not read the subnet.
type NodePoolInput struct {
	MetaInput
	MachineType               string   `json:"machineType"`
	SubnetIdentity            string   `json:"subnetIdentity"`
	AvailabilityZone          string   `json:"availabilityZone"`
	KubernetesVersionIdentity string   `json:"kubernetesVersionIdentity"`
	SecurityGroupAttachments  []string `json:"securityGroupAttachments"`
	// Replicas reports whether NodePoolSettings have a number that was sent.
	Replicas *int `json:"replicas"`
}

// NodeMachine is a machine of a node pool.
type NodeMachine struct {
	Identity    string     `json:"identity"`
	MachineName string     `json:"machineName"`
	CreatedAt   time.Time  `json:"createdAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
	VPC         *VPC       `json:"vpc,omitempty"`
	Subnet      *Subnet    `json:"subnet,omitempty"`
	SystemInfo  NodeSystem `json:"systemInfo"`
}

// NodeSystem is what is known about a node.
type NodeSystem struct {
	Addresses []NodeAddress `json:"addresses,omitempty"`
}

// NodeAddress is an address of a node.
type NodeAddress struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}
