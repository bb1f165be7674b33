package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// maxRounds bounds how often one look at a Service compares and writes. Two are needed where the cloud takes a load
// balancer and its listeners in two steps.
const maxRounds = 3

// errReported ends the work on a Service whose drift is reported only.
var errReported = errors.New("it is left as it is, as configured")

// keeper makes what one Service has in the cloud what it should be. It is called for one Service by one goroutine at a
// time, which holds the Service's memory.
type keeper struct {
	provider  cloud.LoadBalancers
	behaviour cloud.LoadBalancerBehaviour
	recorder  record.EventRecorder
	metrics   *metrics
}

// wish is what a Service's load balancer is made from.
type wish struct {
	service *corev1.Service
	targets cloud.Targets
	// protect is called before the first write, and fails when the Service may not have anything in the cloud.
	protect func(context.Context) error
}

// ensure makes what the Service has in the cloud what it should be, and returns its addresses. While the cloud is busy
// the error is an *api.RetryError with the time of the next look.
func (k *keeper) ensure(ctx context.Context, m *memory, w wish) (*corev1.LoadBalancerStatus, error) {
	var cause cause
	m.noticed = false
	done := m.unfinished
	m.unfinished = nil
	for round := 1; ; round++ {
		found, err := k.provider.Diff(ctx, w.service, w.targets)
		if err != nil {
			return nil, k.judged(err)
		}
		if round == 1 {
			cause = m.causeOf(w, found.Machines, textOf(found.Refused))
		}
		m.seen(w.service, found)
		k.tellNotices(m, w.service, noticesOf(m, w, cause, found))
		switch {
		case len(found.Plan) == 0 && found.Refused != nil:
			return k.refused(m, w, cause, found)
		case len(found.Plan) == 0:
			return k.arrived(m, w, cause, found)
		}
		done = done.towards(w.service, found.Machines)
		if err := done.check(found.Plan); err != nil {
			return nil, err
		}
		if round == 1 {
			if err := k.begin(ctx, m, w, cause, found.Plan); err != nil {
				return nil, err
			}
		}
		m.wrote()
		if err := k.applySome(ctx, m, w.service, found.Plan, cause); err != nil {
			return nil, k.judged(err)
		}
		done.note(found.Plan, found.Plan.Begin(maxWrites))
		if len(found.Plan) > maxWrites || round == maxRounds {
			m.unfinished = done
			return nil, errMore()
		}
	}
}

// begin is what comes before the first write.
func (k *keeper) begin(ctx context.Context, m *memory, w wish, cause cause, plan cloud.Plan) error {
	if cause == causeDrift {
		if err := k.tellDrift(m, w.service, plan); err != nil {
			return err
		}
	}
	if w.protect != nil {
		if err := w.protect(ctx); err != nil {
			return err
		}
	}
	if cause == causeService && !m.ensuring {
		m.ensuring = true
		k.recorder.Event(w.service, corev1.EventTypeNormal, reasonEnsuring, "Ensuring load balancer: "+summary(plan))
	}
	return nil
}

// maxWrites bounds how many writes one look at a Service makes, so that one with very many ports does not hold a worker
// for minutes.
const maxWrites = 25

// applySome makes as many writes of a plan as one look may, and counts them.
func (k *keeper) applySome(
	ctx context.Context, m *memory, service *corev1.Service, plan cloud.Plan, cause cause,
) error {
	began := time.Now()
	tried, err := k.provider.Apply(ctx, service, plan.Begin(maxWrites))
	for _, one := range tried {
		k.metrics.wrote(one.Operation, cause, one.Err)
		m.leaves(one)
	}
	if cause == causeNodes {
		k.metrics.retargeted(time.Since(began), err)
	}
	return err
}

// arrived is when nothing differs: the load balancer serves, or is waited for.
func (k *keeper) arrived(m *memory, w wish, cause cause, found cloud.Comparison) (*corev1.LoadBalancerStatus, error) {
	if found.Wait != nil {
		m.message = found.Wait.Message
		return nil, k.pending(m, w.service, *found.Wait)
	}
	status := found.Status.DeepCopy()
	k.tellAddresses(w.service, status)
	k.tellArrival(m, w.service, cause)
	m.settle(w.service, found)
	return status, nil
}

