package virtualnode

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/pod"
)

const (
	// taintUninitialized is what kubelet registers with under --cloud-provider=external; the
	// cloud controller manager removes it (k8s.io/cloud-provider/api.TaintExternalCloudProvider).
	taintUninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

	// labelControlPlane marks control plane nodes, as label and as taint (kubeadm).
	labelControlPlane = "node-role.kubernetes.io/control-plane"
)

// capacity is what every virtual machine offers.
func capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("4"),
		corev1.ResourceMemory:           resource.MustParse("8Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("32Gi"),
		corev1.ResourcePods:             *resource.NewQuantity(pod.MaxPods, resource.DecimalSI),
	}
}

// register creates the Node object, which is Ready.
func (n *Node) register(ctx context.Context, version string) error {
	created, err := n.network.client.CoreV1().Nodes().Create(ctx, n.object(version, metav1.Now()),
		metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("registering node %q: %w", n.options.Name, err)
	}
	n.seen.Store(created)
	return nil
}

// object is the Node as kubelet registers it with --cloud-provider=external: tainted, without a
// providerID and with no address but its name.
func (n *Node) object(version string, now metav1.Time) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.options.Name, Labels: n.labels()},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: taintUninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{
			Capacity: capacity(), Allocatable: capacity(), Conditions: conditions(now),
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: n.options.Name}},
			NodeInfo:  nodeInfo(n.options.Name, version),
		},
	}
	if n.options.ControlPlane {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: labelControlPlane,
			Effect: corev1.TaintEffectNoSchedule})
	}
	node.Spec.Taints = append(node.Spec.Taints, n.options.Taints...)
	return node
}

func (n *Node) labels() map[string]string {
	labels := map[string]string{
		corev1.LabelHostname:      n.options.Name,
		corev1.LabelOSStable:      "linux",
		corev1.LabelArchStable:    runtime.GOARCH,
		"beta.kubernetes.io/os":   "linux", // kubelet still sets the old names too
		"beta.kubernetes.io/arch": runtime.GOARCH,
	}
	if n.options.ControlPlane {
		labels[labelControlPlane] = ""
		labels[corev1.LabelNodeExcludeBalancers] = ""
	}
	maps.Copy(labels, n.options.Labels)
	return labels
}

// nodeInfo gives a machine the IDs that follow from its name, so that they are the same after a
// restart.
func nodeInfo(name, version string) corev1.NodeSystemInfo {
	id := sha256.Sum256([]byte(name))
	return corev1.NodeSystemInfo{
		MachineID:               fmt.Sprintf("%x", id[:16]),
		SystemUUID:              fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16]),
		BootID:                  fmt.Sprintf("%x-%x-%x-%x-%x", id[16:20], id[20:22], id[22:24], id[24:26], id[26:]),
		KernelVersion:           "virtual",
		OSImage:                 "thalassa-ccm virtual node",
		ContainerRuntimeVersion: "virtual://1",
		KubeletVersion:          version,
		OperatingSystem:         "linux",
		Architecture:            runtime.GOARCH,
	}
}

// conditions are those of a healthy node, in kubelet's words.
func conditions(now metav1.Time) []corev1.NodeCondition {
	condition := func(t corev1.NodeConditionType, s corev1.ConditionStatus, reason,
		message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: t, Status: s, Reason: reason, Message: message, LastHeartbeatTime: now,
			LastTransitionTime: now}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory",
			"virtual node has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure",
			"virtual node has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID",
			"virtual node has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "virtual node is posting ready status"),
	}
}

// isReady reports whether the API server believes that the node is Ready.
func isReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// since returns the conditions with the times at which they last changed.
func since(now time.Time, previous *corev1.Node) []corev1.NodeCondition {
	current := conditions(metav1.NewTime(now))
	if previous == nil {
		return current
	}
	for i := range current {
		for _, p := range previous.Status.Conditions {
			if p.Type == current[i].Type && p.Status == current[i].Status {
				current[i].LastTransitionTime = p.LastTransitionTime
			}
		}
	}
	return current
}
