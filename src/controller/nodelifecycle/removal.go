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
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/optout"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
)

// reason is why a Node is not removed although its machine is missing: a value of a metric's label, and part of an
// event.
type reason string

// The reasons.
const (
	blockedKept reason = "kept" // its owner asked for that
	// the cloud shows no machine of any Node, so that it may be the wrong place
	blockedNoWitness    reason = "no_witness"
	blockedAllowance    reason = "allowance"     // too many at once
	blockedReplaced     reason = "replaced"      // a machine of its name runs, whose kubelet may use the Node
	blockedNotVouched   reason = "not_vouched"   // nobody knows that the credentials are good
	blockedList         reason = "list_doubtful" // the list lacks machines of Nodes that are ready
	blockedContradicted reason = "contradicted"  // a second answer says something else
	blockedNoAnswer     reason = "no_answer"     // there was none the second time, or none at all for long
	blockedReported     reason = "reported"      // the Node changed meanwhile, so there may be a kubelet
	blockedKubernetes   reason = "kubernetes"    // the API server did not answer, or does not permit it
	blockedDryRun       reason = "dry_run"
)

// reasons are all of them.
func reasons() []reason {
	return []reason{blockedKept, blockedNoWitness, blockedAllowance, blockedReplaced, blockedNotVouched, blockedList,
		blockedContradicted, blockedNoAnswer,
		blockedReported, blockedKubernetes, blockedDryRun}
}

const (
	// soloRemovals is how many Nodes one pass removes at most where each second look is a call of its own.
	soloRemovals = 20
	// proofAge is for how long Nodes are removed after one proof of the credentials and one second list. The rest
	// follows in the next pass.
	proofAge = time.Minute
)

// remove removes those of the Nodes that are due and about which all agree.
func (c *Controller) remove(ctx context.Context, subjects, witnesses []*subject) {
	batch := c.admitted(ctx, subjects, len(witnesses) > 0)
	if len(batch) == 0 || c.rejectsList(ctx, batch, subjects) {
		return
	}
	c.proofs++
	if err := c.provider.CheckCredentials(ctx, called(witnesses, c.proofs)); err != nil {
		c.blockAll(batch, blockedNotVouched,
			fmt.Sprintf("it is not certain that the credentials and the configured cloud are correct: %v", err))
		return
	}
	second := time.Now() // and no sooner: a list that began before the credentials were found good proves nothing
	batch = c.confirmMissing(ctx, batch, second)
	if len(batch) == 0 {
		return
	}
	if c.observeReady(ctx, subjects); !c.rejectsList(ctx, batch, subjects) {
		c.removeAll(ctx, batch, second)
	}
}

// confirmMissing returns those of the Nodes whose machines are missing in a list, too, that began after the credentials
// were found good, and for which no other machine stands in.
func (c *Controller) confirmMissing(ctx context.Context, batch []*subject, second time.Time) []*subject {
	var missing []*subject
	for _, s := range batch {
		state, err := c.provider.State(ctx, s.node, second)
		if !c.agreed(s, state, err) {
			continue
		}
		if why, text := c.stays(ctx, s); why != "" {
			c.hold(s, why, text)
			continue
		}
		missing = append(missing, s)
	}
	return missing
}

// agreed says whether an answer is that the machine is gone. Any other one begins anew.
func (c *Controller) agreed(s *subject, state cloud.MachineState, err error) bool {
	switch {
	case errors.Is(err, cloud.ErrOtherNetwork):
		c.block(s, blockedContradicted, fmt.Sprintf("its machine exists, but not in the configured VPC: %v", err))
	case err != nil:
		c.block(s, blockedNoAnswer, fmt.Sprintf("the cloud did not answer the second request: %v", err))
	case state != cloud.MachineGone:
		c.block(s, blockedContradicted,
			fmt.Sprintf("its machine was missing from the list, but a second request shows that it is %s", state))
	}
	return err == nil && state == cloud.MachineGone
}

// ask asks for the Node's machine by its identity.
func (c *Controller) ask(ctx context.Context, node *corev1.Node) (cloud.MachineState, error) {
	state, err := c.provider.Confirm(ctx, node)
	c.metrics.asked(state, err)
	return state, err
}

