package virtualnode_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

func (c *cluster) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node, err := c.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func TestNodeObject(t *testing.T) {
	c := newCluster(t)
	running := c.start(t, "one", "127.0.74.1", func(o *virtualnode.Options) { o.ControlPlane = true })
	node := c.node(t, running.Name())
	taints := map[string]bool{}
	for _, taint := range node.Spec.Taints {
		taints[taint.Key] = true
	}
	if !taints["node.cloudprovider.kubernetes.io/uninitialized"] || !taints["node-role.kubernetes.io/control-plane"] {
		t.Errorf("taints = %v, want those of a control plane node that no cloud has seen", node.Spec.Taints)
	}
	if node.Spec.ProviderID != "" || node.Status.NodeInfo.KubeletVersion == "" {
		t.Errorf("providerID %q, kubelet version %q; want none and the server's", node.Spec.ProviderID,
			node.Status.NodeInfo.KubeletVersion)
	}
	eventually(t, "the control plane takes the node for ready", func() error {
		node := c.node(t, running.Name())
		for _, taint := range node.Spec.Taints {
			if taint.Key == corev1.TaintNodeNotReady {
				return fmt.Errorf("its taints are %v", node.Spec.Taints)
			}
		}
		if node.Spec.PodCIDR == "" {
			return errors.New("it has no pod CIDR")
		}
		_, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), running.Name(),
			metav1.GetOptions{})
		return err
	})
}

func TestPowerOff(t *testing.T) {
	c := newCluster(t)
	one := c.start(t, "one", "127.0.74.2", nil)
	c.createSettings(t, "a: 1\n")
	c.createPod(t, "daemon", c.programSpec(17001))
	before := c.pod(t, "daemon", "is ready", ready)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	if err := one.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := get("http://127.0.74.2:17001/livez"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the program answers on a machine that is off: %v", err)
	}
	c.node(t, one.Name()) // stays
	after := c.pod(t, "daemon", "is still there", func(*corev1.Pod) bool { return true })
	if after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the pod was written by a machine that went off: %+v", after.Status)
	}
}

func TestPowerCut(t *testing.T) {
	c := newCluster(t)
	one := c.start(t, "one", "127.0.74.3", nil)
	c.createSettings(t, "a: 1\n")
	c.createPod(t, "daemon", c.programSpec(17001))
	c.pod(t, "daemon", "is ready", ready)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := one.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Stop = %v, want that pods were killed", err)
	}
	if _, err := get("http://127.0.74.3:17001/livez"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the program survived a power cut: %v", err)
	}
}

func TestRemove(t *testing.T) {
	c := newCluster(t)
	one := c.start(t, "one", "127.0.74.4", nil)
	if err := one.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.client.CoreV1().Nodes().Get(t.Context(), one.Name(),
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("node after Remove: %v, want not found", err)
	}
}

func TestStartTwice(t *testing.T) {
	c := newCluster(t)
	one := c.start(t, "one", "127.0.74.5", nil)
	_, err := virtualnode.Start(t.Context(), virtualnode.Options{Network: c.network, Name: one.Name(),
		Address: netip.MustParseAddr("127.0.74.6"), Dir: c.dir})
	if err == nil {
		t.Error("two nodes of one name run at the same time")
	}
}
