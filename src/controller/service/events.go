package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// reportOnce records an event, unless there was an event with the same reason and object since the load balancer was
// last in sync. Object is the identity in the cloud, or "". It returns the time of the event.
func (r *reconciler) reportOnce(s *serviceState, service *corev1.Service, object, reason, message string,
	values ...any) time.Time {
	at, fresh := s.recordEvent(reason, object)
	if fresh {
		r.recorder.Eventf(service, corev1.EventTypeWarning, reason, message, values...)
	}
	return at
}

// reportNotices records one event for each new notice. A notice that ended and returns is new.
func (r *reconciler) reportNotices(s *serviceState, service *corev1.Service, notices []cloud.Notice) {
	for i, notice := range notices {
		if !slices.Contains(s.notices, notice) && !slices.Contains(notices[:i], notice) &&
			!reportedBefore(service, notice) {
			r.recorder.Event(service, corev1.EventTypeWarning, notice.Reason, notice.Message)
		}
	}
	s.notices = notices
}

// reportedBefore reports whether an earlier process recorded an event for the notice: then the condition contains it.
func reportedBefore(service *corev1.Service, notice cloud.Notice) bool {
	condition, found := findCondition(service.Status.Conditions, string(notice.Topic))
	return found && condition.Status == metav1.ConditionFalse && strings.Contains(condition.Message, notice.Message)
}

// nodeNoticeDelay is the time for which a node may be left out without an event: a new node has no provider ID at
// first, and a node whose machine was deleted is removed soon.
const nodeNoticeDelay = time.Minute

// noticesOf returns the notices of the provider and those about the targets. New notices about nodes are delayed,
// unless the Service has changed.
func noticesOf(s *serviceState, req request, cause cause, found cloud.Comparison) []cloud.Notice {
	delayed := cause == causeNodes ||
		(cause == causeDrift && time.Since(cmp.Or(s.latestSeen().leftOut, time.Now())) < nodeNoticeDelay)
	fromProvider := slices.Clone(found.Notices)
	if delayed && slices.ContainsFunc(fromProvider, aboutNodes) {
		fromProvider = slices.DeleteFunc(fromProvider, aboutNodes)
		for _, before := range s.notices {
			if aboutNodes(before) && !slices.Contains(targetReasons(), before.Reason) {
				fromProvider = append(fromProvider, before)
			}
		}
	}
	return slices.Concat(fromProvider, targetNotices(req))
}

// aboutNodes reports whether the topic of a notice is the nodes.
func aboutNodes(notice cloud.Notice) bool { return notice.Topic == cloud.Nodes }

// targetReasons returns the reasons of targetNotices. No provider has them.
func targetReasons() []string {
	return []string{reasonNoReadyEndpoints, reasonEndpointsExcluded, reasonEndpointsNotRead, reasonNoNodeMatches,
		reasonUnavailable}
}

// targetNotices returns the notices about the targets of a Service.
func targetNotices(req request) []cloud.Notice {
	var notices []cloud.Notice
	add := func(reason, message string) {
		notices = append(notices, cloud.Notice{Topic: cloud.Nodes, Reason: reason, Message: message})
	}
	switch t := req.targets; {
	case t.LastResort:
		add(reasonEndpointsExcluded, fmt.Sprintf(textEndpointsExcluded, corev1.LabelNodeExcludeBalancers,
			event.Names(cloud.NodesOf(t.Serving))))
	case noEndpoints(t.NotKnown) != "":
		// The pods of a new Service need some time until they are ready.
		if len(req.service.Status.LoadBalancer.Ingress) > 0 {
			add(reasonNoReadyEndpoints, noEndpoints(t.NotKnown))
		}
	case t.NotKnown == cloud.EndpointsNotRead:
		add(reasonEndpointsNotRead, textEndpointsNotRead)
	case t.NotKnown == cloud.NoNodeMatches && helpers.RequestsOnlyLocalTraffic(req.service):
		add(reasonNoNodeMatches, textNoLocalNodeMatches)
	case t.NotKnown == cloud.NoNodeMatches:
		add(reasonNoNodeMatches, textNoNodeMatches)
	case len(t.Serving) == 0 && !t.Incomplete():
		add(reasonUnavailable, fmt.Sprintf(textUnavailable, corev1.LabelNodeExcludeBalancers))
	}
	return notices
}

