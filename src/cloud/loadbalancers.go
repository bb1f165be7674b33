package cloud

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// LoadBalancers plans the load balancers of one cloud. It reads and compares; all writes are in the plans that it
// returns. The caller decides when to apply a plan, and works on one Service in one goroutine at a time.
//
// What it compares with contains the writes of this process.
//
// It never waits until the cloud has finished something: a Comparison contains what to wait for.
type LoadBalancers interface {
	// Identify returns which machine a Node is: see the type [Identify].
	Identify(node *corev1.Node) (identity string, ours bool)
	// NodeSelector returns which Nodes the Service chooses as targets; nil chooses every Node. The error is that the
	// setting cannot be used: then the targets are not known, and do not change. Diff reports the error as a notice,
	// too.
	NodeSelector(service *corev1.Service) (labels.Selector, error)
	// Diff compares the actual state of a Service with its desired state with these targets. The error is that one of
	// them is not known, or that the Service cannot have a load balancer at all. Settled means that neither the Service
	// nor its Nodes have changed for some time, so that targets may leave that others have replaced.
	Diff(ctx context.Context, service *corev1.Service, targets Targets, settled bool) (Comparison, error)
	// PlanDelete returns the actual state of the Service, and in Plan the writes that are possible now to remove it:
	// none while the cloud is busy with earlier writes. Written means that the caller has just applied such a plan, so
	// that only newer data counts.
	PlanDelete(ctx context.Context, service *corev1.Service, written bool) (Comparison, error)
	// Apply makes the writes of a plan that was returned for this Service, or of the beginning of one, and no others.
	// It returns the writes that it tried, in order. The error is that not all succeeded; [Plan.Each] says which writes
	// are tried after one that fails. It contains ErrStale if an object has another version than the plan.
	Apply(ctx context.Context, service *corev1.Service, plan Plan) ([]Attempt, error)
	// Refresh requests new data, which all Services share, so that the next comparisons use the actual state of now.
	Refresh(ctx context.Context) error
	// ClassifyError reports whether an error of this provider is transient: it is about the present state of the cloud,
	// ends by itself, and requires no action. After is the time after which the cloud
	// requests a retry; 0 if it does not.
	ClassifyError(err error) (transient bool, after time.Duration)
	// ListManaged returns the objects of this cluster in the cloud, with the Services that they belong to, from the
	// data that is there.
	ListManaged(ctx context.Context) ([]ManagedObject, error)
}

// Comparison is the result of comparing the actual with the desired state of a Service.
type Comparison struct {
	// Plan contains the differences that can be written now.
	Plan Plan
	// Refused is the reason why a difference is not in the plan; nil if the plan contains all.
	Refused error
	// Wait is what the cloud is busy with; nil if there is nothing to wait for. It matters only with an empty plan.
	Wait *Wait
	// Exists means that the cloud has objects of the Service, or that it is not certain that there are none.
	Exists bool
	// Retains is a sentence for the owner of the Service: the load balancer is retained, and why. It is "" if the load
	// balancer is deleted. Only PlanDelete sets it.
	Retains string
	// Left is a message for the owner of the Service: the objects that stay in the cloud when the load balancer is
	// deleted, because they may be unmanaged. It is "" if there are none. An Operation describes what its write leaves
	// behind. Only PlanDelete sets it.
	Left string
	// Balancer describes the load balancer as it is.
	Balancer Actual
	// Targets are the targets as they should be. Only Diff sets it.
	Targets Choice
	// Notices are for the owner of the Service. Their order is stable.
	Notices []Notice
}

// Actual describes a load balancer in the cloud.
type Actual struct {
	// State is the cloud's state of the load balancer ("ready"); "" if there is no load balancer.
	State string
	// Status contains the addresses of the load balancer; none while it does not serve.
	Status corev1.LoadBalancerStatus
	// Health describes, in a sentence for people, the health of the targets behind a load balancer that is ready. It
	// changes only if the health changes. It is "" if there is nothing to report.
	Health string
}