// refused is when nothing differs but what may not be put right, which lasts as long as the Service asks for it, unless
// it passes by itself. The rest is as it should be; when that has changed without a change in Kubernetes, it is drift
// as it is without a refusal.
func (k *keeper) refused(m *memory, w wish, cause cause, found cloud.Comparison) (*corev1.LoadBalancerStatus, error) {
	text := found.Refused.Error()
	passing, _ := k.provider.ClassifyError(found.Refused)
	switch {
	case passing || found.Wait != nil:
		return nil, k.judged(found.Refused)
	case cause == causeDrift && text != m.refused && k.behaviour.Drift != cloud.Off:
		m.repairing = true
		k.tellOnce(m, w.service, "", reasonDrifted,
			"The load balancer of this Service was changed in the cloud, and the change cannot be reverted now: %s",
			text)
		return nil, refusal{k.judged(found.Refused)}
	}
	m.forgive()
	m.settled, m.refused = true, text
	m.seen(w.service, found)
	if len(found.Status.Ingress) == 0 {
		return nil, k.judged(found.Refused)
	}
	status := found.Status.DeepCopy()
	k.tellAddresses(w.service, status)
	return status, k.judged(found.Refused)
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// refusal is why something is left as it is; the Service's owner knows already.
type refusal struct{ error }

// Unwrap returns the reason.
func (r refusal) Unwrap() error { return r.error }

// judged hands on when the cloud asked to come back.
func (k *keeper) judged(err error) error {
	if _, asked := errors.AsType[*api.RetryError](err); asked {
		return err
	}
	if _, after := k.provider.ClassifyError(err); after > 0 {
		return &retry{RetryError: api.NewRetryError(err.Error(), after), cause: err}
	}
	return err
}

// retry is an *api.RetryError that still says why.
type retry struct {
	*api.RetryError
	cause error
}

// Unwrap returns the reason, and what says when to come back.
func (r *retry) Unwrap() []error { return []error{r.RetryError, r.cause} }

// remove removes everything of the Service from the cloud. It returns nil only when nothing is left; an *api.RetryError
// while the cloud is busy.
func (k *keeper) remove(ctx context.Context, m *memory, service *corev1.Service) error {
	m.unsettle()
	found, err := k.provider.PlanDelete(ctx, service, false)
	if err != nil {
		return k.judged(err)
	}
	if len(found.Plan) == 0 && found.Refused != nil {
		return k.judged(found.Refused)
	}
	if found.Exists {
		k.tellRemoval(m, service, found.Retains)
	}
	if len(found.Plan) > 0 {
		if err := k.applyRemoval(ctx, m, service, found.Plan); err != nil {
			return err
		}
		if found, err = k.provider.PlanDelete(ctx, service, true); err != nil {
			return k.judged(err)
		}
	}
	switch {
	case found.Exists && found.Wait != nil:
		return k.pending(m, service, *found.Wait)
	case found.Exists: // there is something that may be removed now
		return api.NewRetryError("the load balancer is being removed", k.behaviour.PollInterval)
	}
	k.tellGone(m, service, found.Left)
	return nil
}

// applyRemoval makes the writes of a removal, as many as one look may.
func (k *keeper) applyRemoval(ctx context.Context, m *memory, service *corev1.Service, plan cloud.Plan) error {
	done := m.unfinished.towards(service, nil)
	m.unfinished = nil
	if err := done.check(plan); err != nil {
		return err
	}
	if err := k.applySome(ctx, m, service, plan, causeRemoval); err != nil {
		return k.judged(err)
	}
	if len(plan) <= maxWrites {
		return nil
	}
	done.note(plan, plan.Begin(maxWrites))
	m.unfinished = done
	return errMore()
}

// maxPollPause is the longest pause between two looks at a load balancer that failed, or takes too long: nobody waits
// for the second.
const maxPollPause = time.Minute

// pending says what is waited for, and when to look again. When it failed, or takes longer than configured, the
// Service's owner is told once, and looking goes on, ever more rarely.
func (k *keeper) pending(m *memory, service *corev1.Service, w cloud.Wait) error {
	if w.Within > 0 {
		return api.NewRetryError(w.Message, w.Within)
	}
	// What counts is how long it is waited for: it may have served for months before.
	since := m.waitedSince(w)
	told := time.Now()
	switch {
	case w.Failed:
		told = k.tellOnce(m, service, w.Object, reasonFailed,
			"The cloud reports that %s failed: its status is %q. Ask the cloud's support for the cause, or delete it "+
				"in the cloud: a new one is then created automatically.", w.Name, w.Status)
	case w.Slow && m.cause == causeDrift:
		k.tellOnce(m, service, w.Object, reasonDrifted,
			"The load balancer of this Service was changed in the cloud, and the change cannot be reverted now: %s",
			w.Message)
	case time.Since(since) > k.behaviour.SlowAfter:
		told = k.tellOnce(m, service, w.Object, reasonSlow,
			"%s is still %q after %s. The controller continues to check it, and nothing needs to be done in the "+
				"cluster. If the status does not change soon, ask the cloud's support.",
			capital(w.Name), w.Status, k.behaviour.SlowAfter)
	}
	if w.Slow {
		told = since
	}
	return api.NewRetryError(w.Message, k.pollPause(time.Since(told)))
}

// pollPause is how long to wait for something that nobody expects soon, or of which its owner was told that it fails or
// takes too long, since so long ago: as long again, so that pauses double, within bounds.
func (k *keeper) pollPause(since time.Duration) time.Duration {
	interval := k.behaviour.PollInterval
	return min(max(since, interval), max(interval, maxPollPause))
}

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// reachedBy are what clients use before and after: addresses and hostnames, sorted. What is published of both is for
// the Service to change, so they count where there are some before and after.
func reachedBy(before, after corev1.LoadBalancerStatus) (was, is []string) {
	for _, part := range []func(corev1.LoadBalancerIngress) string{
		func(ingress corev1.LoadBalancerIngress) string { return ingress.IP },
		func(ingress corev1.LoadBalancerIngress) string { return ingress.Hostname },
	} {
		if partBefore, partAfter := parts(before, part), parts(after, part); len(partBefore) > 0 && len(partAfter) > 0 {
			was, is = append(was, partBefore...), append(is, partAfter...)
		}
	}
	return was, is
}

// parts are the different texts of a status, sorted.
func parts(status corev1.LoadBalancerStatus, part func(corev1.LoadBalancerIngress) string) []string {
	var texts []string
	for _, ingress := range status.Ingress {
		if text := part(ingress); text != "" {
			texts = append(texts, text)
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// maxSummary bounds how many operations of a plan are named in an event.
const maxSummary = 3

// summary is a plan in one line.
func summary(plan cloud.Plan) string {
	lines := strings.Split(plan.String(), "\n")
	if more := len(lines) - maxSummary; more > 0 {
		lines = append(slices.Clone(lines[:maxSummary]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}
