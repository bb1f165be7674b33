package balancer

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// TestPublishedAddressInAnotherSpelling recognises the load balancer: addresses are published in the spelling of
// Kubernetes, and not in that of the cloud.
func TestPublishedAddressInAnotherSpelling(t *testing.T) {
	for _, tt := range []struct {
		published corev1.LoadBalancerIngress
		shown     resource.LoadBalancer
	}{
		{corev1.LoadBalancerIngress{Hostname: "lb.example.com"}, resource.LoadBalancer{Hostname: "LB.example.com."}},
		{corev1.LoadBalancerIngress{Hostname: "LB.example.com."}, resource.LoadBalancer{Hostname: "lb.example.com"}},
		{corev1.LoadBalancerIngress{IP: "2001:db8::1"},
			resource.LoadBalancer{ExternalAddresses: []string{"2001:DB8:0:0::1"}}},
	} {
		web := service("web", 80)
		web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{tt.published}
		tt.shown.Name = cloudprovider.DefaultLoadBalancerName(web)
		found := NewConfig(cloudconfig.Default()).TraitsOf(web).Recognise([]resource.LoadBalancer{tt.shown})
		if len(found.certain) != 1 {
			t.Errorf("%v is published: the load balancer with %q is not recognised", tt.published,
				tt.shown.Addresses())
		}
	}
}
