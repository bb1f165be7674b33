package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
)

// reason is why a Node is not removed although its machine is missing: a value of a metric's label, and part of an
// event.
type reason string

// The reasons.
const (
	blockedKept reason = "kept" // its owner excluded it
	// The cloud shows no machine of any Node, so it may be the wrong cloud.
	blockedNoCanary     reason = "no_canary"
	blockedBudget       reason = "deletion_budget"  // too many at once
	blockedReplaced     reason = "replaced"         // a machine of its name runs, whose kubelet may use the Node
	blockedCredentials  reason = "credential_check" // the credentials may be invalid
	blockedList         reason = "list_incomplete"  // the list lacks machines of Nodes that are ready
	blockedContradicted reason = "contradicted"     // a second answer differs
	blockedNoAnswer     reason = "no_answer"        // there was no second answer, or none at all for long
	blockedReported     reason = "reported"         // the Node changed meanwhile, so its kubelet may run
	blockedKubernetes   reason = "kubernetes"       // the API server did not answer, or does not permit it
	blockedDryRun       reason = "dry_run"
)

// reasons are all reasons.
func reasons() []reason {
	return []reason{blockedKept, blockedNoCanary, blockedBudget, blockedReplaced, blockedCredentials, blockedList,
		blockedContradicted, blockedNoAnswer,
		blockedReported, blockedKubernetes, blockedDryRun}
}

const (
	// maxRemovalsWithoutLists limits the Nodes that are deleted in one pass if each confirmation is a call of its own.
	maxRemovalsWithoutLists = 20
	// checkValidity is how long Nodes are deleted after one credential check and one second list. The other Nodes are
	// deleted in the next pass.
	checkValidity = time.Minute
)

// remove deletes those Nodes that are due and whose missing machines all requests confirm.
func (c *Controller) remove(ctx context.Context, subjects, canaries []*subject) {
	batch := c.removable(ctx, subjects, len(canaries) > 0)
	if len(batch) == 0 || c.rejectsList(ctx, batch, subjects) {
		return
	}
	c.credentialChecks++
	if err := c.provider.CheckCredentials(ctx, canaryNodes(canaries, c.credentialChecks)); err != nil {
		c.blockAll(batch, blockedCredentials, fmt.Sprintf(whyCredentials, err))
		return
	}
	notBefore := time.Now() // not earlier: a list from before the credential check proves nothing
	batch = c.confirmMissing(ctx, batch, notBefore)
	if len(batch) == 0 {
		return
	}
	if c.observeReady(ctx, subjects); !c.rejectsList(ctx, batch, subjects) {
		c.removeAll(ctx, batch, notBefore)
	}
}

// confirmMissing returns those of the Nodes whose machines are also missing from a list that began after the credential
// check, and that nothing blocks.
func (c *Controller) confirmMissing(ctx context.Context, batch []*subject, notBefore time.Time) []*subject {
	var missing []*subject
	for _, s := range batch {
		state, err := c.provider.State(ctx, s.node, notBefore)
		if !c.confirmsMissing(s, state, err) {
			continue
		}
		if why, text := c.blockedBy(ctx, s); why != "" {
			c.hold(s, why, text)
			continue
		}
		missing = append(missing, s)
	}
	return missing
}

// confirmsMissing reports whether an answer is that the machine does not exist. Any other answer starts over.
func (c *Controller) confirmsMissing(s *subject, state cloud.MachineState, err error) bool {
	switch {
	case errors.Is(err, cloud.ErrOtherNetwork):
		c.block(s, blockedContradicted, fmt.Sprintf(whyElsewhere, err))
	case err != nil:
		c.block(s, blockedNoAnswer, fmt.Sprintf(whyNoAnswer, err))
	case state != cloud.MachineGone:
		c.block(s, blockedContradicted, fmt.Sprintf(whyContradicted, state))
	}
	return err == nil && state == cloud.MachineGone
}

// confirm requests the Node's machine by its identity.
func (c *Controller) confirm(ctx context.Context, node *corev1.Node) (cloud.MachineState, error) {
	state, err := c.provider.Confirm(ctx, node)
	c.metrics.confirmed(state, err)
	return state, err
}

