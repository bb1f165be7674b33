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

// Reasons of events that the service controller of k8s.io/cloud-provider has, too.
const (
	reasonEnsuring    = "EnsuringLoadBalancer"
	reasonEnsured     = "EnsuredLoadBalancer"
	reasonUpdated     = "UpdatedLoadBalancer"
	reasonDeleting    = "DeletingLoadBalancer"
	reasonDeleted     = "DeletedLoadBalancer"
	reasonSyncFailed  = "SyncLoadBalancerFailed"
	reasonUnavailable = "UnAvailableLoadBalancer"
)

// Reasons of our own.
const (
	reasonSlow    = "LoadBalancerSlow"
	reasonFailed  = "LoadBalancerFailed"
	reasonDrifted = "LoadBalancerDrifted"
	// reasonRepaired: it has other addresses than before.
	reasonRepaired = "LoadBalancerRepaired"
	// reasonNotRepaired: the cloud refuses what would put it right.
	reasonNotRepaired = "LoadBalancerNotRepaired"
	// reasonOrphaned: something in the cloud belongs to a Service that is not there any more.
	reasonOrphaned = "LoadBalancerOrphaned"
	// reasonEndpoints: there is no endpoint that traffic could go to.
	reasonEndpoints = "NoReadyEndpoints"
	// reasonExcluded: all endpoints that are ready are on nodes that load balancers leave out.
	reasonExcluded = "EndpointsOnExcludedNodes"
	// reasonUnread: nobody can read where the endpoints are.
	reasonUnread = "EndpointsNotRead"
	// reasonUnmatched: no node has the labels that the Service wants.
	reasonUnmatched = "NoNodeMatches"
	// reasonKept: the Service has no load balancer any more, and the cloud still has the one it had.
	reasonKept = "KeptLoadBalancer"
	// reasonLeft: something that may have been the Service's stays in the cloud.
	reasonLeft = "LoadBalancerLeft"
)

// tellOnce makes an event unless the same object of the cloud, "" for none, has been the reason of the same one since
// the Service's load balancer last served. It returns when that was made.
func (k *keeper) tellOnce(m *memory, service *corev1.Service, object, reason, message string, values ...any) time.Time {
	if before, told := m.told[reason]; told && before.object == object {
		return before.at
	}
	if m.told == nil {
		m.told = map[string]telling{}
	}
	now := time.Now()
	m.told[reason] = telling{object: object, at: now}
	k.recorder.Eventf(service, corev1.EventTypeWarning, reason, message, values...)
	return now
}

// tellNotices makes one event of each notice, unless the owner was told already. One that is gone and comes back is
// told again.
func (k *keeper) tellNotices(m *memory, service *corev1.Service, notices []cloud.Notice) {
	for i, notice := range notices {
		if !slices.Contains(m.notices, notice) && !slices.Contains(notices[:i], notice) &&
			!toldBefore(service, notice) {
			k.recorder.Event(service, corev1.EventTypeWarning, notice.Reason, notice.Message)
		}
	}
	m.notices, m.noticed = notices, true
}

// toldBefore says whether a process before this one has told the owner.
func toldBefore(service *corev1.Service, notice cloud.Notice) bool {
	condition, found := find(service.Status.Conditions, string(notice.Topic))
	return found && condition.Status == metav1.ConditionFalse && strings.Contains(condition.Message, notice.Message)
}

// nodeGrace is for how long a node may be left out before the owner is told: one that joins may take a moment to say
// which machine it is, and one whose machine is deleted goes itself.
const nodeGrace = time.Minute

// noticesOf are what the provider says about the Service, and what there is to say about its targets. Of nodes that the
// provider did not complain about before, nothing is said for a while, unless it is the Service that has changed.
func noticesOf(m *memory, w wish, cause cause, found cloud.Comparison) []cloud.Notice {
	early := cause == causeNodes || (cause == causeDrift && (m.leftOut.IsZero() || time.Since(m.leftOut) < nodeGrace))
	offered := slices.Clone(found.Notices)
	if early && slices.ContainsFunc(offered, ofNodes) {
		offered = slices.DeleteFunc(offered, ofNodes)
		for _, before := range m.offered {
			if ofNodes(before) {
				offered = append(offered, before)
			}
		}
	}
	m.offered = offered
	return slices.Concat(offered, targetNotices(w))
}

