package service

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestClaim: whose a Service is, by its type, its class, its finalizer, whether it is being deleted, and what is
// configured.
func TestClaim(t *testing.T) {
	const none, ours, theirs = "", "example.com/ours", "example.com/theirs"
	balanced, internal := corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeClusterIP
	everybody, only, unclassed := cloud.LoadBalancerBehaviour{Class: ours}, cloud.LoadBalancerBehaviour{Class: ours,
		OnlyClass: true}, cloud.LoadBalancerBehaviour{}
	tests := map[string]struct {
		behaviour          cloud.LoadBalancerBehaviour
		kind               corev1.ServiceType
		class              string
		finalizer, deleted bool
		want               claim
	}{
		"a new one":                                        {everybody, balanced, none, false, false, wanted},
		"one that is known":                                {everybody, balanced, none, true, false, wanted},
		"one that is deleted":                              {everybody, balanced, none, true, true, ending},
		"one that is deleted, and has nothing":             {everybody, balanced, none, false, true, foreign},
		"of our class":                                     {everybody, balanced, ours, true, false, wanted},
		"of our class, deleted":                            {everybody, balanced, ours, true, true, ending},
		"of another class":                                 {everybody, balanced, theirs, false, false, foreign},
		"of another class, with the finalizer":             {everybody, balanced, theirs, true, false, foreign},
		"of another class, deleted":                        {everybody, balanced, theirs, true, true, foreign},
		"of another type":                                  {everybody, internal, none, false, false, foreign},
		"of another type now":                              {everybody, internal, none, true, false, ending},
		"of another type, deleted":                         {everybody, internal, none, true, true, ending},
		"our class only, and it has none":                  {only, balanced, none, false, false, foreign},
		"our class only, and it has none any more":         {only, balanced, none, true, true, foreign},
		"our class only, and it has it":                    {only, balanced, ours, false, false, wanted},
		"without a class of ours":                          {unclassed, balanced, none, false, false, wanted},
		"without a class of ours, and it has one":          {unclassed, balanced, theirs, true, false, foreign},
		"without a class of ours, and it has an empty one": {unclassed, balanced, "empty", true, false, foreign},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{Spec: corev1.ServiceSpec{Type: tt.kind}}
			switch tt.class {
			case none:
			case "empty":
				service.Spec.LoadBalancerClass = new(string)
			default:
				service.Spec.LoadBalancerClass = &tt.class
			}
			if tt.finalizer {
				service.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
			}
			if tt.deleted {
				service.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			}
			if got := claimOf(tt.behaviour, service); got != tt.want {
				t.Errorf("claim %d, want %d", got, tt.want)
			}
		})
	}
}
