package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// reason is why a Node is not removed although its machine is missing: a value of a metric's label, and part of an event.
type reason string

// The reasons.
const (
	blockedKept         reason = "kept"          // its owner asked for that
	blockedNoWitness    reason = "no_witness"    // the cloud shows no machine of any Node, so that it may be the wrong place
	blockedAllowance    reason = "allowance"     // too many at once
	blockedNotVouched   reason = "not_vouched"   // nobody knows that the credentials are good
	blockedList         reason = "list_doubtful" // the list lacks machines of Nodes that are ready
	blockedContradicted reason = "contradicted"  // a second answer says something else
	blockedNoAnswer     reason = "no_answer"     // there was none the second time
	blockedReported     reason = "reported"      // the Node changed meanwhile, so there may be a kubelet
	blockedKubernetes   reason = "kubernetes"    // the API server did not answer, or does not permit it
	blockedDryRun       reason = "dry_run"
)

// reasons are all of them.
func reasons() []reason {
	return []reason{blockedKept, blockedNoWitness, blockedAllowance, blockedNotVouched, blockedList, blockedContradicted, blockedNoAnswer,
		blockedReported, blockedKubernetes, blockedDryRun}
}

// passRemovals is how many Nodes one pass removes at most, and so how many machines it asks for by their identity.
const passRemovals = 20

// remove removes those of the Nodes that are due and about which all agree.
func (l *Lifecycle) remove(ctx context.Context, subjects []*subject, c census) {
	batch := l.admitted(subjects, c)
	if len(batch) == 0 {
		return
	}
	second := time.Now()
	if err := l.provider.Vouch(ctx, c.called(l.passes)); err != nil {
		l.blockAll(batch, blockedNotVouched, fmt.Sprintf("it is not certain that the right cloud was asked with good credentials: %v", err))
		return
	}
	batch = l.secondLook(ctx, batch, second)
	if why := l.doubts(ctx, subjects); why != "" {
		l.blockAll(batch, blockedList, why)
		return
	}
	for _, s := range batch {
		if ctx.Err() != nil {
			return
		}
		l.conclude(ctx, s)
	}
}

// admitted are the Nodes that may be removed in this pass if a second look says so, those that are missing longest first. The owners of
// the others are told.
func (l *Lifecycle) admitted(subjects []*subject, c census) []*subject {
	var batch, beyond []*subject
	now := time.Now()
	left := l.allowance.left(c.ours, now)
	due := slices.DeleteFunc(slices.Clone(subjects), func(s *subject) bool { return s.step != due })
	slices.SortStableFunc(due, func(a, b *subject) int { return a.history.missing.Compare(b.history.missing) })
	for _, s := range due {
		switch {
		case s.sight.kept:
			l.hold(s, blockedKept, fmt.Sprintf("it has the annotation or label %s/%s", l.behaviour.Domain, keepName))
		case len(c.witnesses) == 0:
			l.hold(s, blockedNoWitness, "the cloud shows no machine of any Node, so it may be the wrong place to look; "+
				"if its machine is really gone, delete the Node by hand, or start a machine of the cluster")
		case l.behaviour.DryRun && l.records[s.node.UID].blocked == blockedDryRun: // that was said
		case left <= len(batch):
			beyond = append(beyond, s)
		case len(batch) < passRemovals:
			batch = append(batch, s)
		}
	}
	l.paused(beyond)
	return batch
}

// paused tells that no more Nodes are removed for now, once until that has passed.
func (l *Lifecycle) paused(beyond []*subject) {
	if len(beyond) == 0 {
		l.stopped = false
		return
	}
	limit := fmt.Sprintf("%d %% of the Nodes may be removed within %s, as configured", l.behaviour.MaxRemovals, l.behaviour.RemovalWindow)
	if !l.stopped {
		l.stopped = true
		l.recorder.Eventf(beyond[0].node, corev1.EventTypeWarning, reasonRemovalsStopped,
			"The machines of %s are gone, too, but only %s. The others follow bit by bit, unless their machines are seen again. If that many are missing for no reason, look at the cloud's API and the credentials first",
			named(beyond), limit)
	}
	for _, s := range beyond {
		l.hold(s, blockedAllowance, "only "+limit)
	}
}

// maxNamed bounds how many Nodes are named in an event.
const maxNamed = 10

// named are the names of the Nodes, or as many as an event has room for.
func named(subjects []*subject) string {
	var names []string
	for _, s := range subjects[:min(len(subjects), maxNamed)] {
		names = append(names, s.node.Name)
	}
	text := strings.Join(names, ", ")
	if more := len(subjects) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more Nodes", text, more)
	}
	return text
}

// secondLook returns those of the Nodes whose machines are missing in a list, too, that began after the credentials were found good.
func (l *Lifecycle) secondLook(ctx context.Context, batch []*subject, second time.Time) []*subject {
	var missing []*subject
	for _, s := range batch {
		state, err := l.provider.Look(ctx, s.node, second)
		if l.agreed(s, state, err) {
			missing = append(missing, s)
		}
	}
	return missing
}

// agreed says whether an answer is that the machine is gone. Any other one begins anew.
func (l *Lifecycle) agreed(s *subject, state State, err error) bool {
	switch {
	case err != nil:
		l.block(s, blockedNoAnswer, fmt.Sprintf("the cloud was asked again, and there was no answer: %v", err))
	case state != Gone:
		l.block(s, blockedContradicted, fmt.Sprintf("its machine was missing, but asked again the cloud says that it is %s", state))
	}
	return err == nil && state == Gone
}

