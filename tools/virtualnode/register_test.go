package virtualnode

import (
	"maps"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestObject(t *testing.T) {
	uninitialized := corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true",
		Effect: corev1.TaintEffectNoSchedule}
	kubelet := map[string]string{
		"kubernetes.io/hostname": "node-1", "kubernetes.io/os": "linux", "kubernetes.io/arch": runtime.GOARCH,
		"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": runtime.GOARCH,
	}
	with := func(more map[string]string) map[string]string {
		maps.Copy(more, kubelet)
		return more
	}
	tests := []struct {
		name    string
		options Options
		labels  map[string]string
		taints  []corev1.Taint
	}{
		{"worker", Options{}, with(map[string]string{}), []corev1.Taint{uninitialized}},
		{"labels", Options{Labels: map[string]string{"pool": "a"}}, with(map[string]string{"pool": "a"}),
			[]corev1.Taint{uninitialized}},
		{"control plane", Options{ControlPlane: true}, with(map[string]string{
			"node-role.kubernetes.io/control-plane": "", "node.kubernetes.io/exclude-from-external-load-balancers": "",
		}), []corev1.Taint{uninitialized, {Key: "node-role.kubernetes.io/control-plane",
			Effect: corev1.TaintEffectNoSchedule}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Name = "node-1"
			n := &Node{options: tt.options}
			got := n.object("v1.36.3", metav1.Now())
			if diff := cmp.Diff(tt.labels, got.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.taints, got.Spec.Taints); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
			if got.Spec.ProviderID != "" || len(got.Status.Addresses) != 1 ||
				got.Status.Addresses[0].Type != corev1.NodeHostName {
				t.Errorf("providerID %q, addresses %v; want none and the host name alone", got.Spec.ProviderID,
					got.Status.Addresses)
			}
			if !isReady(got) || got.Status.NodeInfo.KubeletVersion != "v1.36.3" ||
				got.Status.Capacity.Pods().Value() != 110 {
				t.Errorf("status = %+v", got.Status)
			}
		})
	}
}

func TestNodeInfo(t *testing.T) {
	one, again, two := nodeInfo("one", "v1"), nodeInfo("one", "v1"), nodeInfo("two", "v1")
	if one != again {
		t.Error("the same name gave two different machines")
	}
	if one.SystemUUID == two.SystemUUID || one.MachineID == two.MachineID || len(one.SystemUUID) != 36 ||
		len(one.MachineID) != 32 {
		t.Errorf("IDs %q %q and %q %q; want different UUIDs", one.SystemUUID, one.MachineID, two.SystemUUID,
			two.MachineID)
	}
}
