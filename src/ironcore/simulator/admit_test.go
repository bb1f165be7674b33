package simulator

import (
	"strings"
	"testing"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// wantInvalid checks that an error is one of validation that contains a text; "" means no error.
func wantInvalid(t *testing.T, err error, text string) {
	t.Helper()
	if text == "" {
		want(t, "error", err, nil)
		return
	}
	want(t, "invalid", apierrors.IsInvalid(err), true)
	if err != nil {
		want(t, text+" in "+err.Error(), strings.Contains(err.Error(), text), true)
	}
}

func ephemeral(family corev1.IPFamily) networkingv1alpha1.IPSource {
	if family == corev1.IPv6Protocol {
		return ephemeralOf("internal6", family)
	}
	return ephemeralOf("internal", family)
}

func ephemeralOf(parent string, family corev1.IPFamily) networkingv1alpha1.IPSource {
	return networkingv1alpha1.IPSource{Ephemeral: &networkingv1alpha1.EphemeralPrefixSource{
		PrefixTemplate: &ipamv1alpha1.PrefixTemplateSpec{Spec: ipamv1alpha1.PrefixSpec{
			IPFamily: family, ParentRef: &corev1.LocalObjectReference{Name: parent},
		}},
	}}
}

func internal(families ...corev1.IPFamily) func(*networkingv1alpha1.LoadBalancer) {
	return func(lb *networkingv1alpha1.LoadBalancer) {
		lb.Spec.Type = networkingv1alpha1.LoadBalancerTypeInternal
		lb.Spec.IPFamilies = families
		for _, f := range families {
			lb.Spec.IPs = append(lb.Spec.IPs, ephemeral(f))
		}
	}
}

// source makes a load balancer internal, with one source of an IPv4 address.
func source(source networkingv1alpha1.IPSource) func(*networkingv1alpha1.LoadBalancer) {
	return func(lb *networkingv1alpha1.LoadBalancer) {
		internal(corev1.IPv4Protocol)(lb)
		lb.Spec.IPs[0] = source
	}
}

func TestLoadBalancerIsValidated(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*networkingv1alpha1.LoadBalancer)
		problem string
	}{
		"unchanged":     {change: unchanged},
		"name of a UID": {change: func(lb *networkingv1alpha1.LoadBalancer) { lb.Name = strings.Repeat("0a", 16) }},
		"long name": {problem: "metadata.name",
			change: func(lb *networkingv1alpha1.LoadBalancer) { lb.Name = strings.Repeat("a", 64) }},
		"no type": {problem: "spec.type: Required",
			change: func(lb *networkingv1alpha1.LoadBalancer) { lb.Spec.Type = "" }},
		"no IP family": {problem: "spec.ipFamilies",
			change: func(lb *networkingv1alpha1.LoadBalancer) { lb.Spec.IPFamilies = nil }},
		"no network": {problem: "spec.networkRef.name",
			change: func(lb *networkingv1alpha1.LoadBalancer) { lb.Spec.NetworkRef.Name = "" }},
		"fewer addresses than families": {change: func(lb *networkingv1alpha1.LoadBalancer) {
			internal(corev1.IPv4Protocol)(lb)
			lb.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		}},
		"prefix of another family": {problem: "spec.ipFamily: Forbidden",
			change: source(ephemeral(corev1.IPv6Protocol))},
		"value of another family": {problem: "spec.ips[0].value: Invalid", change: source(
			networkingv1alpha1.IPSource{Value: commonv1alpha1.MustParseNewIP("fd00::1")})},
		"no source of an address": {problem: "spec.ips[0]: Invalid", change: source(networkingv1alpha1.IPSource{})},
		"prefix without a parent": {problem: "spec.prefix: Required", change: source(
			networkingv1alpha1.IPSource{Ephemeral: &networkingv1alpha1.EphemeralPrefixSource{
				PrefixTemplate: &ipamv1alpha1.PrefixTemplateSpec{}}})},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			lb := balancer("lb")
			test.change(lb)
			_, err := r.clients.LoadBalancers.Create(t.Context(), lb, metav1.CreateOptions{})
			wantInvalid(t, err, test.problem)
		})
	}
}

func TestLoadBalancerDefaultsAndChanges(t *testing.T) {
	r := newRig(t, Options{})
	public := r.createBalancer("public", func(lb *networkingv1alpha1.LoadBalancer) {
		lb.Spec.IPs = []networkingv1alpha1.IPSource{ephemeral(corev1.IPv4Protocol)}
	})
	want(t, "addresses of a public one", len(public.Spec.IPs), 0)
	private := r.createBalancer("internal", func(lb *networkingv1alpha1.LoadBalancer) {
		internal(corev1.IPv4Protocol)(lb)
		lb.Spec.IPFamilies = nil
	})
	want(t, "family", private.Spec.IPFamilies[0], corev1.IPv4Protocol)
	want(t, "length", private.Spec.IPs[0].Ephemeral.PrefixTemplate.Spec.PrefixLength, 32)
	patch := func(patch string) (*networkingv1alpha1.LoadBalancer, error) {
		return r.clients.LoadBalancers.Patch(t.Context(), "internal", types.MergePatchType, []byte(patch),
			metav1.PatchOptions{})
	}
	_, err := patch(`{"spec":{"networkRef":{"name":"other"}}}`)
	wantInvalid(t, err, "spec.networkRef: Forbidden")
	changed, err := patch(`{"spec":{"type":"Public"}}`)
	wantInvalid(t, err, "")
	want(t, "addresses", len(changed.Spec.IPs), 0)
}

func TestNetworkInterfaceIsValidated(t *testing.T) {
	for name, test := range map[string]struct{ patch, problem string }{
		"empty prefix":     {`{"spec":{"prefixes":[{}]}}`, "spec.prefixes[0]: Invalid"},
		"same prefix":      {`{"spec":{"prefixes":[{"value":"10.1.0.0/24"},{"value":"10.1.0.0/24"}]}}`, ""},
		"label":            {`{"metadata":{"labels":{"kubernetes.io/cluster":"c"}}}`, ""},
		"malformed":        {`{"spec":{"ips":[{"value":"10.0.0"}]}}`, "ParseAddr"},
		"unknown is fine":  {`{"spec":{"unknown":1}}`, ""},
		"ephemeral prefix": {`{"spec":{"prefixes":[{"ephemeral":{"prefixTemplate":{"spec":{}}}}]}}`, "ipFamily"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			r.addMachine("a", "10.0.0.1")
			_, err := r.patch(types.MergePatchType, test.patch)
			wantInvalid(t, err, test.problem)
		})
	}
}

func TestRoutingIsValidated(t *testing.T) {
	r := newRig(t, Options{})
	routing := &networkingv1alpha1.LoadBalancerRouting{
		ObjectMeta: metav1.ObjectMeta{Name: "lb"}, NetworkRef: commonv1alpha1.LocalUIDReference{Name: "net"},
		Destinations: []networkingv1alpha1.LoadBalancerDestination{{}},
	}
	_, err := r.clients.LoadBalancerRoutings.Create(t.Context(), routing, metav1.CreateOptions{})
	wantInvalid(t, err, "destinations[0].ip")
	routing.Destinations = nil
	_, err = r.clients.LoadBalancerRoutings.Create(t.Context(), routing, metav1.CreateOptions{})
	wantInvalid(t, err, "")
}
