package service

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestPhase: the phase depends on the type, the class, the finalizer, the deletion and the configuration.
func TestPhase(t *testing.T) {
	const none, ours, theirs = "", "example.com/ours", "example.com/theirs"
	balanced, clusterIP := corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeClusterIP
	withClass, onlyClass, noClass := cloud.LoadBalancerBehaviour{Class: ours}, cloud.LoadBalancerBehaviour{Class: ours,
		OnlyClass: true}, cloud.LoadBalancerBehaviour{}
	tests := map[string]struct {
		behaviour          cloud.LoadBalancerBehaviour
		kind               corev1.ServiceType
		class              string
		finalizer, deleted bool
		want               phase
	}{
		"a new one":                                        {withClass, balanced, none, false, false, phaseManaged},
		"one that is known":                                {withClass, balanced, none, true, false, phaseManaged},
		"one that is deleted":                              {withClass, balanced, none, true, true, phaseDeleting},
		"one that is deleted, and has nothing":             {withClass, balanced, none, false, true, phaseUnmanaged},
		"of our class":                                     {withClass, balanced, ours, true, false, phaseManaged},
		"of our class, deleted":                            {withClass, balanced, ours, true, true, phaseDeleting},
		"of another class":                                 {withClass, balanced, theirs, false, false, phaseUnmanaged},
		"of another class, with the finalizer":             {withClass, balanced, theirs, true, false, phaseUnmanaged},
		"of another class, deleted":                        {withClass, balanced, theirs, true, true, phaseLeaving},
		"of another type":                                  {withClass, clusterIP, none, false, false, phaseUnmanaged},
		"of another type now":                              {withClass, clusterIP, none, true, false, phaseLeaving},
		"of another type, deleted":                         {withClass, clusterIP, none, true, true, phaseLeaving},
		"our class only, and it has none":                  {onlyClass, balanced, none, false, false, phaseUnmanaged},
		"our class only, and it has none any more":         {onlyClass, balanced, none, true, true, phaseLeaving},
		"our class only, and it has it":                    {onlyClass, balanced, ours, false, false, phaseManaged},
		"without a class of ours":                          {noClass, balanced, none, false, false, phaseManaged},
		"without a class of ours, and it has one":          {noClass, balanced, theirs, true, false, phaseUnmanaged},
		"without a class of ours, and it has an empty one": {noClass, balanced, "empty", true, false, phaseUnmanaged},
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
			if got := phaseOf(tt.behaviour, service, false); got != tt.want {
				t.Errorf("phase %d, want %d", got, tt.want)
			}
			if !tt.finalizer {
				return
			}
			service.Finalizers = nil // a Service may have conditions, and no finalizer yet
			service.Status.Conditions = []metav1.Condition{{Type: conditionProvisioned}}
			if got := phaseOf(tt.behaviour, service, false); got != tt.want {
				t.Errorf("phase %d with conditions only, want %d", got, tt.want)
			}
		})
	}
}
