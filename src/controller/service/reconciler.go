package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// maxPasses is the largest number of diffs and writes in one reconciliation. Two are necessary if the cloud creates a
// load balancer and its listeners in two steps.
const maxPasses = 3

// errDriftReported ends the reconciliation of a Service whose drift is only reported.
var errDriftReported = errors.New("it is left as it is, as configured")

// reconciler writes the differences between the desired and the actual state of one Service. Only one goroutine at a
// time may call it for a Service, and that goroutine holds the lock of the Service's state.
type reconciler struct {
	provider  cloud.LoadBalancers
	behaviour cloud.LoadBalancerBehaviour
	recorder  record.EventRecorder
	metrics   *metrics
}

// request is the input from which the desired state of a Service is computed.
type request struct {
	service *corev1.Service
	targets cloud.Targets
	// addFinalizer is called before the first write. It returns an error if the Service must not have objects in the
	// cloud.
	addFinalizer func(context.Context) error
}

// ensure creates or updates the load balancer of a Service, and returns its addresses. While the cloud is busy, it
// returns a cloud.Reason with the time of the next attempt.
func (r *reconciler) ensure(ctx context.Context, s *serviceState, req request) (*corev1.LoadBalancerStatus, error) {
	var cause cause
	written := map[string]bool{}
	for pass := 1; ; pass++ {
		found, err := r.diff(ctx, req, pass == 1 && s.settled(req, r.settledAfter()))
		if err != nil {
			return nil, r.withRetryAfter(err)
		}
		if pass == 1 {
			cause = s.updateCause(req, found)
		}
		s.observe(req.service, found)
		r.reportNotices(s, req.service, noticesOf(s, req, cause, found))
		switch {
		case len(found.Plan) == 0 && found.Refused != nil:
			return r.partlyInSync(s, req, cause, found), r.withRetryAfter(found.Refused)
		case len(found.Plan) == 0:
			return r.inSync(s, req, found)
		}
		if err := checkKept(written, found.Plan); err != nil {
			return nil, err
		}
		if pass == 1 {
			if err := r.beforeWrites(ctx, s, req, cause, found.Plan); err != nil {
				return nil, err
			}
		}
		s.recordWrite(cause)
		if err := r.apply(ctx, s, req.service, found.Plan, cause); err != nil {
			return nil, r.afterWrite(s, err)
		}
		if cause == causeDrift {
			s.repair, s.repaired = found.Plan.String(), time.Now()
		}
		if pass == maxPasses {
			return nil, cloud.Busy("more has to be written", r.behaviour.PollInterval)
		}
	}
}

// minSettled is the shortest time without changes after which a Service is settled: health checks need some time until
// they accept the targets that took the places of others.
const minSettled = 5 * time.Minute

// settledAfter is how long nothing changes before a Service is settled: the period of checks for drift, if that is
// longer.
func (r *reconciler) settledAfter() time.Duration { return max(r.behaviour.DriftPeriod, minSettled) }

// checkKept returns an error if the plan contains an operation that was already written in this reconciliation, and
// adds those of the plan.
func checkKept(written map[string]bool, plan cloud.Plan) error {
	for _, operation := range plan {
		if text := operation.String(); written[text] {
			return fmt.Errorf("the cloud does not keep what is written: %q was written and is needed again, with %d "+
				"writes in all; it is retried automatically; if the problem persists, look for another program that "+
				"changes the object, or ask the cloud's support", text, len(plan))
		}
	}
	for _, operation := range plan {
		written[operation.String()] = true
	}
	return nil
}

// diff computes the differences of a Service.
func (r *reconciler) diff(ctx context.Context, req request, settled bool) (cloud.Comparison, error) {
	found, err := traced(ctx, "diff", func(ctx context.Context) (cloud.Comparison, error) {
		return r.provider.Diff(ctx, req.service, req.targets, settled)
	})
	return withValidAddresses(found), err
}

// planDelete plans the deletion of a Service's objects.
func (r *reconciler) planDelete(ctx context.Context, service *corev1.Service, written bool) (cloud.Comparison, error) {
	return traced(ctx, "plan deletion", func(ctx context.Context) (cloud.Comparison, error) {
		return r.provider.PlanDelete(ctx, service, written)
	})
}

