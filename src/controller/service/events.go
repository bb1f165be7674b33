package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/list"
)

// Reasons of events that the service controller of k8s.io/cloud-provider also has.
const (
	reasonEnsuring    = "EnsuringLoadBalancer"
	reasonEnsured     = "EnsuredLoadBalancer"
	reasonUpdated     = "UpdatedLoadBalancer"
	reasonDeleting    = "DeletingLoadBalancer"
	reasonDeleted     = "DeletedLoadBalancer"
	reasonSyncFailed  = "SyncLoadBalancerFailed"
	reasonUnavailable = "UnAvailableLoadBalancer"
)

// Reasons that only this controller has.
const (
	reasonSlow    = "LoadBalancerSlow"
	reasonFailed  = "LoadBalancerFailed"
	reasonDrifted = "LoadBalancerDrifted"
	// reasonRepaired: the addresses of the load balancer changed.
	reasonRepaired = "LoadBalancerRepaired"
	// reasonOverwritten: another program replaced the addresses in the status.
	reasonOverwritten = "StatusOverwritten"
	// reasonNotRepaired: reverting drift failed.
	reasonNotRepaired = "LoadBalancerNotRepaired"
	// reasonOrphaned: an object in the cloud belongs to a Service that does not exist any more.
	reasonOrphaned = "LoadBalancerOrphaned"
	// reasonForeign: objects have the key of this cluster, and another cluster has made them.
	reasonForeign = "LoadBalancerOfAnotherCluster"
	// reasonNoReadyEndpoints: there is no endpoint that can receive traffic.
	reasonNoReadyEndpoints = "NoReadyEndpoints"
	// reasonEndpointsExcluded: all ready endpoints are on nodes that are excluded from load balancers.
	reasonEndpointsExcluded = "EndpointsOnExcludedNodes"
	// reasonEndpointsNotRead: EndpointSlices cannot be read.
	reasonEndpointsNotRead = "EndpointsNotRead"
	// reasonNoNodeMatches: no node matches the node selector of the Service.
	reasonNoNodeMatches = "NoNodeMatches"
	// reasonRetained: the Service has no load balancer any more, and the load balancer still exists in the cloud.
	reasonRetained = "KeptLoadBalancer"
	// reasonAddressInvalid: the API server does not accept an address of the load balancer.
	reasonAddressInvalid = "LoadBalancerAddressInvalid"
	// reasonLeft: objects that may belong to the Service stay in the cloud.
	reasonLeft = "LoadBalancerLeft"
)

// reportOnce records an event, unless there was an event with the same reason and object since the load balancer was
// last in sync. Object is the identity in the cloud, or "". It returns the time of the event.
func (r *reconciler) reportOnce(s *serviceState, service *corev1.Service, object, reason, message string,
	values ...any) time.Time {
	if before, reported := s.events[reason]; reported && before.object == object {
		return before.at
	}
	if s.events == nil {
		s.events = map[string]sentEvent{}
	}
	now := time.Now()
	s.events[reason] = sentEvent{object: object, at: now}
	r.recorder.Eventf(service, corev1.EventTypeWarning, reason, message, values...)
	return now
}

// reportNotices records one event for each new notice. A notice that ended and returns is new.
func (r *reconciler) reportNotices(s *serviceState, service *corev1.Service, notices []cloud.Notice) {
	for i, notice := range notices {
		if !slices.Contains(s.notices, notice) && !slices.Contains(notices[:i], notice) &&
			!reportedBefore(service, notice) {
			r.recorder.Event(service, corev1.EventTypeWarning, notice.Reason, notice.Message)
		}
	}
	s.notices, s.noticesKnown = notices, true
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
		(cause == causeDrift && (s.leftOutSince.IsZero() || time.Since(s.leftOutSince) < nodeNoticeDelay))
	fromProvider := slices.Clone(found.Notices)
	if delayed && slices.ContainsFunc(fromProvider, aboutNodes) {
		fromProvider = slices.DeleteFunc(fromProvider, aboutNodes)
		for _, before := range s.providerNotices {
			if aboutNodes(before) {
				fromProvider = append(fromProvider, before)
			}
		}
	}
	s.providerNotices = fromProvider
	return slices.Concat(fromProvider, targetNotices(req))
}

// aboutNodes reports whether the topic of a notice is the nodes.
func aboutNodes(notice cloud.Notice) bool { return notice.Topic == cloud.Nodes }