func ofNodes(notice cloud.Notice) bool { return notice.Topic == cloud.Nodes }

// targetNotices are what there is to say about a Service's targets as they were chosen.
func targetNotices(w wish) []cloud.Notice {
	var notices []cloud.Notice
	add := func(reason, message string) {
		notices = append(notices, cloud.Notice{Topic: cloud.Nodes, Reason: reason, Message: message})
	}
	// the pods of a new Service take their time
	if w.targets.NoEndpoints && w.targets.Incomplete && len(w.service.Status.LoadBalancer.Ingress) > 0 {
		add(reasonEndpoints, "No endpoint of this Service is ready, and its externalTrafficPolicy is Local: the "+
			"targets of the load balancer do not change, and they do not answer. Check the pods that the Service "+
			"selects.")
	}
	switch t := w.targets; {
	case t.LastResort:
		add(reasonExcluded, fmt.Sprintf("All ready endpoints of this Service are on nodes that are excluded by the "+
			"label %s, about to be removed or being deleted: %s. Its externalTrafficPolicy is Local, so no other "+
			"node can serve it, and the load balancer sends traffic to these nodes. Run the pods on other nodes, or "+
			"remove the label.",
			corev1.LabelNodeExcludeBalancers, list.Short(slices.Sorted(slices.Values(t.Names)))))
	case t.EndpointsElsewhere && !t.Unmatched && len(w.service.Status.LoadBalancer.Ingress) > 0:
		add(reasonEndpoints, "All ready endpoints of this Service are on nodes that are not in the cluster, and its "+
			"externalTrafficPolicy is Local: the targets of the load balancer do not change, and they do not answer. "+
			"Check the pods that the Service selects.")
	case t.EndpointsUnknown:
		add(reasonUnread, "The cloud controller manager cannot read the EndpointSlices of this Service, and its "+
			"externalTrafficPolicy is Local: the targets of the load balancer do not change. Permit it to list and "+
			"watch endpointslices of discovery.k8s.io, as the chart of its version does. If it has the permission, "+
			"see its log.")
	case t.Unmatched && helpers.RequestsOnlyLocalTraffic(w.service):
		add(reasonUnmatched, "No node with a ready endpoint of this Service matches its node selector, and its "+
			"externalTrafficPolicy is Local: the targets of the load balancer do not change. Change the selector, "+
			"label nodes, or run the pods on those that match.")
	case t.Unmatched:
		add(reasonUnmatched, "No available node matches the node selector of this Service: the targets of the load "+
			"balancer do not change. Change the selector, or label nodes.")
	case len(t.Identities) == 0 && !t.Incomplete:
		add(reasonUnavailable, fmt.Sprintf("There are no available nodes for LoadBalancer: every node is excluded by "+
			"the label %s, is about to be removed, or does not exist.", corev1.LabelNodeExcludeBalancers))
	}
	return notices
}

// tellRemoval says once that a load balancer is being deleted, unless it is left to others as the sentence says.
func (k *keeper) tellRemoval(m *memory, service *corev1.Service, handsOver string) {
	m.handsOver = handsOver
	if handsOver == "" && !m.removing {
		m.removing = true
		k.recorder.Event(service, corev1.EventTypeNormal, reasonDeleting, "Deleting load balancer")
	}
}

// tellGone says that the Service has no load balancer any more, if it had one, and what is left in the cloud: what the
// writes left there, and what may have been the Service's.
func (k *keeper) tellGone(m *memory, service *corev1.Service, uncertain string) {
	switch {
	case m.handsOver != "":
		k.recorder.Event(service, corev1.EventTypeNormal, reasonKept, m.handsOver)
	case m.removing:
		k.recorder.Event(service, corev1.EventTypeNormal, reasonDeleted, "Deleted load balancer")
	}
	left := m.left
	if uncertain != "" {
		left = append([]string{uncertain}, left...)
	}
	if len(left) > 0 {
		k.recorder.Event(service, corev1.EventTypeWarning, reasonLeft, strings.Join(left, " "))
	}
}