// noEndpoints describes why no node of the cluster has a ready endpoint of a Service with the policy Local; "" if that
// is not the reason.
func noEndpoints(reason cloud.NotKnown) string {
	switch reason {
	case cloud.NoEndpointReady:
		return fmt.Sprintf(textNoReadyEndpoints, whyNoneReady, nextNoneReady)
	case cloud.EndpointsElsewhere:
		return fmt.Sprintf(textNoReadyEndpoints, whyElsewhere, nextNoneReady)
	case cloud.EndpointsNameless:
		return fmt.Sprintf(textNoReadyEndpoints, whyNameless, nextIfNameless)
	default:
		return ""
	}
}

// reportDeleting records one event when the deletion of a load balancer starts, or keeps the message for later if the
// load balancer is retained.
func (r *reconciler) reportDeleting(s *serviceState, service *corev1.Service, retains string) {
	if retains != "" {
		s.expect(reasonRetained, retains)
	} else if s.expect(reasonDeleted, textDeleted) {
		r.recorder.Event(service, corev1.EventTypeNormal, reasonDeleting, textDeleting)
	}
}

// reportDeleted records events when the Service has no load balancer any more: that it was deleted or retained, and the
// objects that stay in the cloud. Uncertain is the provider's message about objects that may be unmanaged.
func (r *reconciler) reportDeleted(s *serviceState, service *corev1.Service, uncertain string) {
	r.reportDue(s, service)
	if left := event.Sentences(append([]string{uncertain}, s.due.left...)...); left != "" {
		r.recorder.Event(service, corev1.EventTypeWarning, reasonLeft, left)
	}
}

// reportDrift records drift. It returns an error if drift is not reverted now.
func (r *reconciler) reportDrift(s *serviceState, service *corev1.Service, plan cloud.Plan) error {
	if r.behaviour.Drift == cloud.Off {
		return errDriftReported
	}
	what := summary(plan)
	if !s.drift.found || (r.behaviour.Drift == cloud.Report && s.drift.summary != what) {
		r.metrics.drifted(plan)
	}
	s.drift = drift{found: true, summary: what}
	if r.behaviour.Drift == cloud.Report {
		r.reportOnce(s, service, what, reasonDrifted, textDriftStays, what)
		return errDriftReported
	}
	if pause := s.repairPause(plan, cmp.Or(r.behaviour.DriftPeriod, repairInterval)); pause > 0 {
		r.reportNotRepaired(s, service, "", textRevertedAgain)
		return cloud.Reason{Err: errDriftReported, Until: pause, Reported: true}
	}
	r.reportOnce(s, service, "", reasonDrifted, textDriftReverts, what)
	return nil
}

// reportNotRepaired records an event about drift that is not reverted, and why.
func (r *reconciler) reportNotRepaired(s *serviceState, service *corev1.Service, object, why string) {
	r.reportOnce(s, service, object, reasonNotRepaired, textNotRepaired,
		event.Sentences(why, "It is retried automatically"))
}

// reportAddresses records an event if the status of the Service has other addresses than the load balancer. The
// addresses that this process published show which of the two changed. After a start it is not known.
func (r *reconciler) reportAddresses(s *serviceState, service *corev1.Service, status *corev1.LoadBalancerStatus) {
	published, has := comparableAddresses(service.Status.LoadBalancer, *status)
	if slices.Equal(published, has) {
		return
	}
	reason, text := reasonRepaired, textAddressesDiffer
	switch was, is := comparableAddresses(s.published, *status); {
	case len(is) == 0: // this process has published none, or hostnames instead of addresses
	case slices.Equal(was, is):
		reason, text = reasonOverwritten, textOverwritten
	default:
		published, has, text = was, is, textAddressesChange
	}
	r.recorder.Eventf(service, corev1.EventTypeWarning, reason, text, strings.Join(published, ", "),
		strings.Join(has, ", "))
}

// reportDue records the event that follows when the load balancer is in sync or deleted.
func (r *reconciler) reportDue(s *serviceState, service *corev1.Service) {
	if s.due.reason != "" {
		r.recorder.Event(service, corev1.EventTypeNormal, s.due.reason, s.due.message)
	}
}

// reportFailure records the error of a reconciliation. The same error becomes an event once for each step of the
// back-off, whatever caused the reconciliation.
func (r *reconciler) reportFailure(s *serviceState, service *corev1.Service, err error) {
	if cloud.ReasonOf(err).Reported {
		return
	}
	if !s.drift.found {
		if s.recordFailure(err.Error()) {
			r.recorder.Eventf(service, corev1.EventTypeWarning, reasonSyncFailed, textSyncFailed, err)
		}
		return
	}
	if transient, _ := r.provider.ClassifyError(err); !transient {
		r.reportNotRepaired(s, service, "", err.Error())
	}
}
