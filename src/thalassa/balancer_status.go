package thalassa

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// serves says whether the load balancer is ready and has an address.
func serves(balancer inventory.LoadBalancer) bool {
	return strings.EqualFold(balancer.Status, statusReady) && len(balancer.ExternalAddresses) > 0
}

// statusOf publishes each address with the load balancer's hostname. The mode is Proxy: nodes must not short-cut the address
// to the pods, because the load balancer may add a PROXY header and limits of its own.
func statusOf(balancer inventory.LoadBalancer) *corev1.LoadBalancerStatus {
	status := &corev1.LoadBalancerStatus{}
	mode := corev1.LoadBalancerIPModeProxy
	for _, address := range balancer.ExternalAddresses {
		status.Ingress = append(status.Ingress, corev1.LoadBalancerIngress{IP: address, Hostname: balancer.Hostname, IPMode: &mode})
	}
	return status
}

// pending says that the load balancer is not ready, and when to look again. When that takes longer than configured it tells
// the Service's owner once, and goes on.
func (b *balancers) pending(service *corev1.Service, balancer inventory.LoadBalancer) error {
	limit := b.config.LoadBalancer.pollTimeout()
	if time.Since(balancer.CreatedAt) > limit {
		if _, told := b.slow.LoadOrStore(service.UID, true); !told {
			b.recorder.Eventf(service, corev1.EventTypeWarning, reasonSlow,
				"Load balancer %s is still %q after %s; if that does not change soon, ask the cloud's support about it. This is looked at every %s, nothing needs to be done in the cluster.",
				balancer.Name, balancer.Status, limit, b.config.LoadBalancer.pollInterval())
		}
	}
	message := fmt.Sprintf("load balancer %s is not ready yet, its status is %q", balancer.Name, balancer.Status)
	return api.NewRetryError(message, b.config.LoadBalancer.pollInterval())
}

// tellProblems makes one event of each annotation that cannot be used.
func (b *balancers) tellProblems(service *corev1.Service, problems []string) {
	for _, problem := range problems {
		b.recorder.Event(service, corev1.EventTypeWarning, reasonAnnotation, problem)
	}
	if asked := restrictionOf(service); asked != "" {
		b.recorder.Eventf(service, corev1.EventTypeWarning, reasonRestriction,
			"%s cannot be applied by this version yet: no port is opened because of it, and ports that are open already stay as they are.", asked)
	}
}