// tellDrift says what differs although nothing has changed in Kubernetes. The error is that it is not to be put right
// now.
func (k *keeper) tellDrift(m *memory, service *corev1.Service, plan cloud.Plan) error {
	if k.behaviour.Drift == cloud.Off {
		return errReported
	}
	what := summary(plan)
	if !m.repairing || (k.behaviour.Drift == cloud.Report && m.drift != what) {
		k.metrics.drifted(plan)
	}
	m.repairing, m.drift = true, what
	if k.behaviour.Drift == cloud.Report {
		k.tellOnce(m, service, m.drift, reasonDrifted,
			"The load balancer of this Service was changed in the cloud. As configured, the change is not reverted "+
				"until the Service or its nodes change. The difference: %s.", m.drift)
		return errReported
	}
	k.tellRepair(m, service, what)
	return nil
}

// maxRepairs is how often the same repair is told before it counts as one that somebody undoes.
const maxRepairs = 3

// tellRepair says that drift is being put right, unless it is the same again and again.
func (k *keeper) tellRepair(m *memory, service *corev1.Service, what string) {
	if _, begun := m.told[reasonDrifted]; begun {
		return
	}
	if m.repair.what != what {
		m.repair = repair{what: what}
	}
	message := "The load balancer of this Service was changed in the cloud. The change is being reverted: %s. To " +
		"configure the load balancer, change the Service."
	switch m.repair.times++; {
	case m.repair.times > maxRepairs:
		return
	case m.repair.times == maxRepairs:
		message = "The load balancer of this Service was changed in the cloud for the third time in the same way. " +
			"The change is being reverted: %s. It will be reverted each time, without further events. Find out which " +
			"user or program makes the change. To configure the load balancer, change the Service."
	}
	k.tellOnce(m, service, "", reasonDrifted, message, what)
}

// tellAddresses says that the load balancer has other addresses than it had.
func (k *keeper) tellAddresses(service *corev1.Service, status *corev1.LoadBalancerStatus) {
	before, after := reachedBy(service.Status.LoadBalancer, *status)
	if !slices.Equal(before, after) {
		k.recorder.Eventf(service, corev1.EventTypeWarning, reasonRepaired,
			"The addresses of the load balancer changed from %s to %s. Update DNS, if that is not automated.",
			strings.Join(before, ", "), strings.Join(after, ", "))
	}
}

// tellArrival says that the load balancer is as it should be, if it was not before.
func (k *keeper) tellArrival(m *memory, service *corev1.Service, cause cause) {
	switch {
	case m.ensuring:
		k.recorder.Event(service, corev1.EventTypeNormal, reasonEnsured, "Ensured load balancer")
	case m.changed && cause == causeNodes:
		k.recorder.Event(service, corev1.EventTypeNormal, reasonUpdated, "Updated load balancer with new hosts")
	}
}

// tellFailure says why a Service's load balancer is not what it should be: once for each step of the back-off, whoever
// caused the look.
func (k *keeper) tellFailure(m *memory, service *corev1.Service, err error) {
	_, refused := errors.AsType[refusal](err)
	if _, told := errors.AsType[cloud.Reported](err); refused || told {
		return
	}
	if !m.repairing {
		if m.failure.due(err.Error()) {
			k.recorder.Eventf(service, corev1.EventTypeWarning, reasonSyncFailed, "Error syncing load balancer: %v",
				err)
		}
		return
	}
	if passing, _ := k.provider.ClassifyError(err); !passing {
		k.tellOnce(m, service, "", reasonNotRepaired,
			"The load balancer of this Service was changed in the cloud, and reverting the change failed: %v. It is "+
				"retried automatically.", err)
	}
}

// due says whether a failure is to be told: another one at once, the same ever more rarely.
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
