package thalassa

// Reasons of events, as users see them.
const (
	reasonAnnotation      = "InvalidAnnotation"
	reasonConflict        = "ConflictingSettings"
	reasonGroupFull       = "SecurityGroupFull"
	reasonHealthCheckKept = "HealthCheckKept"
	reasonImmutable       = "ImmutableSetting"
	reasonInUse           = "ReservedIPInUse"
	reasonLabelsLost      = "LabelsLost"
	reasonLeftOut         = "NodesLeftOut"
	reasonUncertain       = "LoadBalancerUncertain"
	reasonUnknownGroup    = "UnknownSecurityGroup"
	reasonUnknownIP       = "UnknownReservedIP"
	reasonUnknownSubnet   = "UnknownSubnet"
	reasonUnsupported     = "UnsupportedSetting"
)

// Annotations of Services and of objects in the cloud, and their values, as users see them.
const (
	annotationAdoptable = "k8s.thalassa.cloud/adoptable-by"
	annotationCreatedBy = "k8s.thalassa.cloud/created-by"
	createdByUs         = "thalassa-ccm"
	nameCreateGroup     = "create-security-group"
	nameNodeSelector    = "node-selector"
	nameType            = "type"
	onDeleteDelete      = "delete"
	onDeleteKeep        = "keep"
	publishBoth         = "both"
	publishHostname     = "hostname"
	publishIP           = "ip"
)
