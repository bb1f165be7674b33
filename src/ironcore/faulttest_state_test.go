package ironcore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// snapshot returns what IronCore and Kubernetes have, as text that is the same after every good run: identities,
// versions and addresses that IronCore has assigned are not in it.
func (c *wholeCluster) snapshot() string {
	var lines []string
	addresses := map[string]int{}
	for _, one := range c.server.LoadBalancers() {
		lines = append(lines, balancerText(one))
		for _, ip := range one.Status.IPs {
			addresses[ip.String()]++
		}
	}
	for _, one := range c.server.LoadBalancerRoutings() {
		lines = append(lines, c.routingText(one))
	}
	for _, one := range c.server.NetworkInterfaces() {
		lines = append(lines, fmt.Sprintf("NetworkInterface %s: cluster %q, record %q, prefixes %s", one.Name,
			one.Labels[label.Cluster], one.Annotations[label.Routes], sourcesOf(one)))
	}
	for _, one := range c.server.Machines() {
		lines = append(lines, fmt.Sprintf("Machine %s: cluster %q", one.Name, one.Labels[label.Cluster]))
	}
	for _, one := range c.objects.Services() {
		lines = append(lines, serviceText(one, addresses))
	}
	for _, one := range c.objects.Nodes() {
		lines = append(lines, nodeText(one))
	}
	return strings.Join(lines, "\n")
}

func balancerText(one *networkingv1alpha1.LoadBalancer) string {
	owner := label.OwnerOf(one)
	return fmt.Sprintf("LoadBalancer %s: %s %v of %s %s %s, %s, sources %d, selector %s, ports %s, deleted %t, "+
		"addresses %d", one.Name, one.Spec.Type, one.Spec.IPFamilies, owner.Cluster, owner.Service, owner.UID,
		one.Spec.NetworkRef.Name,
		len(one.Spec.IPs), metav1.FormatLabelSelector(one.Spec.NetworkInterfaceSelector), portNumbers(one),
		one.DeletionTimestamp != nil, len(one.Status.IPs))
}

func portNumbers(one *networkingv1alpha1.LoadBalancer) string {
	ports := make([]string, len(one.Spec.Ports))
	for i, port := range one.Spec.Ports {
		ports[i] = fmt.Sprintf("%d/%s", port.Port, *cmp.Or(port.Protocol, new(corev1.ProtocolTCP)))
	}
	return strings.Join(ports, " ")
}

func (c *wholeCluster) routingText(one *networkingv1alpha1.LoadBalancerRouting) string {
	balancer, exists := c.server.LoadBalancer(one.Name)
	owned := exists && slices.ContainsFunc(one.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.UID == balancer.UID
	})
	destinations := make([]string, len(one.Destinations))
	for i, destination := range one.Destinations {
		destinations[i] = destination.IP.String() + " " + destination.TargetRef.Name
	}
	return fmt.Sprintf("LoadBalancerRouting %s: owned %t, destinations %q", one.Name, owned, destinations)
}

// sourcesOf returns the prefixes of a network interface in their order.
func sourcesOf(one *networkingv1alpha1.NetworkInterface) string {
	texts := make([]string, len(one.Spec.Prefixes))
	for i, source := range one.Spec.Prefixes {
		texts[i] = "ephemeral"
		if source.Value != nil {
			texts[i] = source.Value.String()
		}
	}
	return strings.Join(texts, " ")
}

func serviceText(one *corev1.Service, addresses map[string]int) string {
	known := 0
	for _, ingress := range one.Status.LoadBalancer.Ingress {
		known += addresses[ingress.IP]
	}
	return fmt.Sprintf("Service %s: deleted %t, finalizer %t, addresses %d, of IronCore %d, conditions %s", one.Name,
		one.DeletionTimestamp != nil, helpers.HasLBFinalizer(one), len(one.Status.LoadBalancer.Ingress), known,
		conditionsText(one.Status.Conditions))
}

// conditionsText returns conditions, without one that says that an earlier drift has ended: what is written at the
// second attempt, after a change in IronCore, counts as drift.
func conditionsText(conditions []metav1.Condition) string {
	var texts []string
	for _, one := range conditions {
		if one.Type != "LoadBalancerDrifted" || one.Status != metav1.ConditionFalse {
			texts = append(texts, one.Type+"="+string(one.Status))
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

func nodeText(one *corev1.Node) string {
	var taints, conditions []string
	for _, taint := range one.Spec.Taints {
		taints = append(taints, taint.Key)
	}
	for _, condition := range one.Status.Conditions {
		conditions = append(conditions, string(condition.Type)+"="+string(condition.Status))
	}
	slices.Sort(conditions)
	return fmt.Sprintf("Node %s: %s, taints %v, addresses %v, conditions %v, labels %v", one.Name, one.Spec.ProviderID,
		taints, one.Status.Addresses, conditions, slices.Sorted(maps.Keys(one.Labels)))
}
