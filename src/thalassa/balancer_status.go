package thalassa

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/loadbalancer"
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
func statusOf(service *corev1.Service, balancer inventory.LoadBalancer) corev1.LoadBalancerStatus {
	status := corev1.LoadBalancerStatus{}
	mode := corev1.LoadBalancerIPModeProxy
	for _, address := range published(service, balancer) {
		status.Ingress = append(status.Ingress, corev1.LoadBalancerIngress{IP: address, Hostname: balancer.Hostname, IPMode: &mode})
	}
	return status
}

// waitFor is waiting for a load balancer that does not serve.
func waitFor(balancer inventory.LoadBalancer) *loadbalancer.Wait {
	return &loadbalancer.Wait{
		Object: balancer.ID, Name: kindBalancer + " " + balancer.Name, Status: balancer.Status, Failed: failed(balancer),
		Message: fmt.Sprintf("load balancer %s is not ready yet, its status is %q", balancer.Name, balancer.Status),
	}
}

// failed says that the cloud has given up on the load balancer; which word it uses is not documented.
func failed(balancer inventory.LoadBalancer) bool {
	return strings.EqualFold(balancer.Status, "failed") || strings.EqualFold(balancer.Status, "error")
}
