package balancer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// The types below are what a [cloud.Operation] of this provider has as its Object. They are plain values, so that a
// plan can be printed, encoded as JSON and compared. The caller carries them out.
//
// Where an operation needs the identity of an object that an earlier operation of the same plan creates, it has the
// placeholder of that object (see [placeholder]) in its place.

// CreateLoadBalancer creates a load balancer with its listeners in one write, so that it never exists without them. If
// the cloud refuses listeners in a creation, the caller creates the load balancer alone, and the next plan creates
// its listeners.
type CreateLoadBalancer struct{ LoadBalancer resource.NewLoadBalancer }

// UpdateLoadBalancer makes the changes between From and To. The API replaces an object as a whole, and the data of the
// plan may be minutes old. With Look the caller therefore reads the load balancer before it writes, and applies the
// changes to the latest state.
type UpdateLoadBalancer struct {
	From, To resource.LoadBalancer
	Look     bool
}

// DeleteLoadBalancer deletes a load balancer with its listeners.
type DeleteLoadBalancer struct{ LoadBalancer resource.LoadBalancer }

// CreateListener adds a listener to the load balancer with the identity.
type CreateListener struct {
	LoadBalancer string
	Listener     resource.Listener
}

// UpdateListener makes the changes between From and To on the latest state of the listener: see [UpdateLoadBalancer].
type UpdateListener struct {
	LoadBalancer resource.LoadBalancer
	From, To     resource.Listener
}

// DeleteListener deletes a listener of a load balancer; both are identities. Without the listener, nothing proves that
// a target group without labels is the Service's: if Label is set, the caller makes this update first, and deletes the
// listener only if it succeeds or is refused.
type DeleteListener struct {
	LoadBalancer, Listener string
	Label                  *UpdateTargetGroup
}

// CreateTargetGroup creates a target group without machines. Its identity is the placeholder by which later
// operations name it.
type CreateTargetGroup struct{ TargetGroup resource.TargetGroup }

// UpdateTargetGroup changes a target group to To, except for its machines. With MayBeRefused a refusal by the cloud is
// no failure; LeavesIfRefused describes what then stays in the cloud, "" if nothing does.
type UpdateTargetGroup struct {
	From, To        resource.TargetGroup
	MayBeRefused    bool
	LeavesIfRefused string
}

// SetMachines replaces the set of machines of a target group.
type SetMachines struct {
	TargetGroup resource.TargetGroup
	Machines    []string
}

// DeleteTargetGroup deletes the target group with the identity.
type DeleteTargetGroup struct{ TargetGroup string }

// CreateSecurityGroup creates a security group. Its identity is the placeholder by which later operations name it.
type CreateSecurityGroup struct{ SecurityGroup resource.SecurityGroup }

// UpdateSecurityGroup changes a security group to To, if it still has the version of From. With DeleteUnused the
// caller tries to delete it first, which the cloud refuses while anything uses it. MayBeRefused and LeavesIfRefused are
// those of UpdateTargetGroup.
type UpdateSecurityGroup struct {
	From, To                   resource.SecurityGroup
	DeleteUnused, MayBeRefused bool
	LeavesIfRefused            string
}

// DeleteSecurityGroup deletes the security group with the identity.
type DeleteSecurityGroup struct{ SecurityGroup string }

// placeholder names an object that the plan creates and that has no identity yet. No identity contains a space.
func placeholder(kind, name string) string { return placeholderPrefix + kind + " " + name }

const placeholderPrefix = "new "

// Identities are those of the objects that a plan has created, by placeholder.
type Identities map[string]string

// Of returns the identity of an object; a placeholder is replaced if this plan created the object.
func (i Identities) Of(id string) (string, error) {
	if !strings.HasPrefix(id, placeholderPrefix) {
		return id, nil
	}
	if created := i[id]; created != "" {
		return created, nil
	}
	return "", fmt.Errorf("%s was not created", id)
}

// all is Of for several objects, sorted.
func (i Identities) all(ids []string) ([]string, error) {
	all := make([]string, 0, len(ids))
	for _, id := range ids {
		found, err := i.Of(id)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	slices.Sort(all)
	return all, nil
}

// In returns a load balancer with identities in place of placeholders: in its security groups, in its record of
// them, and in its listeners.
func (i Identities) In(balancer resource.LoadBalancer) (resource.LoadBalancer, error) {
	var err error
	if balancer.SecurityGroups, err = i.all(balancer.SecurityGroups); err != nil {
		return balancer, err
	}
	if record := lastAppliedOf(balancer.Annotations); record.has(settingGroups) {
		put, err := i.all(record.applied[settingGroups])
		if err != nil {
			return balancer, err
		}
		balancer.Annotations = record.with(settingGroups, put...).mergedInto(balancer.Annotations)
	}
	balancer.Listeners = slices.Clone(balancer.Listeners)
	for at := range balancer.Listeners {
		if balancer.Listeners[at].TargetGroup, err = i.Of(balancer.Listeners[at].TargetGroup); err != nil {
			return balancer, err
		}
	}
	return balancer, nil
}