// targetNotices returns the notices about the targets of a Service.
func targetNotices(req request) []cloud.Notice {
	var notices []cloud.Notice
	add := func(reason, message string) {
		notices = append(notices, cloud.Notice{Topic: cloud.Nodes, Reason: reason, Message: message})
	}
	// The pods of a new Service need some time until they are ready.
	if req.targets.NoEndpoints && req.targets.Incomplete && len(req.service.Status.LoadBalancer.Ingress) > 0 {
		add(reasonNoReadyEndpoints, noEndpoints(req.targets))
	}
	switch t := req.targets; {
	case t.LastResort:
		add(reasonEndpointsExcluded, fmt.Sprintf("All ready endpoints of this Service are on nodes that are excluded "+
			"by the label %s, about to be removed or being deleted: %s. Its externalTrafficPolicy is Local, so no "+
			"other node can serve it, and the load balancer sends traffic to these nodes. Run the pods on other "+
			"nodes, or remove the label.",
			corev1.LabelNodeExcludeBalancers, list.Short(slices.Sorted(slices.Values(t.Names)))))
	case t.EndpointsElsewhere && !t.Unmatched && len(req.service.Status.LoadBalancer.Ingress) > 0:
		add(reasonNoReadyEndpoints, noEndpoints(t))
	case t.EndpointsUnknown:
		add(reasonEndpointsNotRead, "The cloud controller manager cannot read the EndpointSlices of this Service, "+
			"and its externalTrafficPolicy is Local: the targets of the load balancer do not change. Permit it to "+
			"list and watch endpointslices of discovery.k8s.io, as the chart of its version does. If it has the "+
			"permission, see its log.")
	case t.Unmatched && helpers.RequestsOnlyLocalTraffic(req.service):
		add(reasonNoNodeMatches, "No node with a ready endpoint of this Service matches its node selector, and its "+
			"externalTrafficPolicy is Local: the targets of the load balancer do not change. Change the selector, "+
			"label nodes, or run the pods on those that match.")
	case t.Unmatched:
		add(reasonNoNodeMatches, "No available node matches the node selector of this Service: the targets of the "+
			"load balancer do not change. Change the selector, or label nodes.")
	case len(t.Identities) == 0 && !t.Incomplete:
		add(reasonUnavailable, fmt.Sprintf("There are no available nodes for LoadBalancer: every node is excluded by "+
			"the label %s, is about to be removed, is of another cloud, or does not exist.",
			corev1.LabelNodeExcludeBalancers))
	}
	return notices
}

// noEndpoints describes why no node of the cluster has a ready endpoint of a Service with the policy Local.
func noEndpoints(t cloud.Targets) string {
	why, next := "No endpoint of this Service is ready", "Check the pods that the Service selects"
	switch {
	case t.Nameless:
		why = "Endpoints of this Service are ready, but its EndpointSlices name no node of the cluster for them"
		next = "Set nodeName of these endpoints, or set externalTrafficPolicy to Cluster"
	case t.EndpointsElsewhere:
		why = "All ready endpoints of this Service are on nodes that are not in the cluster or not of this cloud"
	}
	return list.Sentences(why+", and its externalTrafficPolicy is Local: the targets of the load balancer do not "+
		"change, and they do not answer", next)
}

// reportDeleting records one event when the deletion of a load balancer starts, or keeps the message for later if the
// load balancer is retained.
func (r *reconciler) reportDeleting(s *serviceState, service *corev1.Service, retains string) {
	s.retains = retains
	if retains == "" && !s.deleting {
		s.deleting = true
		r.recorder.Event(service, corev1.EventTypeNormal, reasonDeleting, "Deleting load balancer")
	}
}

// reportDeleted records events when the Service has no load balancer any more: that it was deleted or retained, and the
// objects that stay in the cloud. Uncertain is the provider's message about objects that may be unmanaged.
func (r *reconciler) reportDeleted(s *serviceState, service *corev1.Service, uncertain string) {
	switch {
	case s.retains != "":
		r.recorder.Event(service, corev1.EventTypeNormal, reasonRetained, s.retains)
	case s.deleting:
		r.recorder.Event(service, corev1.EventTypeNormal, reasonDeleted, "Deleted load balancer")
	}
	if left := list.Sentences(append([]string{uncertain}, s.left...)...); left != "" {
		r.recorder.Event(service, corev1.EventTypeWarning, reasonLeft, left)
	}
}

// reportDrift records drift. It returns an error if drift is not reverted now.
func (r *reconciler) reportDrift(s *serviceState, service *corev1.Service, plan cloud.Plan) error {
	if r.behaviour.Drift == cloud.Off {
		return errDriftReported
	}
	what := summary(plan)
	if !s.drifted || (r.behaviour.Drift == cloud.Report && s.driftSummary != what) {
		r.metrics.drifted(plan)
	}
	s.drifted, s.driftSummary = true, what
	if r.behaviour.Drift == cloud.Report {
		r.reportOnce(s, service, s.driftSummary, reasonDrifted,
			"The load balancer of this Service was changed in the cloud. As configured, the change is not reverted "+
				"until the Service or its nodes change. The difference: %s.", s.driftSummary)
		return errDriftReported
	}
	r.reportRepair(s, service, what)
	return nil
}

