package wire

import "time"

// Project is a part of an organisation with objects of its own.
type Project struct {
	Meta
	ParentProject *ProjectReference `json:"parentProject,omitempty"`
}

// ProjectReference names a project.
type ProjectReference struct {
	Identity string `json:"identity"`
	Name     string `json:"name"`
	Slug     string `json:"slug"`
}

// ProjectInput is the body of POST and PUT on projects. An absent parent means
// unchanged, an empty one none.
type ProjectInput struct {
	Name                  *string           `json:"name"`
	Description           *string           `json:"description"`
	Labels                map[string]string `json:"labels"`
	Annotations           map[string]string `json:"annotations"`
	ParentProjectIdentity *string           `json:"parentProjectIdentity"`
}

// Quota is how much of something an organisation may have, and has.
type Quota struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Service     string    `json:"service,omitempty"`
	CreatedAt   time.Time `json:"createdAt"`
	MaxUsage    int       `json:"maxUsage"`
	// CurrentUsage of a quota per object is that of the object that uses most.
	CurrentUsage     int             `json:"currentUsage"`
	QuotaType        string          `json:"quotaType"`
	IncreaseRequests []QuotaIncrease `json:"increaseRequests,omitempty"`
	Organisation     *Organisation   `json:"organisation,omitempty"`
}

// QuotaIncrease is a request for more.
type QuotaIncrease struct {
	Identity               string    `json:"identity"`
	NewMaxUsageRequested   int       `json:"newMaxUsageRequested"`
	RequestedReasonMessage string    `json:"requestedReasonMessage"`
	CreatedAt              time.Time `json:"createdAt"`
	UpdatedAt              time.Time `json:"updatedAt"`
	// Decision is pending or approved.
	Decision       string  `json:"decision"`
	DecisionReason *string `json:"decisionReason,omitempty"`
}

// QuotaIncreaseInput is the body of POST /v1/quotas/increase-requests.
type QuotaIncreaseInput struct {
	Name        string `json:"name"`
	NewMaxUsage int    `json:"newMaxUsage"`
	Reason      string `json:"reason"`
}
