package thalassa

import (
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

// pending says that the load balancer is not ready, and when to look again. When it failed, or takes longer than configured, it
// tells the Service's owner once, and goes on looking.
func (b *balancers) pending(service *corev1.Service, balancer inventory.LoadBalancer) error {
	interval, limit := b.config.LoadBalancer.pollInterval(), b.config.LoadBalancer.pollTimeout()
	switch {
	case failed(balancer):
		b.tellOnce(service, reasonFailed,
			"The cloud could not make load balancer %s work: its status is %q. Ask the cloud's support why, or delete it in the cloud: a new one follows by itself.",
			balancer.Name, balancer.Status)
	case time.Since(balancer.CreatedAt) > limit:
		b.tellOnce(service, reasonSlow,
			"Load balancer %s is still %q after %s; if that does not change soon, ask the cloud's support about it. This is looked at every %s, nothing needs to be done in the cluster.",
			balancer.Name, balancer.Status, limit, interval)
	}
	message := fmt.Sprintf("load balancer %s is not ready yet, its status is %q", balancer.Name, balancer.Status)
	return api.NewRetryError(message, interval)
}

// failed says that the cloud has given up on the load balancer; which word it uses is not documented.
func failed(balancer inventory.LoadBalancer) bool {
	return strings.EqualFold(balancer.Status, "failed") || strings.EqualFold(balancer.Status, "error")
}

// tellOnce makes an event unless the Service's load balancer has been the reason of the same one since it last served.
func (b *balancers) tellOnce(service *corev1.Service, reason, message string, values ...any) {
	if latest, told := b.told.Swap(service.UID, reason); !told || latest != reason {
		b.recorder.Eventf(service, corev1.EventTypeWarning, reason, message, values...)
	}
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