// reportLastingDrift records an event about drift that cannot be reverted now, and why, unless drift is ignored.
func (r *reconciler) reportLastingDrift(s *serviceState, service *corev1.Service, object, why string) {
	if r.behaviour.Drift != cloud.Off {
		r.reportOnce(s, service, object, reasonDrifted,
			"The load balancer of this Service was changed in the cloud, and the change cannot be reverted now: %s",
			list.Sentences(why))
	}
}

// maxRepairs is the number of times that the same repair is reported. The last event also recommends to find the
// user or program that makes the change.
const maxRepairs = 3

// reportRepair records an event when drift is reverted, unless the same drift was reverted too often.
func (r *reconciler) reportRepair(s *serviceState, service *corev1.Service, what string) {
	if _, reported := s.events[reasonDrifted]; reported {
		return
	}
	if s.repair.summary != what {
		s.repair = repair{summary: what}
	}
	message := "The load balancer of this Service was changed in the cloud. The change is being reverted: %s. To " +
		"configure the load balancer, change the Service."
	switch s.repair.times++; {
	case s.repair.times > maxRepairs:
		return
	case s.repair.times == maxRepairs:
		message = "The load balancer of this Service was changed in the cloud for the third time in the same way. " +
			"The change is being reverted: %s. It will be reverted each time, without further events. Find out which " +
			"user or program makes the change. To configure the load balancer, change the Service."
	}
	r.reportOnce(s, service, "", reasonDrifted, message, what)
}

// reportAddresses records an event if the status of the Service has other addresses than the load balancer. The
// addresses that this process published show which of the two changed. After a start it is not known.
func (r *reconciler) reportAddresses(s *serviceState, service *corev1.Service, status *corev1.LoadBalancerStatus) {
	published, has := comparableAddresses(service.Status.LoadBalancer, *status)
	if slices.Equal(published, has) {
		return
	}
	reason, text := reasonRepaired, "The status of this Service had the addresses %s, and the load balancer has %s, "+
		"which are published now. Update DNS, if that is not automated."
	switch was, is := comparableAddresses(s.published, *status); {
	case len(is) == 0: // this process has published none, or hostnames instead of addresses
	case slices.Equal(was, is):
		reason, text = reasonOverwritten, "Another program wrote the addresses %s into the status of this Service. "+
			"The load balancer still has %s, which are published again. Find out which program it is: kubectl get "+
			"service --output yaml --show-managed-fields names it."
	default:
		published, has = was, is
		text = "The addresses of the load balancer changed from %s to %s. Update DNS, if that is not automated."
	}
	r.recorder.Eventf(service, corev1.EventTypeWarning, reason, text, strings.Join(published, ", "),
		strings.Join(has, ", "))
}

// reportInSync records an event when the load balancer has become ready after writes.
func (r *reconciler) reportInSync(s *serviceState, service *corev1.Service, cause cause) {
	switch {
	case s.ensuring:
		r.recorder.Event(service, corev1.EventTypeNormal, reasonEnsured, "Ensured load balancer")
	case s.written && cause == causeNodes:
		r.recorder.Event(service, corev1.EventTypeNormal, reasonUpdated, "Updated load balancer with new hosts")
	}
}

// reportFailure records the error of a reconciliation. The same error becomes an event once for each step of the
// back-off, whatever caused the reconciliation.
func (r *reconciler) reportFailure(s *serviceState, service *corev1.Service, err error) {
	_, refused := errors.AsType[reportedRefusal](err)
	if _, reported := errors.AsType[cloud.Reported](err); refused || reported {
		return
	}
	if !s.drifted {
		if s.failure.due(err.Error()) {
			r.recorder.Eventf(service, corev1.EventTypeWarning, reasonSyncFailed, "Error syncing load balancer: %v",
				err)
		}
		return
	}
	if transient, _ := r.provider.ClassifyError(err); !transient {
		r.reportOnce(s, service, "", reasonNotRepaired,
			"The load balancer of this Service was changed in the cloud, and reverting the change failed: %s",
			list.Sentences(err.Error(), "It is retried automatically"))
	}
}

// due reports whether a failure becomes an event: a different one at once, the same one with increasing intervals.
func (f *failure) due(text string) bool {
	now := time.Now()
	switch {
	case f.text != text:
		*f = failure{text: text, at: now, pause: minRetryDelay}
		return true
	case now.Sub(f.at) < f.pause:
		return false
	}
	f.at, f.pause = now, min(2*f.pause, maxRetryDelay)
	return true
}