// Choice describes the targets that a Service should have.
type Choice struct {
	// Machines are the identities of the machines that are usable targets, sorted. They depend on the Service and the
	// Nodes only.
	Machines []string
	// Usable are the identities of the machines from which Machines were chosen, sorted, if these are only some.
	// Otherwise it is nil.
	Usable []string
	// LeftOut means that a target is not usable now, so that it has to be checked again.
	LeftOut bool
	// Excess means that the only difference are targets that others have replaced, which is no drift: the plan removes
	// some of them, or they leave when the Service is settled.
	Excess bool
}

// Wait is an action of the cloud that has not finished, or has failed.
type Wait struct {
	// Object is the identity of the object; with another one, the time starts again. It may be empty.
	Object string
	// Name describes the object for people: "load balancer web".
	Name string
	// Status is the cloud's state of the object: "creating".
	Status string
	// Deleting means that the object is being deleted.
	Deleting bool
	// Failed means that the cloud does not continue.
	Failed bool
	// Slow means that the action takes long, so that the polling interval can grow from the beginning.
	Slow bool
	// Within is the time after which the action has certainly finished, so that it need not be checked before; 0 if it
	// is not known.
	Within time.Duration
	// Next is the time until the next check, if the provider determines it; 0: PollInterval. Different Services may
	// have the same times, so that they share what is read.
	Next time.Duration
	// Message is one sentence for logs and conditions: what has to finish, and its present state.
	Message string
}

// Topic is the subject of a notice. Its condition on the Service is False as long as there is a notice.
type Topic string

// The topics of notices, which are also the types of the conditions.
const (
	// Settings means that a part of what the Service requests is not applied, because it is invalid or the cloud does
	// not support it.
	Settings Topic = "LoadBalancerConfigValid"
	// Nodes means that not all Nodes get the traffic that they should.
	Nodes Topic = "LoadBalancerTargetsComplete"
)

// Notice reports something that the owner of the Service can change. It is the same value as long as nothing changes.
type Notice struct {
	Topic   Topic
	Reason  string // of the event and the condition: "InvalidAnnotation"
	Message string // what is wrong, and what to do about it
}

// ManagedObject is an object in the cloud that belongs to a Service of this cluster.
type ManagedObject struct {
	Service types.NamespacedName
	UID     types.UID
	// Kind and Name describe it for people: "load balancer", "a0a1b2c3d". Identity identifies it in the cloud.
	Kind, Name, Identity string
	// State is the cloud's state of the object; "" if it has none.
	State string
	// Unlabelled means that the object has lost the labels of its Service and was recognised by other properties. It is
	// reported, and never deleted.
	Unlabelled bool
	// Retained means that the deletion policy of its Service was to retain it, and everything that it uses.
	Retained bool
	// ClusterUID is the UID of the cluster that has written the object; "" if the object has none.
	ClusterUID types.UID
	// Proven means that this is the UID of this cluster.
	Proven bool
}

// LoadBalancerBehaviour configures how Services are reconciled.
type LoadBalancerBehaviour struct {
	// PollInterval is the time between two checks of an action that the cloud has not finished.
	PollInterval time.Duration
	// SlowAfter is the time after which an event reports that an action takes long.
	SlowAfter time.Duration
	// DriftPeriod is the time between two checks for drift and orphans; 0 never checks.
	DriftPeriod time.Duration
	// Drift is the action for drift.
	Drift DriftMode
	// RemoveOrphans deletes orphans; otherwise they are reported.
	RemoveOrphans bool
	// Class is the loadBalancerClass that is reconciled in addition; "" reconciles none.
	Class string
	// OnlyClass does not reconcile Services without a class.
	OnlyClass bool
}

// DriftMode is the action for drift.
type DriftMode string

// The modes.
const (
	Repair DriftMode = "repair" // write the desired state and report it
	Report DriftMode = "report" // report it; the next change of the Service or its nodes writes the desired state
	Off    DriftMode = "off"    // do nothing until the Service or its nodes change
)
