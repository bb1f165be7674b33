package thalassa

import "github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"

// The types below are what a [cloud.Operation] of this provider has as its Object. They are plain values, so that a
// plan can be printed, encoded as JSON and compared. [executor] carries them out.
//
// Where an operation needs the identity of an object that an earlier operation of the same plan creates, it has the
// placeholder of that object (see [placeholder]) in its place.

// CreateLoadBalancer creates a load balancer with its listeners: one write, and it never exists without them. From a
// cloud that refuses listeners in a creation the executor asks for the load balancer alone; its listeners are the
// matter of the next plan.
type CreateLoadBalancer struct{ LoadBalancer inventory.NewLoadBalancer }

// UpdateLoadBalancer makes the changes between From and To. The API replaces an object as a whole, and what the plan
// was made from may be minutes old. With Look the executor therefore reads the load balancer before it writes, and
// makes the changes on what it finds.
type UpdateLoadBalancer struct {
	From, To inventory.LoadBalancer
	Look     bool
}

// DeleteLoadBalancer deletes a load balancer with its listeners.
type DeleteLoadBalancer struct{ LoadBalancer inventory.LoadBalancer }

// CreateListener adds a listener to the load balancer with the identity.
type CreateListener struct {
	LoadBalancer string
	Listener     inventory.Listener
}

// UpdateListener makes the changes between From and To on the listener as the executor finds it: see
// [UpdateLoadBalancer].
type UpdateListener struct {
	LoadBalancer inventory.LoadBalancer
	From, To     inventory.Listener
}

// DeleteListener takes a listener off a load balancer; both are identities.
type DeleteListener struct{ LoadBalancer, Listener string }

// CreateTargetGroup creates a target group without machines. Its identity is the placeholder by which later
// operations name it.
type CreateTargetGroup struct{ TargetGroup inventory.TargetGroup }

// UpdateTargetGroup makes a target group what To says, but for its machines. With MayBeRefused a refusal by the cloud
// is no failure.
type UpdateTargetGroup struct {
	From, To     inventory.TargetGroup
	MayBeRefused bool
}

// SetMachines makes Machines the whole set of machines of a target group.
type SetMachines struct {
	TargetGroup inventory.TargetGroup
	Machines    []string
}

// DeleteTargetGroup deletes the target group with the identity.
type DeleteTargetGroup struct{ TargetGroup string }

// CreateSecurityGroup creates a security group. Its identity is the placeholder by which later operations name it.
type CreateSecurityGroup struct{ SecurityGroup inventory.SecurityGroup }

// UpdateSecurityGroup makes a security group what To says, if it still has the version of From. With DeleteUnused the
// executor tries to delete it first, which the cloud refuses while anything uses it. With MayBeRefused a refusal of
// the update is no failure.
type UpdateSecurityGroup struct {
	From, To                   inventory.SecurityGroup
	DeleteUnused, MayBeRefused bool
}

// DeleteSecurityGroup deletes the security group with the identity.
type DeleteSecurityGroup struct{ SecurityGroup string }

// OpenNodePorts adds a Service's rules that are missing in the security group of the nodes. Other Services change the
// same group, so the executor reads its rules before it writes, and adds to what it finds.
type OpenNodePorts struct{ Rules NodeRules }

// CloseNodePorts removes the rules of a Service that are not wanted from the security group of the nodes. See
// [OpenNodePorts].
type CloseNodePorts struct{ Rules NodeRules }

// placeholder names an object that the plan creates, as long as it has no identity. No identity has a space.
func placeholder(kind, name string) string { return placeholderPrefix + kind + " " + name }

const placeholderPrefix = "new "