// traced calls compute in a span with the name.
func traced(ctx context.Context, name string,
	compute func(context.Context) (cloud.Comparison, error)) (cloud.Comparison, error) {
	ctx, span := tracing.Start(ctx, name)
	found, err := compute(ctx)
	span.SetAttributes(attribute.Int("operations", len(found.Plan)))
	tracing.End(span, err)
	return found, err
}

// beforeWrites reports drift, adds the finalizer and records the first event. It is called before the first write.
func (r *reconciler) beforeWrites(ctx context.Context, s *serviceState, req request, cause cause,
	plan cloud.Plan) error {
	if cause == causeDrift {
		if err := r.reportDrift(s, req.service, plan); err != nil {
			return err
		}
	}
	if err := req.addFinalizer(ctx); err != nil {
		return err
	}
	if cause == causeService && s.expect(reasonEnsured, textEnsured) {
		r.recorder.Eventf(req.service, corev1.EventTypeNormal, reasonEnsuring, textEnsuring, summary(plan))
	}
	return nil
}

// apply applies a plan, and counts the plan and the writes.
func (r *reconciler) apply(
	ctx context.Context, s *serviceState, service *corev1.Service, plan cloud.Plan, cause cause,
) error {
	began := time.Now()
	r.metrics.plans.WithLabelValues(string(cause)).Observe(float64(len(plan)))
	ctx, span := tracing.Start(ctx, "apply", attribute.Int("operations", len(plan)))
	tried, err := r.provider.Apply(ctx, service, plan)
	tracing.End(span, err)
	for _, one := range tried {
		r.metrics.wrote(one.Operation, cause, one.Err)
		s.recordAttempt(one)
	}
	if cause == causeNodes {
		r.metrics.targetsUpdated(time.Since(began), err)
	}
	return err
}

// inSync returns the addresses if there is no difference. If the load balancer is not ready yet, it returns an error.
func (r *reconciler) inSync(s *serviceState, req request, found cloud.Comparison) (*corev1.LoadBalancerStatus, error) {
	if found.Wait != nil {
		s.wait.message = found.Wait.Message
		return nil, r.waitError(s, req.service, *found.Wait)
	}
	status := found.Balancer.Status.DeepCopy()
	r.reportAddresses(s, req.service, status)
	r.reportDue(s, req.service)
	s.recordInSync(req.service, found)
	return status, nil
}

// partlyInSync handles a Service whose only differences are those that the provider refuses to write. The refusal lasts
// until the Service changes, unless it is transient. A refusal that starts without a change in Kubernetes is drift. It
// returns the addresses of a load balancer that is ready.
func (r *reconciler) partlyInSync(s *serviceState, req request, cause cause,
	found cloud.Comparison) *corev1.LoadBalancerStatus {
	transient, _ := r.provider.ClassifyError(found.Refused)
	switch {
	case transient || found.Wait != nil:
		return nil
	case cause == causeDrift && found.Refused.Error() != s.refused && r.behaviour.Drift != cloud.Off:
		s.drift.found = true
		r.reportNotRepaired(s, req.service, "", found.Refused.Error())
		return nil
	}
	s.recordRefused(req.service, found)
	if len(found.Balancer.Status.Ingress) == 0 {
		return nil
	}
	status := found.Balancer.Status.DeepCopy()
	r.reportAddresses(s, req.service, status)
	return status
}

// messageOf returns the message of an error; "" for nil.
func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// afterWrite returns the error of writes. If a plan was stale, this is no failure: it is computed again.
func (r *reconciler) afterWrite(s *serviceState, err error) error {
	if !errors.Is(err, cloud.ErrStale) || s.stale.TooOften() {
		return r.withRetryAfter(err)
	}
	return cloud.Busy(err.Error(), s.stale.Next())
}

// withRetryAfter returns an error with the time after which the cloud requests a retry, if it does.
func (r *reconciler) withRetryAfter(err error) error {
	reason := cloud.ReasonOf(err)
	if _, after := r.provider.ClassifyError(err); reason.Until == 0 && after > 0 {
		return cloud.Reason{Err: err, Until: after, Reported: reason.Reported}
	}
	return err
}

