package cloud

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// LoadBalancers has the load balancers of one cloud. It compares and reads; all that it would write is in the plans it returns, and when
// to apply them is decided by its caller, who works on one Service at a time in one goroutine.
//
// It never waits for the cloud to finish something: a comparison says what there is to wait for.
type LoadBalancers interface {
	// Identify says which machine a node is.
	Identify(node *corev1.Node) (identity string, ours bool)
	// NodeSelector returns which nodes the Service chooses as targets; nil chooses every node. The error is that its setting cannot be used:
	// then nobody knows which, and the targets stay as they are. It is a notice of Compare, too.
	NodeSelector(service *corev1.Service) (labels.Selector, error)
	// Compare returns how what the Service has in the cloud differs from what it should have with these targets. The error is that
	// this is not known, or that the Service cannot be served at all.
	Compare(ctx context.Context, service *corev1.Service, targets Targets) (Comparison, error)
	// Remaining returns what there is of the Service in the cloud, and in Plan the writes that are possible now to remove it: none
	// while the cloud is still busy with earlier ones. Written says that the caller has just applied such a plan, so that only newer
	// answers count.
	Remaining(ctx context.Context, service *corev1.Service, written bool) (Comparison, error)
	// Refresh makes everything be compared with what the cloud has now, read in lists that all Services share.
	Refresh(ctx context.Context) error
	// Judge says of an error of this provider whether it is about the cloud's state at the moment, so that it passes by itself and
	// nobody has to do anything, and in how long the cloud asked to come back; 0 when it did not.
	Judge(err error) (passing bool, after time.Duration)
	// Owned returns who owns the load balancers, and parts of them, that this cluster has in the cloud, from the lists that are there.
	Owned(ctx context.Context) ([]Owned, error)
}

// Comparison is what a Service should have in the cloud beside what it has.
type Comparison struct {
	// Plan is what differs and may be put right now.
	Plan Plan
	// Refused is why something that differs is not in the plan; nil when nothing is left out.
	Refused error
	// Wait is what the cloud is busy with; nil when nothing is waited for. Only meaningful with an empty plan.
	Wait *Wait
	// Exists says that there is anything of the Service in the cloud, or that it is not certain that there is nothing.
	Exists bool
	// HandsOver says, in a sentence for the Service's owner, that the load balancer is not deleted but left to others, and to whom; "" when
	// it is deleted. It is only meaningful in what Remaining returns.
	HandsOver string
	// Left says, in sentences for the Service's owner, what stays in the cloud when the load balancer is removed,
	// because it may belong to others; "" when nothing does. What a write leaves there, the operation says. It is only
	// meaningful in what Remaining returns.
	Left string
	// Status is the addresses under which the load balancer serves; without any while it does not.
	Status corev1.LoadBalancerStatus
	// Health is what is known about the health of targets behind a load balancer that is ready, in a sentence for people that changes only
	// when something of that is not as it was; "" says nothing.
	Health string
	// State is the cloud's word for how the load balancer is ("ready"); "" when there is none.
	State string
	// Machines are the identities of the machines that the load balancer is to lead to, sorted: the targets that are usable.
	Machines []string
	// LeftOut says that a target is not usable now, so that it is worth looking again.
	LeftOut bool
	// Notices are what the Service's owner should know, in an order that stays the same.
	Notices []Notice
}

// Told is why something that differs is not in a plan, where the comparison's notices say that already: no other event needs to.
type Told struct{ error }

// Unwrap returns the reason.
func (t Told) Unwrap() error { return t.error }

// AlreadyTold marks an error as one that notices tell; nil stays nil.
func AlreadyTold(err error) error {
	if err == nil {
		return nil
	}
	return Told{err}
}

// Lasting is why something that differs is not in a plan, where only a change of the Service can end that. The Service is not tried again
// before it changes.
type Lasting struct{ error }

// Unwrap returns the reason.
func (l Lasting) Unwrap() error { return l.error }

// UntilChanged marks an error as one that lasts until the Service changes.
func UntilChanged(err error) error { return Lasting{err} }

// Wait is something that the cloud is busy with, or has failed at.
type Wait struct {
	// Object is the identity of what is waited for: with another one, the time begins anew. It may be empty.
	Object string
	// Name is what people call it: "load balancer web".
	Name string
	// Status is the cloud's word for what it does with it: "creating".
	Status string
	// Going says that it is waited for the object's end.
	Going bool
	// Failed says that the cloud has given up.
	Failed bool
	// Patient says that nobody expects the end soon, so that looking may become rarer from the beginning.
	Patient bool
	// Within is when it is over at the latest, so that nobody needs to look before; 0 when that is not known.
	Within time.Duration
	// Message is one sentence for logs and conditions: what is waited for, and how it is now.
	Message string
}

// Topic is what a notice is about. Its condition on the Service is False as long as there is a notice.
type Topic string

// The topics of notices, which are also the types of the conditions.
const (
	// Settings: what the Service asks for is not all applied, because it cannot be understood or the cloud cannot do it.
	Settings Topic = "LoadBalancerConfigValid"
	// Nodes: not all nodes get the traffic that they should.
	Nodes Topic = "LoadBalancerTargetsComplete"
)

// Notice is something that the Service's owner should know and can change. It is the same value as long as nothing changes.
type Notice struct {
	Topic   Topic
	Reason  string // of the event and the condition: "InvalidAnnotation"
	Message string // what is wrong, and what to do about it
}

// Owned is something in the cloud that belongs to a Service of this cluster.
type Owned struct {
	Service types.NamespacedName
	UID     types.UID
	// Kind and Name say what it is: "load balancer", "a0a1b2c3d". Identity is the cloud's own name for it.
	Kind, Name, Identity string
	// State is the cloud's word for how it is, "" for what has none.
	State string
	// Unlabelled says that it lost the labels of its Service and is known by other means. It is reported, and never
	// deleted.
	Unlabelled bool
	// Kept says that its Service wanted it, and everything it uses, to be left in the cloud.
	Kept bool
}

// LoadBalancerBehaviour is how Services are looked after, as the provider is configured.
type LoadBalancerBehaviour struct {
	// PollInterval is the time between two looks at what the cloud is busy with.
	PollInterval time.Duration
	// SlowAfter is after how long the owner is told that it takes long.
	SlowAfter time.Duration
	// DriftPeriod is the time between two looks for what was changed in the cloud by hand, and for orphans; 0 never looks.
	DriftPeriod time.Duration
	// Drift says what is done about it.
	Drift DriftMode
	// RemoveOrphans deletes what belongs to a Service that is not in the cluster any more; otherwise it is reported.
	RemoveOrphans bool
	// Class is the loadBalancerClass that is served; "" serves none.
	Class string
	// OnlyClass leaves Services without a class to others.
	OnlyClass bool
}

// DriftMode says what is done about what was changed in the cloud by hand.
type DriftMode string

// The modes.
const (
	Repair DriftMode = "repair" // put it right and say so
	Report DriftMode = "report" // say so, and put it right with the next change of the Service or its nodes
	Off    DriftMode = "off"    // leave it and say nothing, until the Service or its nodes change
)
