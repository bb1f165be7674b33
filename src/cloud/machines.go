package cloud

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Machines reads the machines of one cloud. It is safe for concurrent use, and answers for all Nodes from what it has
// listed or watched.
type Machines interface {
	// Owns reports whether a provider ID is of this cloud. Nodes with the provider ID of another cloud are not changed.
	Owns(providerID string) bool
	// Find returns the machine of a Node: the machine that its provider ID names, or, for a Node without a provider ID,
	// the machine with its name or with another property from the configuration. The machine of a Node without a
	// provider ID comes only from data that was requested at or after notBefore: older data may contain a machine that
	// was replaced since, and a provider ID never changes. The error is a *MachineProblem if a person can solve it, and
	// ErrOtherCloud if the Node does not belong to this cloud. After any other error, the machine is not known now.
	Find(ctx context.Context, node *corev1.Node, notBefore time.Time) (Machine, error)
	// State returns the state of the machine that the Node's provider ID names. MachineGone comes only from complete
	// data that was requested at or after notBefore; other states may be older. There is no call for each Node. The
	// error is ErrInvalidProviderID if the provider ID can never name a machine.
	State(ctx context.Context, node *corev1.Node, notBefore time.Time) (MachineState, error)
	// Confirm requests this one machine from the cloud by its identity, without any list. The error is ErrOtherNetwork
	// if the machine is in another network.
	Confirm(ctx context.Context, node *corev1.Node) (MachineState, error)
	// CheckCredentials requests from the cloud something that only the right credentials can read, and the machine of
	// one of the canaries: Nodes that are certainly alive. There may be no canaries. After an error, MachineGone is not
	// trusted, and the error says why.
	CheckCredentials(ctx context.Context, canaries []*corev1.Node) error
	// NameConflict returns the identity of a machine that has the name of the Node, may run, and is not the machine in
	// the Node's provider ID; the kubelet of that machine may use the Node. It returns "" if there is none, or if
	// machines have no names. It makes no call.
	NameConflict(ctx context.Context, node *corev1.Node) (string, error)
}

// ErrOtherNetwork is the error for a machine that exists in another network than the cluster's. No list contains it.
var ErrOtherNetwork = errors.New("the machine is in another network than the cluster")

// ErrInvalidProviderID is the error for a provider ID with the prefix of this cloud that does not name a machine.
var ErrInvalidProviderID = errors.New("the provider ID names no machine")

// ErrOtherCloud is the error for a Node that does not belong to this cloud.
var ErrOtherCloud = errors.New("the Node is not of this cloud")

// Machine is the desired state of a Node, as far as it depends on its machine.
type Machine struct {
	ProviderID string
	// Addresses are all addresses and the hostname, in the order of preference. If there are none, the addresses of the
	// Node do not change. A Node is not initialised with a problem MachineNoAddress.
	Addresses []corev1.NodeAddress
	// Type, Zone and Region are values of the standard labels; "" does not change a label.
	Type, Zone, Region string
	// Labels and Taints are set on the Node in addition. Those that were set before and are not in here are removed;
	// labels and taints of other programs stay.
	Labels map[string]string
	Taints []corev1.Taint
	// UnknownLabels are keys of labels whose value is not known now: values that were set before stay.
	UnknownLabels []string
	// Problems are the parts of the machine that cannot be used, for the owner of the Node. Their order is stable.
	Problems []MachineProblem
}

// MachineState is the state of a machine, as far as its Node depends on it.
type MachineState string

// The states, and the consequence for a Node that is not ready.
const (
	MachineRunning  MachineState = "running"  // none
	MachineStopped  MachineState = "stopped"  // it gets the shutdown taint until the machine runs again
	MachineDeleting MachineState = "deleting" // as MachineStopped: the machine exists, and will not run again
	MachineUnknown  MachineState = "unknown"  // none: the cloud has a state that is not known here
	MachineGone     MachineState = "gone"     // it is a candidate for removal
)

// MachineProblem is an error about one Node that a person can solve.
type MachineProblem struct {
	Reason  string // of the event: "MachineNotFound"
	Message string // what is wrong, and what to do about it
}

// ProblemOf returns a problem with a reason and a message, whose format and values are those of fmt.Sprintf.
func ProblemOf(reason, format string, values ...any) *MachineProblem {
	return &MachineProblem{Reason: reason, Message: fmt.Sprintf(format, values...)}
}

// Error returns the message.
func (p *MachineProblem) Error() string { return p.Message }

// The reasons of problems.
const (
	MachineNotFound   = "MachineNotFound"   // no machine has that name or identity
	MachineAmbiguous  = "MachineAmbiguous"  // several machines have that name
	MachineElsewhere  = "MachineElsewhere"  // the machine is in another network than the cluster
	MachineNoAddress  = "MachineNoAddress"  // the machine has no address, or an invalid one
	MachineTaken      = "MachineTaken"      // another Node has the machine
	MachineReplaced   = "MachineReplaced"   // the machine does not exist any more, and another machine has its name
	InvalidNodeIP     = "InvalidNodeIP"     // the kubelet requests an address that the machine does not have
	InvalidSetting    = "InvalidSetting"    // a label of the machine or an annotation of the Node cannot be used
	MachineNotKnown   = "MachineNotKnown"   // the cloud does not know the machine, and the reason is not known either
	CloudRefused      = "CloudRefused"      // the cloud refused the request
	CloudNotReachable = "CloudNotReachable" // the cloud did not answer
)

// MachineBehaviour configures how Nodes are reconciled.
type MachineBehaviour struct {
	// Domain is the prefix of the annotations and labels that configure a Node, and of those that record what was set
	// on it: "k8s.example.com".
	Domain string
	// Lists means that Machines.State needs no call for a Node, so that ready Nodes are checked, too.
	Lists bool
	// GracePeriod is the time between the two checks that a machine is gone.
	GracePeriod time.Duration
	// MaxRemovals is the percentage of the Nodes that may be removed within RemovalWindow. If more Nodes should be
	// removed, none is. One Node may always be removed, unless this is 0.
	MaxRemovals   int
	RemovalWindow time.Duration
	// DryRun reports which Nodes would be removed, and removes none.
	DryRun bool
}