// ensureDeleted deletes all objects of the Service from the cloud. It returns nil only if there are none any more, and
// a cloud.Reason while the cloud is busy.
func (r *reconciler) ensureDeleted(ctx context.Context, s *serviceState, service *corev1.Service) error {
	s.prepareDeletion()
	found, err := r.planDelete(ctx, service, false)
	if err != nil {
		return r.withRetryAfter(err)
	}
	if len(found.Plan) == 0 && found.Refused != nil {
		return r.withRetryAfter(found.Refused)
	}
	if found.Exists && (found.Wait == nil || found.Wait.Within == 0) { // otherwise the deletion is about to end
		r.reportDeleting(s, service, found.Retains)
	}
	if len(found.Plan) > 0 {
		if err := r.apply(ctx, s, service, found.Plan, causeRemoval); err != nil {
			return r.afterWrite(s, err)
		}
		if found, err = r.planDelete(ctx, service, true); err != nil {
			return r.withRetryAfter(err)
		}
	}
	switch {
	case found.Exists && found.Wait != nil:
		return r.waitError(s, service, *found.Wait)
	case found.Exists: // some objects can be deleted only now
		return cloud.Busy("the load balancer is being removed", r.behaviour.PollInterval)
	}
	r.reportDeleted(s, service, found.Left)
	return nil
}

// maxPollInterval is the longest time between two checks of a load balancer that failed or that takes too long: a short
// interval would only cause calls.
const maxPollInterval = time.Minute

// waitError returns an error with the state of the object that is not ready, and with the time of the next check. If
// the object failed or takes longer than configured, there is one event, and the checks continue with increasing
// intervals.
func (r *reconciler) waitError(s *serviceState, service *corev1.Service, w cloud.Wait) error {
	if w.Within > 0 {
		return cloud.Busy(w.Message, w.Within)
	}
	// The age of the object does not matter: it may have been ready for months before.
	since := s.waitedSince(w)
	reportedAt := time.Now()
	switch {
	case w.Failed:
		reportedAt = r.reportOnce(s, service, w.Object, reasonFailed, textFailed, w.Name, w.Status)
	case w.Slow && s.cause == causeDrift:
		if r.behaviour.Drift != cloud.Off {
			r.reportNotRepaired(s, service, w.Object, w.Message)
		}
	case time.Since(since) > r.behaviour.SlowAfter:
		reportedAt = r.reportOnce(s, service, w.Object, reasonSlow, textSlow, capitalized(w.Name), w.Status,
			r.behaviour.SlowAfter)
	}
	if w.Slow {
		reportedAt = since
	}
	return cloud.Busy(w.Message, r.pollInterval(w, time.Since(reportedAt)))
}

// pollInterval returns the time until the next check. For an object that is slow, or that was reported as failed or
// slow, it depends on the time since then: the interval doubles with each check, within bounds.
func (r *reconciler) pollInterval(w cloud.Wait, since time.Duration) time.Duration {
	interval := cmp.Or(w.Next, r.behaviour.PollInterval)
	return min(max(since, interval), max(interval, maxPollInterval))
}

// capitalized returns the text with an upper-case first letter.
func capitalized(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// comparableAddresses returns the addresses and hostnames that clients use before and after a change, sorted. The
// Service configures which of the two are published. Therefore addresses are returned only if there are some before and
// after, and hostnames likewise.
func comparableAddresses(before, after corev1.LoadBalancerStatus) (was, is []string) {
	for _, value := range []func(corev1.LoadBalancerIngress) string{
		func(ingress corev1.LoadBalancerIngress) string { return cloud.CanonicalAddress(ingress.IP) },
		func(ingress corev1.LoadBalancerIngress) string { return cloud.CanonicalAddress(ingress.Hostname) },
	} {
		if oldValues, newValues := ingressValues(before, value), ingressValues(after, value); len(oldValues) > 0 &&
			len(newValues) > 0 {
			was, is = append(was, oldValues...), append(is, newValues...)
		}
	}
	return was, is
}

// ingressValues returns the distinct values in a status, sorted.
func ingressValues(status corev1.LoadBalancerStatus, value func(corev1.LoadBalancerIngress) string) []string {
	var values []string
	for _, ingress := range status.Ingress {
		if one := value(ingress); one != "" {
			values = append(values, one)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// maxSummary is the largest number of operations of a plan in an event.
const maxSummary = 3

// summary returns a plan as one line.
func summary(plan cloud.Plan) string {
	lines := strings.Split(plan.String(), "\n")
	if more := len(lines) - maxSummary; more > 0 {
		lines = append(slices.Clone(lines[:maxSummary]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}
