package simulator

import (
	"errors"
	"strings"
	"testing"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	applyv1alpha1 "github.com/ironcore-dev/ironcore/client-go/applyconfigurations/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
)

func (r *rig) apply(manager string, force bool, port int32) (*networkingv1alpha1.LoadBalancer, error) {
	r.Helper()
	options := metav1.ApplyOptions{FieldManager: manager, Force: force}
	return r.clients.LoadBalancers.Apply(r.Context(), applied(port), options)
}

func applied(port int32) *applyv1alpha1.LoadBalancerApplyConfiguration {
	return applyv1alpha1.LoadBalancer("lb", "shoot").WithSpec(applyv1alpha1.LoadBalancerSpec().
		WithType(networkingv1alpha1.LoadBalancerTypePublic).WithIPFamilies(corev1.IPv4Protocol).
		WithNetworkRef(corev1.LocalObjectReference{Name: "net"}).
		WithNetworkInterfaceSelector(metaapply.LabelSelector().WithMatchLabels(map[string]string{"cluster": "x"})).
		WithPorts(applyv1alpha1.LoadBalancerPort().WithPort(port)))
}

func TestApply(t *testing.T) {
	r := newRig(t, Options{})
	first, err := r.apply("one", false, 80)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "type", first.Spec.Type, networkingv1alpha1.LoadBalancerTypePublic)
	want(t, "selector is one field",
		strings.Contains(first.ManagedFields[0].FieldsV1.GetRawString(), `"f:networkInterfaceSelector":{}`), true)
	current, _ := r.LoadBalancer("lb")
	again, err := r.apply("one", false, 80)
	want(t, "error", err, nil)
	want(t, "version of the same", again.ResourceVersion, current.ResourceVersion)
	_, err = r.apply("two", false, 81)
	wantConflict(t, err, "one", ".spec.ports")
	forced, err := r.apply("two", true, 81)
	want(t, "error", err, nil)
	want(t, "port", forced.Spec.Ports[0].Port, 81)
	_, err = r.apply("one", false, 80)
	wantConflict(t, err, "two", ".spec.ports")
	want(t, "writes", strings.Join(r.Writes()[:2], ", "), "apply loadbalancers/lb, apply loadbalancers/lb")
}

func wantConflict(t *testing.T, err error, manager, field string) {
	t.Helper()
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsConflict(err) || len(status.ErrStatus.Details.Causes) == 0 {
		t.Fatalf("want a conflict with causes: %v", err)
	}
	cause := status.ErrStatus.Details.Causes[0]
	want(t, "manager in "+cause.Message, strings.Contains(cause.Message, `"`+manager+`"`), true)
	want(t, "field", cause.Field, field)
}
