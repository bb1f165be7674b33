package ironcore

import (
	"net/netip"
	"strings"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// prefixes returns the prefixes in the specification of a network interface; ephemeral ones are "ephemeral".
func (r *rig) prefixes(name string) string {
	r.Helper()
	one, exists := r.server.NetworkInterface(name)
	if !exists {
		r.Fatalf("there is no network interface %s", name)
	}
	texts := make([]string, len(one.Spec.Prefixes))
	for i, source := range one.Spec.Prefixes {
		texts[i] = "ephemeral"
		if source.Value != nil {
			texts[i] = source.Value.String()
		}
	}
	return strings.Join(texts, " ")
}

// podsOf returns the route to the pods of a Node: 10.244.n.0/24 by 10.0.0.n.
func podsOf(n byte) cloud.Route {
	return cloud.Route{Destination: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, n, 0}), 24),
		Gateway: netip.AddrFrom4([4]byte{10, 0, 0, n})}
}

func static(destination netip.Prefix) networkingv1alpha1.PrefixSource {
	return networkingv1alpha1.PrefixSource{Value: &commonv1alpha1.IPPrefix{Prefix: destination}}
}

func ephemeral() networkingv1alpha1.PrefixSource {
	return networkingv1alpha1.PrefixSource{Ephemeral: &networkingv1alpha1.EphemeralPrefixSource{
		PrefixTemplate: &ipamv1alpha1.PrefixTemplateSpec{Spec: ipamv1alpha1.PrefixSpec{IPFamily: corev1.IPv4Protocol,
			PrefixLength: 28, ParentRef: &corev1.LocalObjectReference{Name: "internal"}}}}}
}

func (r *rig) setPrefixes(name string, prefixes ...networkingv1alpha1.PrefixSource) {
	r.server.ChangeNetworkInterface(name, func(n *networkingv1alpha1.NetworkInterface) { n.Spec.Prefixes = prefixes })
}

// oneRoute returns the only route of the network.
func (r *rig) oneRoute(c *Cloud) cloud.ActualRoute {
	r.Helper()
	all := r.routes(c)
	if len(all) != 1 {
		r.Fatalf("the routes are %v, want one", all)
	}
	return all[0]
}

// routes returns all routes of the network.
func (r *rig) routes(c *Cloud) []cloud.ActualRoute {
	r.Helper()
	tables, err := c.offer().Routes.List(r.ctx, cloud.PodNetwork{}, 0)
	if err != nil {
		r.Fatal(err)
	}
	return tables.Tables[0].Routes
}
