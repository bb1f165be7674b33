package thalassa

// Reasons of events, as users see them.
const (
	reasonAnnotation      = "InvalidAnnotation"
	reasonHealthCheckKept = "HealthCheckKept"
	reasonLabelsLost      = "LabelsLost"
	reasonLeftOut         = "NodesLeftOut"
	reasonUncertain       = "LoadBalancerUncertain"
	reasonUnknownGroup    = "UnknownSecurityGroup"
	reasonUnknownIP       = "UnknownReservedIP"
	reasonUnknownSubnet   = "UnknownSubnet"
)

// Annotations of Services and of objects in the cloud, and their values, as users see them.
const (
	annotationAdoptable = "k8s.thalassa.cloud/adoptable-by"
	nameCreateGroup     = "create-security-group"
	nameNodeSelector    = "node-selector"
	nameType            = "type"
	onDeleteDelete      = "delete"
	onDeleteKeep        = "keep"
	publishBoth         = "both"
	publishHostname     = "hostname"
	publishIP           = "ip"
)
