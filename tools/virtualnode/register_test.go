package virtualnode

import (
	"maps"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
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

// A node that comes back keeps what others have made of its object.
func TestRegisterAgain(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{"topology.kubernetes.io/zone": "a"}},
		Spec:       corev1.NodeSpec{ProviderID: "thalassacloud://x"},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.2"}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}},
		},
	})
	n := &Node{options: Options{Name: "node-1"}, network: &Network{client: client}}
	if err := n.register(t.Context(), "v1.36.3"); err != nil {
		t.Fatal(err)
	}
	got, err := client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Spec.ProviderID != "thalassacloud://x" || len(got.Spec.Taints) != 0 ||
		got.Labels["topology.kubernetes.io/zone"] != "a" || len(got.Status.Addresses) != 1 ||
		got.Status.Addresses[0].Address != "127.0.0.2" {
		t.Errorf("object = %+v, want the cloud's part untouched", got)
	}
	if !isReady(got) || got.Labels["kubernetes.io/hostname"] != "node-1" {
		t.Errorf("object = %+v, want it ready and labelled", got)
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
