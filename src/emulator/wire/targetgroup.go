package wire

import "time"

// TargetGroup is a set of machines and the port they serve.
type TargetGroup struct {
	Meta
	Organisation        *Organisation     `json:"organisation"`
	VPC                 *VPC              `json:"vpc"`
	TargetPort          int               `json:"targetPort"`
	Protocol            string            `json:"protocol"`
	TargetSelector      map[string]string `json:"targetSelector"`
	EnableProxyProtocol *bool             `json:"enableProxyProtocol,omitempty"`
	// LoadbalancingPolicy is ROUND_ROBIN, RANDOM or MAGLEV.
	LoadbalancingPolicy   string       `json:"loadbalancingPolicy,omitempty"`
	HealthCheck           *HealthCheck `json:"healthCheck,omitempty"`
	LoadbalancerListeners []Listener   `json:"loadbalancerListeners"`
	Attachments           []Attachment `json:"loadbalancerTargetGroupAttachments"`
}

// HealthCheck decides which targets get traffic. Periods are in seconds.
type HealthCheck struct {
	// Protocol is tcp, udp, http or https.
	Protocol           string `json:"protocol"`
	Port               int32  `json:"port"`
	Path               string `json:"path"`
	PeriodSeconds      int    `json:"periodSeconds"`
	TimeoutSeconds     int    `json:"timeoutSeconds"`
	UnhealthyThreshold int32  `json:"unhealthyThreshold"`
	HealthyThreshold   int32  `json:"healthyThreshold"`
}

// Attachment is a target's membership of a target group.
type Attachment struct {
	Identity                string       `json:"identity"`
	CreatedAt               time.Time    `json:"createdAt"`
	LoadbalancerTargetGroup *TargetGroup `json:"loadbalancerTargetGroup"`
	VirtualMachineInstance  *Machine     `json:"virtualMachineInstance,omitempty"`
}

// TargetGroupInput is the body of POST and PUT on target groups. VPC is read
// by POST only.
type TargetGroupInput struct {
	Name                *string               `json:"name"`
	Description         *string               `json:"description"`
	Labels              map[string]string     `json:"labels"`
	Annotations         map[string]string     `json:"annotations"`
	VPC                 string                `json:"vpc"`
	TargetPort          *int                  `json:"targetPort"`
	Protocol            *string               `json:"protocol"`
	TargetSelector      *map[string]string    `json:"targetSelector"`
	EnableProxyProtocol *bool                 `json:"enableProxyProtocol"`
	LoadbalancingPolicy *string               `json:"loadbalancingPolicy"`
	HealthCheck         Nullable[HealthCheck] `json:"healthCheck"`
}

// AttachTarget names a target: exactly one of the two is meaningful.
type AttachTarget struct {
	ServerIdentity   string `json:"serverIdentity"`
	EndpointIdentity string `json:"endpointIdentity"`
}

// AttachmentBatch is the body of POST .../attachments: the whole set of targets
// from now on.
type AttachmentBatch struct {
	Attachments []AttachTarget `json:"attachments"`
}
