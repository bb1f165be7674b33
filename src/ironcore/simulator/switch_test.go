package simulator

import (
	"testing"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestSpecThroughStatus(t *testing.T) {
	for _, ignored := range []bool{false, true} {
		r := newRig(t, Options{SpecIgnored: ignored})
		r.createBalancer("lb", unchanged)
		_, err := r.clients.LoadBalancers.Patch(t.Context(), "lb", types.MergePatchType,
			[]byte(`{"spec": {"ports": [{"port": 81}]}}`), metav1.PatchOptions{}, "status")
		want(t, "error", err, nil)
		lb, _ := r.LoadBalancer("lb")
		want(t, "port", lb.Spec.Ports[0].Port, map[bool]int32{false: 81, true: 80}[ignored])
	}
}

// TestDefaultFamilies: the IP families of a load balancer follow from its addresses.
func TestDefaultFamilies(t *testing.T) {
	r := newRig(t, Options{})
	r.createBalancer("internal", func(lb *networkingv1alpha1.LoadBalancer) {
		internal(corev1.IPv4Protocol)(lb)
		lb.Spec.IPFamilies = nil
		lb.Spec.IPs[0] = networkingv1alpha1.IPSource{Value: commonv1alpha1.NewIPPtr(parse(r, "10.0.0.1"))}
	})
	lb, _ := r.LoadBalancer("internal")
	want(t, "IP families", len(lb.Spec.IPFamilies), 1)
}
