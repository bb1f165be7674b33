// Package node initialises Nodes and keeps their provider ID, addresses, labels and taints in sync with their machines, for any cloud.
//
// The desired state of a Node is a pure function of its machine. The difference is written as one patch or two; without a difference
// nothing is written.
package node

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Provider is the machines of one cloud. It only reads, answers for all Nodes from what it has listed, and is safe for concurrent use.
type Provider interface {
	// Owns says whether a provider ID is of this cloud. Nodes with another one are not touched.
	Owns(providerID string) bool
	// Find returns the Node's machine: the one its provider ID names, and for a Node without one the machine that the provider finds by
	// name, or by what else it is configured to. The latter comes only from an answer that was begun at or after the given time: an older
	// one may show a machine that this Node's has replaced, and a provider ID is for ever. The error is a *Problem if somebody can do
	// something about it, ErrNotOurs if the Node is nothing to this cloud; any other says that it is not known now.
	Find(ctx context.Context, node *corev1.Node, notBefore time.Time) (Machine, error)
	// Look says how the machine of a Node is whose provider ID is this cloud's. Gone comes only from a complete answer that was begun
	// at or after the given time; what is not gone may be older. It costs no call of its own while the list is young enough. The error is
	// ErrNamesNone if the provider ID can never name a machine.
	Look(ctx context.Context, node *corev1.Node, notBefore time.Time) (State, error)
	// Confirm asks the cloud for that one machine by its identity, beside all lists. The error is ErrElsewhere if it is in another network.
	Confirm(ctx context.Context, node *corev1.Node) (State, error)
	// Vouch asks the cloud, now, for what only the right credentials can see in the right place, and for the machine of one of the
	// witnesses, which are Nodes that are certainly alive; there may be none. The error says that "gone" cannot be believed now, and why.
	Vouch(ctx context.Context, witnesses []*corev1.Node) error
	// Namesake returns the identity of a machine that has the Node's name, is another one than the Node's provider ID names, and may run;
	// "" for none, also where machines have no names. Its kubelet may use the Node. It is answered from what is listed.
	Namesake(ctx context.Context, node *corev1.Node) (string, error)
}

// ErrElsewhere says of a machine that it exists, and rightly is in no list: it is in another network than the cluster.
var ErrElsewhere = errors.New("the machine is in another network than the cluster")

// ErrNamesNone says of a provider ID that it begins like those of this cloud, and names no machine.
var ErrNamesNone = errors.New("the provider ID names no machine")

// ErrNotOurs says of a Node that it is not for this cloud to look after.
var ErrNotOurs = errors.New("the Node is not of this cloud")

// Machine is what a Node should say of the machine it runs on.
type Machine struct {
	ProviderID string
	// Addresses are all of them, the hostname included, in the order of preference. None leave those of the Node as they are; with a
	// problem MachineNoAddress it is not initialised with them.
	Addresses []corev1.NodeAddress
	// Type, Zone and Region are values of the standard labels; "" leaves the label as it is.
	Type, Zone, Region string
	// Labels and Taints are what the Node should have beside those. What was set before, and is not among them now, is removed; what
	// others set stays.
	Labels map[string]string
	Taints []corev1.Taint
	// Unsure are keys of labels of which it is not known now what they should be: those that were set before stay.
	Unsure []string
	// Problems are parts of it that could not be used, for the Node's owner; in an order that stays the same.
	Problems []Problem
}

// State is how a machine is, as far as its Node is concerned.
type State string

// The states, and what follows for a Node that is not ready.
const (
	Running  State = "running"  // nothing
	Stopped  State = "stopped"  // it gets the shutdown taint, and loses it again
	Deleting State = "deleting" // like Stopped: it does not come back, but it is still there
	Unknown  State = "unknown"  // nothing: the cloud uses a word that is not known here
	Gone     State = "gone"     // it is a candidate for removal
)

// Problem is an error that is about one Node and that somebody can put right.
type Problem struct {
	Reason  string // of the event: "MachineNotFound"
	Message string // what is wrong, and what to do about it
}

// Error is the message.
func (p *Problem) Error() string { return p.Message }

// The reasons of problems.
const (
	MachineNotFound   = "MachineNotFound"   // no machine of that name or identity
	MachineAmbiguous  = "MachineAmbiguous"  // several machines of that name
	MachineElsewhere  = "MachineElsewhere"  // it is in another network than the cluster
	MachineNoAddress  = "MachineNoAddress"  // the cloud shows no address, or one that is none
	MachineTaken      = "MachineTaken"      // another Node has it
	MachineReplaced   = "MachineReplaced"   // the Node names a machine that is gone, and another one has its name
	InvalidNodeIP     = "InvalidNodeIP"     // the kubelet asks for an address that the machine does not have
	InvalidSetting    = "InvalidSetting"    // a label of the machine, or an annotation of the Node, that cannot be used
	MachineNotKnown   = "MachineNotKnown"   // the cloud cannot tell, and what to do about it is not known either
	CloudRefused      = "CloudRefused"      // the cloud did not permit the answer
	CloudNotReachable = "CloudNotReachable" // there was no answer
)

// ofCloud says that the problem is the cloud's, and not of the one Node that met it.
func (p *Problem) ofCloud() bool { return p.Reason == CloudRefused || p.Reason == CloudNotReachable }

// Behaviour is how Nodes are looked after, as the provider is configured.
type Behaviour struct {
	// Domain begins the names of annotations and labels by which Nodes are steered, and in which is kept what was set on them: "k8s.example.com".
	Domain string
	// Lists says that Look is answered from lists: it costs no call of its own, so that ready Nodes are looked at, too.
	Lists bool
	// GracePeriod is the time between the two looks that say that a machine is gone.
	GracePeriod time.Duration
	// MaxRemovals is the share of the Nodes, in percent, that may be removed within RemovalWindow; when more would be, none is. One
	// Node always may, unless it is 0.
	MaxRemovals   int
	RemovalWindow time.Duration
	// DryRun says what would be removed, and removes nothing.
	DryRun bool
}
