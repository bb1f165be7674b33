package thalassa

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// published are the addresses that the Service is reached by: none until the load balancer is ready. The internal ones count only
// for a Service that asks for no others; for a public one they may be there before the public ones are.
func published(service *corev1.Service, balancer inventory.LoadBalancer) []string {
	internal, _ := strconv.ParseBool(service.Annotations[annotationPrefix+"internal"])
	switch {
	case !strings.EqualFold(balancer.Status, statusReady) && !strings.EqualFold(balancer.Status, statusUpdating):
		return nil
	case internal && len(balancer.ExternalAddresses) == 0:
		return balancer.InternalAddresses
	}
	return balancer.ExternalAddresses
}

func serves(service *corev1.Service, balancer inventory.LoadBalancer) bool {
	return len(published(service, balancer)) > 0
}

// statusOf publishes each address with the load balancer's hostname. The mode is Proxy: nodes must not short-cut the address
// to the pods, because the load balancer may add a PROXY header and limits of its own.
func statusOf(service *corev1.Service, balancer inventory.LoadBalancer) *corev1.LoadBalancerStatus {
	status := &corev1.LoadBalancerStatus{}
	mode := corev1.LoadBalancerIPModeProxy
	for _, address := range published(service, balancer) {
		status.Ingress = append(status.Ingress, corev1.LoadBalancerIngress{IP: address, Hostname: balancer.Hostname, IPMode: &mode})
	}
	return status
}

// latest returns the load balancer as it is now; an *api.RetryError when it is gone.
func (b *balancers) latest(ctx context.Context, service *corev1.Service, balancer inventory.LoadBalancer) (inventory.LoadBalancer, error) {
	latest, err := b.balancersOf(ctx, service, b.fresh())
	if err != nil {
		return inventory.LoadBalancer{}, err
	}
	i := slices.IndexFunc(latest, func(lb inventory.LoadBalancer) bool { return lb.ID == balancer.ID })
	if i < 0 {
		message := fmt.Sprintf("load balancer %s is gone, which was not this cluster's doing; a new one follows", balancer.Name)
		return inventory.LoadBalancer{}, api.NewRetryError(message, b.config.LoadBalancer.pollInterval())
	}
	return latest[i], nil
}

// maxPollPause is the longest pause between two looks at a load balancer that failed, or takes too long: nobody waits for the second.
const maxPollPause = time.Minute

// pending says that the load balancer is not ready, and when to look again. When it failed, or takes longer than configured, it
// tells the Service's owner once, and goes on looking, ever more rarely.
func (b *balancers) pending(service *corev1.Service, balancer inventory.LoadBalancer) error {
	// What counts is how long it is waited for: it may have served for months before.
	limit, told := b.config.LoadBalancer.pollTimeout(), time.Now()
	switch {
	case failed(balancer):
		told = b.tellOnce(service, balancer.ID, reasonFailed,
			"The cloud could not make load balancer %s work: its status is %q. Ask the cloud's support why, or delete it in the cloud: a new one follows by itself.",
			balancer.Name, balancer.Status)
	case time.Since(b.waitedSince(service, balancer)) > limit:
		told = b.tellOnce(service, balancer.ID, reasonSlow,
			"Load balancer %s is still %q after %s; if that does not change soon, ask the cloud's support about it. It is looked at again by itself, nothing needs to be done in the cluster.",
			balancer.Name, balancer.Status, limit)
	}
	message := fmt.Sprintf("load balancer %s is not ready yet, its status is %q", balancer.Name, balancer.Status)
	return api.NewRetryError(message, b.pollPause(time.Since(told)))
}

// pollPause is how long to wait for a load balancer that nobody expects soon, or of which its owner was told that it fails or takes too
// long, since so long ago: as long again, so that pauses double, within bounds.
func (b *balancers) pollPause(since time.Duration) time.Duration {
	interval := b.config.LoadBalancer.pollInterval()
	return min(max(since, interval), max(interval, maxPollPause))
}

// wait is what is waited for: that a load balancer serves, or that it is gone.
type wait struct {
	balancer string // identity
	deleting bool
	since    time.Time
}

// waitedSince is since when the Service's load balancer is waited for: since it was first seen as it is, whenever it was made.
func (b *balancers) waitedSince(service *corev1.Service, balancer inventory.LoadBalancer) time.Time {
	now := wait{balancer: balancer.ID, deleting: balancer.Deleting(), since: time.Now()}
	if known, waiting := b.waits.Load(service.UID); waiting {
		if known, ok := known.(wait); ok && known.balancer == now.balancer && known.deleting == now.deleting {
			return known.since
		}
	}
	b.waits.Store(service.UID, now)
	return now.since
}

// failed says that the cloud has given up on the load balancer; which word it uses is not documented.
func failed(balancer inventory.LoadBalancer) bool {
	return strings.EqualFold(balancer.Status, "failed") || strings.EqualFold(balancer.Status, "error")
}

// telling is the latest event about a Service's load balancer.
type telling struct {
	balancer string // identity; "" when it is not about one
	reason   string
	at       time.Time
}

// tellOnce makes an event unless the same load balancer, "" for none, has been the reason of the same one since the Service's last
// served. It returns when that was made.
func (b *balancers) tellOnce(service *corev1.Service, balancer, reason, message string, values ...any) time.Time {
	if latest, told := b.told.Load(service.UID); told {
		if latest, ok := latest.(telling); ok && latest.reason == reason && latest.balancer == balancer {
			return latest.at
		}
	}
	now := time.Now()
	b.told.Store(service.UID, telling{balancer: balancer, reason: reason, at: now})
	b.recorder.Eventf(service, corev1.EventTypeWarning, reason, message, values...)
	return now
}

// tellProblems makes one event of each annotation that cannot be used, unless these are the same as the last time: a Service is looked
// at every few seconds while its load balancer is being made.
func (b *balancers) tellProblems(service *corev1.Service, problems []string) {
	all := strings.Join(append(slices.Clone(problems), restrictionOf(service)), "\n")
	if latest, told := b.problems.Swap(service.UID, all); told && latest == all {
		return
	}
	for _, problem := range problems {
		b.recorder.Event(service, corev1.EventTypeWarning, reasonAnnotation, problem)
	}
	if asked := restrictionOf(service); asked != "" {
		b.recorder.Eventf(service, corev1.EventTypeWarning, reasonRestriction,
			"%s cannot be applied by this version yet: no port is opened because of it, and ports that are open already stay as they are.", asked)
	}
}
