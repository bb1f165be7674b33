package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/loadbalancer"
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
)

// tellOnce makes an event unless the same object of the cloud, "" for none, has been the reason of the same one since the Service's
// load balancer last served. It returns when that was made.
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

// tellNotices makes one event of each notice, unless the owner was told already.
func (k *keeper) tellNotices(m *memory, service *corev1.Service, notices []loadbalancer.Notice) {
	for _, notice := range notices {
		if !slices.Contains(m.notices, notice) {
			k.recorder.Event(service, corev1.EventTypeWarning, notice.Reason, notice.Message)
		}
	}
	m.notices = notices
}

// notices are what the provider says about the Service, and what there is to say about its targets. Nodes that were not complained
// about before are not, either, when it is the nodes that changed: one that joins may take a moment to say which machine it is, and
// one whose machine is deleted goes itself. If that lasts, the next look for drift tells it.
func noticesOf(m *memory, w wish, cause cause, found loadbalancer.Comparison) []loadbalancer.Notice {
	var notices []loadbalancer.Notice
	for _, notice := range found.Notices {
		if cause != causeNodes || notice.Topic != loadbalancer.Nodes || slices.Contains(m.notices, notice) {
			notices = append(notices, notice)
		}
	}
	switch {
	case w.targets.Endless && len(w.service.Status.LoadBalancer.Ingress) > 0: // the pods of a new Service take their time
		notices = append(notices, loadbalancer.Notice{Topic: loadbalancer.Nodes, Reason: reasonEndpoints,
			Message: "No endpoint of this Service is ready, and its externalTrafficPolicy is Local: the load balancer keeps the nodes that it has, and nobody answers there. Look at the pods that the Service selects."})
	case len(w.targets.Identities) == 0 && !w.targets.Incomplete:
		notices = append(notices, loadbalancer.Notice{Topic: loadbalancer.Nodes, Reason: reasonUnavailable,
			Message: fmt.Sprintf("There are no available nodes for LoadBalancer: every node is excluded by the label %s, about to be removed, or not there.", corev1.LabelNodeExcludeBalancers)})
	}
	return notices
}

// tellDrift says what differs although nothing has changed in Kubernetes. The error is that it is not to be put right now.
func (k *keeper) tellDrift(m *memory, service *corev1.Service, plan loadbalancer.Plan) error {
	m.repairing, m.drift = true, summary(plan)
	if k.behaviour.Drift == loadbalancer.Report {
		k.tellOnce(m, service, m.drift, reasonDrifted,
			"What this Service has in the cloud is not what it should have, without a change in Kubernetes. As configured it is left as it is until the Service or its nodes change: %s.", m.drift)
		return errReported
	}
	k.tellOnce(m, service, "", reasonDrifted,
		"What this Service has in the cloud is not what it should have, without a change in Kubernetes. It is being put right: %s. To change it, change the Service.", m.drift)
	return nil
}

// tellArrival says that the load balancer is as it should be, if it was not before.
func (k *keeper) tellArrival(m *memory, w wish, cause cause, status *corev1.LoadBalancerStatus) {
	before, after := addressesOf(w.service.Status.LoadBalancer), addressesOf(*status)
	if len(before) > 0 && !slices.Equal(before, after) {
		k.recorder.Eventf(w.service, corev1.EventTypeWarning, reasonRepaired,
			"The load balancer has other addresses now: %s became %s. Point DNS at them, if that is not done automatically.",
			strings.Join(before, ", "), strings.Join(after, ", "))
	}
	switch {
	case m.ensuring:
		k.recorder.Event(w.service, corev1.EventTypeNormal, reasonEnsured, "Ensured load balancer")
	case m.changed && cause == causeNodes:
		k.recorder.Event(w.service, corev1.EventTypeNormal, reasonUpdated, "Updated load balancer with new hosts")
	}
}

// tellFailure says why a Service's load balancer is not what it should be. It is called once for each step of the back-off.
func (k *keeper) tellFailure(m *memory, service *corev1.Service, err error) {
	m.message = err.Error()
	if _, told := errors.AsType[refusal](err); told {
		return
	}
	if m.cause != causeDrift {
		k.recorder.Eventf(service, corev1.EventTypeWarning, reasonSyncFailed, "Error syncing load balancer: %v", err)
		return
	}
	if passing, _ := k.provider.Judge(err); !passing {
		k.tellOnce(m, service, "", reasonNotRepaired,
			"What this Service has in the cloud is not what it should have, without a change in Kubernetes, and putting it right fails: %v. It is tried again.", err)
	}
}
