package node

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/node/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// compareAddresses returns the addresses that the Node should have, nil if it has them. Their order matters only if the
// kubelet requests an address, because the cloud may list them in any order. The Node never gets an address that its
// machine does not have, even if the kubelet requests it: traffic to that address would reach another machine.
func (d *difference) compareAddresses(node *corev1.Node, offered []corev1.NodeAddress) []corev1.NodeAddress {
	if len(offered) == 0 {
		return nil
	}
	var wanted []corev1.NodeAddress
	helpers.AddToNodeAddresses(&wanted, offered...)
	if !slices.ContainsFunc(wanted, isHostname) {
		helpers.AddToNodeAddresses(&wanted, slices.DeleteFunc(slices.Clone(node.Status.Addresses), isNoHostname)...)
	}
	chosen, chooses := node.Annotations[api.AnnotationAlphaProvidedIPAddr]
	if chooses {
		preferred, err := helpers.GetNodeAddressesFromNodeIP(chosen, wanted)
		if err != nil {
			d.problems = append(d.problems, *cloud.ProblemOf(reasonInvalidIP, textInvalidIP, chosen, join(wanted)))
			chooses, preferred = false, confirmed(node.Status.Addresses, wanted)
		}
		wanted = preferred
	}
	have := node.Status.Addresses
	if sameSet(have, wanted) && (!chooses || have[0] == wanted[0]) {
		return nil
	}
	return wanted
}

// confirmed are those of a Node's addresses that its machine has, with the machine's hostname. If that contains no
// address at which the Node can be reached, they are all of the machine's.
func confirmed(have, machines []corev1.NodeAddress) []corev1.NodeAddress {
	kept := slices.DeleteFunc(slices.Clone(have), func(a corev1.NodeAddress) bool {
		return !slices.Contains(machines, a)
	})
	if !slices.ContainsFunc(kept, isNoHostname) {
		return machines
	}
	helpers.AddToNodeAddresses(&kept, slices.DeleteFunc(slices.Clone(machines), isNoHostname)...)
	return kept
}

func isHostname(a corev1.NodeAddress) bool { return a.Type == corev1.NodeHostName }

func isNoHostname(a corev1.NodeAddress) bool { return !isHostname(a) }

// sameSet reports whether both contain the same addresses, in any order. Neither contains one twice.
func sameSet(a, b []corev1.NodeAddress) bool {
	return len(a) == len(b) && !slices.ContainsFunc(b, func(one corev1.NodeAddress) bool {
		return !slices.Contains(a, one)
	})
}

func join(addresses []corev1.NodeAddress) string {
	all := make([]string, 0, len(addresses))
	for _, a := range addresses {
		all = append(all, a.Address)
	}
	return strings.Join(all, ", ")
}