// removeAll removes one Node after the other, as long as the proof is young. What is not permitted for one is not tried
// with the others.
func (c *Controller) removeAll(ctx context.Context, batch []*subject, proven time.Time) {
	for n, s := range batch {
		if ctx.Err() != nil || time.Since(proven) > proofAge {
			return
		}
		if err := c.conclude(ctx, s); apierrors.IsForbidden(err) {
			c.blockAll(batch[n+1:], blockedKubernetes, fmt.Sprintf("removing Node %s was not permitted: %v",
				s.node.Name, err))
			return
		}
	}
}

// conclude removes the Node if its machine is gone when asked for by its identity, and the Node is still what it was.
// The error is the API server's.
func (c *Controller) conclude(ctx context.Context, s *subject) error {
	state, err := c.ask(ctx, s.node)
	away := s.history.away
	s.history.away = errors.Is(err, cloud.ErrOtherNetwork) // block remembers it
	if !c.agreed(s, state, err) {
		return nil
	}
	if away { // it was not counted among those that go
		c.block(s, blockedContradicted, "its machine was in another network at the last check")
		return nil
	}
	fresh, err := c.read(ctx, s.node.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		c.block(s, blockedKubernetes, fmt.Sprintf("reading the Node once more: %v", err))
		return err
	case optout.Kept(fresh, c.behaviour.Domain):
		c.block(s, blockedKept, c.keptMessage())
	case differs(s, fresh):
		c.block(s, blockedReported, "it changed at the same moment, so its kubelet may be running")
	case c.behaviour.DryRun:
		c.record(fresh)
		c.metrics.removed(removalDryRun)
		klog.FromContext(ctx).Info("Node would be removed, but this is a dry run", "node", klog.KObj(fresh),
			"providerID", fresh.Spec.ProviderID)
		c.hold(s, blockedDryRun, dryRunMessage)
	default:
		return c.delete(ctx, s, fresh)
	}
	return nil
}

// differs says that the Node, read just now, is not the one that was judged, or that a kubelet has reported since.
func differs(s *subject, fresh *corev1.Node) bool {
	now := seen(fresh, "", s.observation.at)
	return fresh.UID != s.node.UID || fresh.DeletionTimestamp != nil || now.providerID != s.observation.providerID ||
		now.ready == corev1.ConditionTrue || !now.reported.Equal(&s.observation.reported)
}

// record counts a removal, unless the Node was drained.
func (c *Controller) record(node *corev1.Node) {
	if !drained(node) {
		c.budget.record(node.UID, time.Now())
	}
}

// delete deletes this very Node, as it was read. The error is the API server's.
func (c *Controller) delete(ctx context.Context, s *subject, fresh *corev1.Node) error {
	c.record(fresh) // also when there is no answer
	err := c.erase(ctx, fresh)
	switch {
	case err == nil:
		klog.FromContext(ctx).Info("Node removed, because its machine is gone", "node", klog.KObj(fresh), "providerID",
			fresh.Spec.ProviderID)
		c.recorder.Eventf(fresh, corev1.EventTypeNormal, reasonDeleting,
			"Deleting Node %s: its machine %s does not exist, as two lists and a request for it confirmed", fresh.Name,
			fresh.Spec.ProviderID)
		c.metrics.removed(removalDone)
		delete(c.records, fresh.UID)
	case apierrors.IsNotFound(err): // somebody else was faster
		c.budget.cancel(fresh.UID)
	case apierrors.IsConflict(err):
		c.budget.cancel(fresh.UID)
		c.block(s, blockedReported, "it changed at the same moment, so its kubelet may be running")
	default:
		if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown { // it was refused
			c.budget.cancel(fresh.UID)
		}
		c.metrics.removed(removalFailed)
		c.anew(s)
		c.note(s, blockedKubernetes)
		c.warn(s, reasonDeletingFailed, reasonDeletingFailed,
			fmt.Sprintf("Deleting Node %s, whose machine does not exist: %v; it is retried automatically", fresh.Name,
				err))
	}
	return err
}

// read returns the Node as the API server has it.
func (c *Controller) read(ctx context.Context, name string) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, patch.Timeout)
	defer cancel()
	return c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

// erase deletes the Node, unless it has changed.
func (c *Controller) erase(ctx context.Context, node *corev1.Node) error {
	ctx, cancel := context.WithTimeout(ctx, patch.Timeout)
	defer cancel()
	return c.client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &node.UID, ResourceVersion: &node.ResourceVersion},
	})
}