// maxStrange is how many ready Nodes without a machine are asked for in one pass.
const maxStrange = 3

// doubts says why the list is not to be believed, from the Nodes that are ready: their kubelets report, so they have machines. One that
// names a machine which is really not there proves nothing: another one may have its name.
func (l *Lifecycle) doubts(ctx context.Context, subjects []*subject) string {
	if !l.behaviour.Lists {
		return ""
	}
	ready := slices.DeleteFunc(slices.Clone(subjects), func(s *subject) bool { return !s.ready() })
	var absent []*subject
	for _, s := range ready {
		if l.lookAt(ctx, s, time.Time{}); s.sight.err != nil {
			return fmt.Sprintf("looking at the machine of Node %s, which is ready: %v", s.node.Name, s.sight.err)
		}
		if s.absent() {
			absent = append(absent, s)
		}
	}
	if len(absent) > 0 && (len(absent) == len(ready) || len(absent) > maxStrange && 2*len(absent) > len(ready)) {
		return fmt.Sprintf("the cloud shows no machine for %s, and these are ready: if it is the right cloud, correct or delete these Nodes", named(absent))
	}
	return l.askForStrange(ctx, absent)
}

// askForStrange asks for the machines of ready Nodes which the list lacks, a few at a time.
func (l *Lifecycle) askForStrange(ctx context.Context, absent []*subject) string {
	asked := 0
	for _, s := range absent {
		known := l.records[s.node.UID]
		if known.history.odd {
			continue
		}
		if asked++; asked > maxStrange {
			return fmt.Sprintf("the cloud shows no machine for %s, and these are ready; they are asked for, a few at a time", named(absent))
		}
		state, err := l.ask(ctx, s.node)
		if err != nil || state != Gone {
			return fmt.Sprintf("the cloud's list lacks the machine of Node %s, which is ready", s.node.Name)
		}
		known.history.odd = true
	}
	return ""
}

// ask asks for the Node's machine by its identity.
func (l *Lifecycle) ask(ctx context.Context, node *corev1.Node) (State, error) {
	state, err := l.provider.Confirm(ctx, node)
	l.metrics.asked(state, err)
	return state, err
}

// conclude removes the Node if its machine is gone when asked for by its identity, and the Node is still what it was.
func (l *Lifecycle) conclude(ctx context.Context, s *subject) {
	state, err := l.ask(ctx, s.node)
	if !l.agreed(s, state, err) {
		return
	}
	fresh, err := l.client.CoreV1().Nodes().Get(ctx, s.node.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return
	case err != nil:
		l.block(s, blockedKubernetes, fmt.Sprintf("reading the Node once more: %v", err))
	case isKept(fresh, l.behaviour.Domain):
		l.block(s, blockedKept, fmt.Sprintf("it has the annotation or label %s/%s", l.behaviour.Domain, keepName))
	case differs(s, fresh):
		l.block(s, blockedReported, "it changed just now; there may be a kubelet")
	case l.behaviour.DryRun:
		l.allowance.spend(time.Now())
		l.metrics.removed(removalDryRun)
		klog.FromContext(ctx).Info("Node would be removed, but this is a dry run", "node", klog.KObj(fresh), "providerID", fresh.Spec.ProviderID)
		l.hold(s, blockedDryRun, "it would be removed, but this is a dry run, as configured")
	default:
		l.delete(ctx, s, fresh)
	}
}

// differs says that the Node, read just now, is not the one that was judged, or that a kubelet has reported since.
func differs(s *subject, fresh *corev1.Node) bool {
	now := seen(fresh, "", s.sight.at)
	return fresh.UID != s.node.UID || fresh.DeletionTimestamp != nil || now.providerID != s.sight.providerID ||
		now.ready == corev1.ConditionTrue || !now.reported.Equal(&s.sight.reported)
}

// delete deletes this very Node, as it was read.
func (l *Lifecycle) delete(ctx context.Context, s *subject, fresh *corev1.Node) {
	l.allowance.spend(time.Now()) // also when there is no answer
	l.recorder.Eventf(fresh, corev1.EventTypeNormal, reasonDeleting,
		"Deleting Node %s: its machine %s is gone, as two lists and the cloud itself say", fresh.Name, fresh.Spec.ProviderID)
	err := l.client.CoreV1().Nodes().Delete(ctx, fresh.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &fresh.UID, ResourceVersion: &fresh.ResourceVersion},
	})
	switch {
	case err == nil, apierrors.IsNotFound(err):
		klog.FromContext(ctx).Info("Node removed, because its machine is gone", "node", klog.KObj(fresh), "providerID", fresh.Spec.ProviderID)
		l.metrics.removed(removalDone)
		delete(l.records, fresh.UID)
	case apierrors.IsConflict(err):
		l.allowance.refund()
		l.block(s, blockedReported, "it changed just now; there may be a kubelet")
	default:
		if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown { // it was refused
			l.allowance.refund()
		}
		l.metrics.removed(removalFailed)
		l.recorder.Eventf(fresh, corev1.EventTypeWarning, reasonDeletingFailed, "Deleting Node %s: %v; it is tried again", fresh.Name, err)
		l.block(s, blockedKubernetes, fmt.Sprintf("deleting it: %v", err))
	}
}
