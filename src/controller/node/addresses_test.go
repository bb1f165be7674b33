package node

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// addresses parses "host a, in 10.0.0.1, out 192.0.2.1".
func addresses(text string) []corev1.NodeAddress {
	types := map[string]corev1.NodeAddressType{"host": corev1.NodeHostName, "in": corev1.NodeInternalIP,
		"out": corev1.NodeExternalIP}
	var all []corev1.NodeAddress
	for part := range strings.SplitSeq(text, ", ") {
		if kind, address, ok := strings.Cut(part, " "); ok {
			all = append(all, corev1.NodeAddress{Type: types[kind], Address: address})
		}
	}
	return all
}

// TestAddresses: a Node is written only if it lacks an address or has one too many, in any order.
func TestAddresses(t *testing.T) {
	for name, tt := range map[string]struct {
		have, offered, nodeIP, want string
		problem                     bool
	}{
		"none yet": {"", "host a, in 10.0.0.1", "", "host a, in 10.0.0.1", false},
		"the same": {"host a, in 10.0.0.1", "host a, in 10.0.0.1", "", "", false},
		"dual stack, the same": {"host a, in 10.0.0.1, in fd00::1", "host a, in 10.0.0.1, in fd00::1", "",
			"", false},
		"dual stack, in another order": {"in fd00::1, in 10.0.0.1, host a", "host a, in 10.0.0.1, in fd00::1", "",
			"", false},
		"one more": {"host a, in 10.0.0.1", "host a, in 10.0.0.1, in fd00::1", "",
			"host a, in 10.0.0.1, in fd00::1", false},
		"one less": {"host a, in 10.0.0.1, in fd00::1", "host a, in fd00::1", "",
			"host a, in fd00::1", false},
		"another type": {"host a, in 192.0.2.1", "host a, out 192.0.2.1", "",
			"host a, out 192.0.2.1", false},
		"nothing offered":                  {"host a, in 10.0.0.1", "", "", "", false},
		"one twice":                        {"host a, in 10.0.0.1", "host a, in 10.0.0.1, in 10.0.0.1", "", "", false},
		"no hostname offered":              {"host a, in 10.0.0.1", "in 10.0.0.2", "", "in 10.0.0.2, host a", false},
		"no hostname offered, nothing new": {"host a, in 10.0.0.1", "in 10.0.0.1", "", "", false},
		"the kubelet chooses one": {"host a", "host a, in 10.0.0.1, in 10.0.0.2, out 192.0.2.1", "10.0.0.2",
			"in 10.0.0.2, host a, out 192.0.2.1", false},
		"the kubelet chose one": {"in 10.0.0.2, host a", "host a, in 10.0.0.1, in 10.0.0.2", "10.0.0.2",
			"", false},
		"the kubelet has another first": {"in 10.0.0.1, in fd00::1, host a", "host a, in 10.0.0.1, in fd00::1",
			"fd00::1,10.0.0.1", "in fd00::1, in 10.0.0.1, host a", false},
		"the kubelet has an unknown address": {"host a, in 10.0.0.1", "host a, in 10.0.0.1", "10.9.9.9", "", true},
		"the kubelet has no valid address":   {"host a, in 10.0.0.1", "host a, in 10.0.0.1", "none", "", true},
		"the Node has the unknown address": {"in 10.0.0.9, host a", "host a, in 10.0.0.1, in fd00::1", "10.0.0.9",
			"host a, in 10.0.0.1, in fd00::1", true},
		"it has what there isn't, beside": {"in 10.0.0.1, host a, in 10.0.0.254", "host a, in 10.0.0.1, in fd00::1",
			"192.0.2.1", "in 10.0.0.1, host a", true},
		"one of the kubelet's addresses exists": {"in 10.0.0.2, in fd00::9, host a", "host a, in 10.0.0.1, in 10.0.0.2",
			"10.0.0.2,fd00::9", "in 10.0.0.2, host a", true},
		"it has another hostname, too": {"in 10.0.0.1, host b", "host a, in 10.0.0.1", "192.0.2.1",
			"in 10.0.0.1, host a", true},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{Status: corev1.NodeStatus{Addresses: addresses(tt.have)}}
			if tt.nodeIP != "" {
				node.Annotations = map[string]string{api.AnnotationAlphaProvidedIPAddr: tt.nodeIP}
			}
			var d difference
			if diff := cmp.Diff(addresses(tt.want), d.compareAddresses(node, addresses(tt.offered))); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
			if warnings := len(d.problems) == 1 && d.problems[0].Reason == cloud.InvalidNodeIP; warnings != tt.problem {
				t.Errorf("problems %v, want one: %v", d.problems, tt.problem)
			}
		})
	}
}
