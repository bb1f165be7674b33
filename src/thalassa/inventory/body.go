package inventory

import "github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"

// Requests contain what the official client would send. That client leaves out empty values, and a cloud that merges
// updates would not change these. In updates, an empty list is therefore [], and empty labels and annotations are {}.

// balancerBody is the body of a load balancer's POST.
type balancerBody struct {
	Name             string              `json:"name"`
	Description      string              `json:"description"`
	Labels           resource.Labels     `json:"labels,omitempty"`
	Annotations      resource.Labels     `json:"annotations,omitempty"`
	Subnet           string              `json:"subnet"`
	Internal         bool                `json:"internalLoadbalancer"`
	DeleteProtection bool                `json:"deleteProtection"`
	Listeners        []resource.Listener `json:"listeners"`
	SecurityGroups   []string            `json:"securityGroupAttachments,omitempty"`
	ReservedIP       *string             `json:"reservedIpId,omitempty"`
	InstanceSize     string              `json:"instanceSize,omitempty"` // the official client lacks it
}

// newBalancerBody returns the body of a load balancer's POST.
func newBalancerBody(n resource.NewLoadBalancer) balancerBody {
	body := balancerBody{
		Name: n.Name, Description: n.Description, Labels: n.Labels, Annotations: n.Annotations, Subnet: n.Subnet,
		Internal:         n.Internal,
		DeleteProtection: n.DeleteProtection, SecurityGroups: n.SecurityGroups, ReservedIP: optional(n.ReservedIP),
		InstanceSize: n.InstanceSize,
	}
	for _, listener := range n.Listeners {
		body.Listeners = append(body.Listeners, newListenerBody(listener))
	}
	return body
}

// balancerUpdate is the body of a load balancer's PUT. The cloud does not change a value whose pointer is nil.
type balancerUpdate struct {
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	Labels           resource.Labels `json:"labels"`
	Annotations      resource.Labels `json:"annotations"`
	DeleteProtection bool            `json:"deleteProtection"`
	Subnet           *string         `json:"subnet,omitempty"`
	SecurityGroups   []string        `json:"securityGroupAttachments"`
	ReservedIP       *string         `json:"reservedIpId,omitempty"` // "" detaches the address
	InstanceSize     *string         `json:"instanceSize,omitempty"`
}

func updateOf(from, to resource.LoadBalancer) balancerUpdate {
	return balancerUpdate{
		Name: to.Name, Description: to.Description, Labels: present(to.Labels), Annotations: present(to.Annotations),
		DeleteProtection: to.DeleteProtection, SecurityGroups: append([]string{}, to.SecurityGroups...),
		Subnet: changed(from.Subnet, to.Subnet), ReservedIP: changed(from.ReservedIP, to.ReservedIP),
		InstanceSize: changed(from.InstanceSize, to.InstanceSize),
	}
}

// newListenerBody returns the body of a listener's POST, which contains only what there is.
func newListenerBody(l resource.Listener) resource.Listener {
	l.ID = ""
	if len(l.Labels) == 0 {
		l.Labels = nil
	}
	if len(l.Annotations) == 0 {
		l.Annotations = nil
	}
	if len(l.AllowedSources) == 0 {
		l.AllowedSources = nil
	}
	return l
}

// listenerUpdateOf returns the body of a listener's PUT.
func listenerUpdateOf(l resource.Listener) resource.Listener {
	l.ID, l.Labels, l.Annotations = "", present(l.Labels), present(l.Annotations)
	l.AllowedSources = append([]string{}, l.AllowedSources...)
	return l
}

// groupBodyOf returns what the creation and the update of a target group have in common.
func groupBodyOf(g resource.TargetGroup) resource.TargetGroup {
	g.ID, g.Labels, g.Annotations = "", present(g.Labels), present(g.Annotations)
	g.TargetSelector, g.Machines, g.Listeners = nil, nil, nil
	return g
}

// present returns labels that are not nil.
func present(labels resource.Labels) resource.Labels {
	if labels == nil {
		return resource.Labels{}
	}
	return labels
}

// changed returns nil if there is no change.
func changed(from, to string) *string {
	if from == to {
		return nil
	}
	return &to
}

// optional returns nil for the zero value, which stands for the cloud's default, or for none.
func optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