// removeAll deletes one Node after the other, as long as the credential check is valid. If one deletion is not
// permitted, the others are not tried.
func (c *Controller) removeAll(ctx context.Context, batch []*subject, checked time.Time) {
	for n, s := range batch {
		if ctx.Err() != nil || time.Since(checked) > checkValidity {
			return
		}
		if err := c.removeIfMissing(ctx, s); apierrors.IsForbidden(err) {
			c.blockAll(batch[n+1:], blockedKubernetes, fmt.Sprintf(whyNotPermitted, s.node.Name, err))
			return
		}
	}
}

// removeIfMissing deletes the Node if a request by its identity confirms that its machine does not exist, and the Node
// has not changed. The error is the API server's.
func (c *Controller) removeIfMissing(ctx context.Context, s *subject) error {
	state, err := c.confirm(ctx, s.node)
	wasAway := s.history.inOtherNetwork
	s.history.inOtherNetwork = errors.Is(err, cloud.ErrOtherNetwork) // block stores it
	if !c.confirmsMissing(s, state, err) {
		return nil
	}
	if wasAway { // it was not counted towards the budget
		c.block(s, blockedContradicted, whyWasElsewhere)
		return nil
	}
	fresh, err := c.read(ctx, s.node.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		c.block(s, blockedKubernetes, fmt.Sprintf(whyNotRead, err))
		return err
	case cloud.Kept(fresh, c.behaviour.Domain):
		c.block(s, blockedKept, c.keptMessage())
	case changedSince(s, fresh):
		c.block(s, blockedReported, whyChanged)
	case c.behaviour.DryRun:
		c.record(fresh)
		c.metrics.removed(removalDryRun)
		klog.FromContext(ctx).Info("Node would be removed, but this is a dry run", "node", klog.KObj(fresh),
			"providerID", fresh.Spec.ProviderID)
		c.hold(s, blockedDryRun, whyDryRun)
	default:
		return c.delete(ctx, s, fresh)
	}
	return nil
}

// changedSince says that the Node, as it was just read, is not the one that was observed, or that its kubelet has
// reported since.
func changedSince(s *subject, fresh *corev1.Node) bool {
	now := observationOf(fresh, "", s.observation.at)
	return fresh.UID != s.node.UID || fresh.DeletionTimestamp != nil || now.providerID != s.observation.providerID ||
		now.ready == corev1.ConditionTrue || !now.reported.Equal(&s.observation.reported)
}

// record counts a removal, unless the Node was drained.
func (c *Controller) record(node *corev1.Node) {
	if !drained(node) {
		c.budget.record(node.UID, time.Now())
	}
}

// delete deletes this Node in the version that was read. The error is the API server's.
func (c *Controller) delete(ctx context.Context, s *subject, fresh *corev1.Node) error {
	c.record(fresh) // also if there is no answer
	err := c.deleteUnchanged(ctx, fresh)
	switch {
	case err == nil:
		klog.FromContext(ctx).Info("Node removed, because its machine is gone", "node", klog.KObj(fresh), "providerID",
			fresh.Spec.ProviderID)
		c.recorder.Eventf(fresh, corev1.EventTypeNormal, reasonDeleting, textDeleting, fresh.Name,
			fresh.Spec.ProviderID)
		c.metrics.removed(removalDone)
		delete(c.records, fresh.UID)
	case apierrors.IsNotFound(err): // another client deleted it
		c.budget.cancel(fresh.UID)
	case apierrors.IsConflict(err):
		c.budget.cancel(fresh.UID)
		c.block(s, blockedReported, whyChanged)
	default:
		if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown { // it was refused
			c.budget.cancel(fresh.UID)
		}
		c.metrics.removed(removalFailed)
		c.startOver(s)
		c.setBlocked(s, blockedKubernetes)
		c.warn(s, reasonDeletingFailed, reasonDeletingFailed, fmt.Sprintf(textDeletingFailed, fresh.Name, err))

	}
	return err
}

// read returns the Node from the API server.
func (c *Controller) read(ctx context.Context, name string) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, patch.Timeout)
	defer cancel()
	return c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

// deleteUnchanged deletes the Node, unless it has changed.
func (c *Controller) deleteUnchanged(ctx context.Context, node *corev1.Node) error {
	ctx, cancel := context.WithTimeout(ctx, patch.Timeout)
	defer cancel()
	return c.client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &node.UID, ResourceVersion: &node.ResourceVersion},
	})
}
