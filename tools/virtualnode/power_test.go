package virtualnode_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
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
		t.Errorf("providerID %q, kubelet version %q; want none and the server's", node.Spec.ProviderID, node.Status.NodeInfo.KubeletVersion)
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
		_, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), running.Name(), metav1.GetOptions{})
		return err
	})
}

func TestPowerOffAndOn(t *testing.T) {
	c := newCluster(t)
	one := c.start(t, "one", "127.0.74.2", nil)
	c.createSettings(t, "a: 1\n")
	c.createPod(t, "daemon", c.programSpec(17001))
	before := c.pod(t, "daemon", "is ready", ready)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
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

	c.start(t, "one", "127.0.74.2", nil)
	pod := c.pod(t, "daemon", "runs again", func(p *corev1.Pod) bool {
		return ready(p) && p.Status.ContainerStatuses[0].RestartCount == 1
	})
	if pod.UID != before.UID {
		t.Errorf("another pod runs: %s, want %s", pod.UID, before.UID)
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
	if _, err := c.client.CoreV1().Nodes().Get(t.Context(), one.Name(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("node after Remove: %v, want not found", err)
	}
}

func TestStartTwice(t *testing.T) {
	c := newCluster(t)
	one := c.start(t, "one", "127.0.74.5", nil)
	_, err := virtualnode.Start(t.Context(), virtualnode.Options{Network: c.network, Name: one.Name(), Address: netip.MustParseAddr("127.0.74.6"), Dir: c.dir})
	if err == nil {
		t.Error("two nodes of one name run at the same time")
	}
}

// A node may have no more rights than a kubelet.
func TestNodeAuthorizer(t *testing.T) {
	c := newCluster(t)
	admin := controlplanetest.Get(t).Config()
	one := c.start(t, "one", "127.0.74.7", func(o *virtualnode.Options) {
		o.Config = rest.CopyConfig(admin)
		o.Config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + o.Name, Groups: []string{"system:nodes"}}
		// A kubelet may not give itself this label, nor these on later changes.
		o.Labels = nil
	})
	// The label that makes pods choose it is then an administrator's.
	patch := fmt.Sprintf(`{"metadata":{"labels":{"test":%q}}}`, c.namespace)
	if _, err := c.client.CoreV1().Nodes().Patch(t.Context(), one.Name(), "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.createSettings(t, "a: 1\n")
	c.createPod(t, "daemon", c.programSpec(17001))
	c.pod(t, "daemon", "is ready", ready)
	if got := c.report(t, "127.0.74.7:17001").User; got != "system:serviceaccount:"+c.namespace+":default" {
		t.Errorf("the program is %q", got)
	}
	if err := c.client.CoreV1().Pods(c.namespace).Delete(t.Context(), "daemon", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod has gone", func() error {
		_, err := c.client.CoreV1().Pods(c.namespace).Get(t.Context(), "daemon", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is still there"), err)
		}
		return nil
	})
	lease, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), one.Name(), metav1.GetOptions{})
	if err != nil || len(lease.OwnerReferences) != 1 {
		t.Errorf("lease = %+v, %v; want one that the node owns", lease, err)
	}
}

// Many light nodes cost one goroutine and a few calls each.
func TestManyLightNodes(t *testing.T) {
	const many = 300
	c := newCluster(t)
	began := time.Now()
	var nodes []*virtualnode.Node
	for i := range many {
		node, err := virtualnode.Start(t.Context(), virtualnode.Options{
			Network: c.network, Name: fmt.Sprintf("%s-%03d", c.namespace, i), Light: true, NoLease: true,
			Labels: map[string]string{"test": c.namespace},
		})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	t.Logf("%d light nodes in %s", many, time.Since(began))
	listed, err := c.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "test=" + c.namespace})
	if err != nil || len(listed.Items) != many {
		t.Errorf("%d nodes, %v; want %d", len(listed.Items), err, many)
	}
	for _, node := range nodes {
		if err := node.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	deleteNodes(t, c.client, "test="+c.namespace)
}

func deleteNodes(t *testing.T, client kubernetes.Interface, selector string) {
	t.Helper()
	if err := client.CoreV1().Nodes().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: selector}); err != nil {
		t.Error(err)
	}
}
