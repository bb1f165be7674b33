package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// reconcile reconciles one Node, and queues it again after a failure. An initialised Node whose machine is unknown
// waits for the next resync.
func (c *Controller) reconcile(ctx context.Context, name string) {
	node := c.node(name)
	if node == nil || node.DeletionTimestamp != nil || c.foreign(node) {
		c.claims.release(name)
		c.queue.Forget(name)
		c.warnings.Forget(name)
		return
	}
	err := c.sync(ctx, node)
	problem, isProblem := errors.AsType[*cloud.MachineProblem](err)
	switch {
	case err == nil, apierrors.IsNotFound(err): // the watch reports the latter
		c.queue.Forget(name)
	case ctx.Err() != nil:
	case apierrors.IsConflict(err):
		c.queue.Again(name, conflictDelay)
	case isProblem && !cloud.Uninitialised(node):
		c.queue.Forget(name)
		klog.FromContext(ctx).V(1).Info("A Node does not change", "node", name, "reason", problem.Message)
	default:
		tracing.Fail(ctx, err)
		klog.FromContext(ctx).Error(err, "Syncing a Node failed; it is retried", "node", name, "uninitialised",
			cloud.Uninitialised(node))
		c.queue.Retry(name, 0)
	}
}

// foreign says that a Node belongs to another cloud.
func (c *Controller) foreign(node *corev1.Node) bool {
	return node.Spec.ProviderID != "" && !c.provider.Owns(node.Spec.ProviderID)
}

// sync writes what differs in one Node, and reports problems.
func (c *Controller) sync(ctx context.Context, node *corev1.Node) error {
	d, err := c.claimed(ctx, node)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || d.none() {
		c.warn(node, err, d.problems)
		return err
	}
	after, err := c.writer.write(ctx, node, d, func(node *corev1.Node) (difference, error) {
		return c.claimed(ctx, node)
	})
	c.warn(node, refused(err), d.problems)
	if err != nil {
		if notWritten(err) {
			c.claims.release(node.Name)
		}
		return err
	}
	c.written.Mutation(after)
	if cloud.Uninitialised(node) && !cloud.Uninitialised(after) {
		c.metrics.initialised(time.Since(node.CreationTimestamp.Time))
		c.recorder.Event(node, corev1.EventTypeNormal, reasonSynced, "Node synced successfully")
	}
	return nil
}

// refused returns a problem if the API server refused the write, because a retry does not help. Other errors of a write
// are not reported.
func refused(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return &cloud.MachineProblem{Reason: reasonNotWritten, Message: event.Sentences(
			"The API server refused the update of this Node: "+err.Error(),
			"Check the roles of the cloud controller manager, admission policies and webhooks")}
	}
	return nil
}

// notWritten says that the API server has certainly not made a write.
func notWritten(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsForbidden(err) ||
		apierrors.IsInvalid(err)
}

// claimed is difference for a Node that is about to be written. It claims the machine.
func (c *Controller) claimed(ctx context.Context, node *corev1.Node) (difference, error) {
	d, err := c.difference(ctx, node)
	if err != nil || d.machine == "" {
		return d, err
	}
	if other := c.claims.claim(node.Name, d.machine); other != "" {
		return difference{}, taken(d.machine, other)
	}
	return d, nil
}

// taken says that another Node has the machine.
func taken(machine, other string) *cloud.MachineProblem {
	return &cloud.MachineProblem{Reason: cloud.MachineTaken, Message: fmt.Sprintf("The machine of this Node, %s, "+
		"already belongs to Node %s. If that Node is not in use any more, delete it. Otherwise correct the name, "+
		"provider ID or annotation by which the machine of this Node is found.",
		machine, other)}
}

// difference is how a Node differs from its desired state; nothing if this controller does not manage it. It changes
// nothing, because a resync calls it for Nodes that are not written.
func (c *Controller) difference(ctx context.Context, node *corev1.Node) (difference, error) {
	machine, err := c.find(ctx, node)
	return c.differenceFrom(node, machine, err)
}

// differenceFrom is difference with the answer to the request for the machine.
func (c *Controller) differenceFrom(node *corev1.Node, machine cloud.Machine, err error) (difference, error) {
	if !isManaged(node, machine, err) {
		return difference{}, nil
	}
	if err != nil {
		return difference{}, err
	}
	d, problem := compare(node, machine, c.behaviour.Domain)
	if problem != nil {
		return difference{}, problem
	}
	if d.providerID != "" || cloud.Uninitialised(node) {
		d.machine = machine.ProviderID
		if other := c.claims.taken(node.Name, d.machine); other != "" {
			return difference{}, taken(d.machine, other)
		}
	}
	return d, nil
}

// isManaged reports whether this controller manages a Node, after its machine was requested.
func isManaged(node *corev1.Node, machine cloud.Machine, err error) bool {
	if errors.Is(err, cloud.ErrOtherCloud) {
		return false
	}
	return !cloud.Unmanaged(node) || (err == nil && sameMachine(node, machine))
}

// sameMachine reports whether the Node has an address of the machine. In this case it is the same machine, and not only
// one of the same name.
func sameMachine(node *corev1.Node, machine cloud.Machine) bool {
	return slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool {
		return a.Type == corev1.NodeInternalIP && slices.Contains(machine.Addresses, a)
	})
}

// find requests the Node's machine.
func (c *Controller) find(ctx context.Context, node *corev1.Node) (cloud.Machine, error) {
	machine, err := c.provider.Find(ctx, node, c.firstSeen.since(node))
	if _, ok := errors.AsType[*cloud.MachineProblem](err); err == nil || ok || errors.Is(err, cloud.ErrOtherCloud) {
		return machine, err
	}
	return machine, &cloud.MachineProblem{Reason: cloud.MachineNotKnown, Message: err.Error()}
}
