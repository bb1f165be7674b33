//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

const (
	taintUninitialized = cloudproviderapi.TaintExternalCloudProvider
	taintShutdown      = cloudproviderapi.TaintNodeShutdown

	portKubelet = "10250"
)

func hasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// bootstrap proves that the chart as it is comes up where all nodes wait for it, that of the control plane included.
func bootstrap(t *testing.T, l *lab) {
	t.Helper()
	if len(l.before) != 3 {
		t.Errorf("%d nodes were there before anything was installed, want 3", len(l.before))
	}
	for _, node := range l.before {
		if !hasTaint(&node, taintUninitialized) || node.Spec.ProviderID != "" {
			t.Errorf("before that, node %s had the taints %v and provider ID %q, want it tainted and without",
				node.Name, node.Spec.Taints, node.Spec.ProviderID)
		}
	}
	nodes, err := l.API().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.Items {
		if hasTaint(&node, taintUninitialized) || !strings.HasPrefix(node.Spec.ProviderID, l.scheme+"://") ||
			node.Labels[corev1.LabelTopologyZone] == "" || node.Labels[corev1.LabelInstanceTypeStable] == "" {
			t.Errorf("node %s is not initialised: taints %v, provider ID %q, labels %v", node.Name, node.Spec.Taints,
				node.Spec.ProviderID, node.Labels)
		}
		for _, address := range node.Status.Addresses {
			if address.Type == corev1.NodeInternalIP {
				l.answersAt(t, address.Address)
			}
		}
	}
}

// answersAt proves that a node's address is that of its machine: its kubelet answers there.
func (l *lab) answersAt(t *testing.T, address string) {
	t.Helper()
	conn, err := l.Client().DialContext(t.Context(), "tcp", net.JoinHostPort(address, portKubelet))
	if err != nil {
		t.Errorf("no kubelet at %s: %v", address, err)
		return
	}
	closeQuietly(conn)
}

// imported proves that the pods run the image that was built here, which is in no registry: what containerd calls it is
// what the archive says that it is.
func imported(t *testing.T, l *lab) {
	t.Helper()
	pod := l.manager(t)
	if pod.Spec.NodeName != cluster.ControlPlane {
		t.Errorf("it runs on %s, want the node of the control plane", pod.Spec.NodeName)
	}
	built, err := tarball.ImageFromPath(l.archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := built.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	if got := pod.Status.ContainerStatuses[0].ImageID; !strings.HasSuffix(got, want.String()) {
		t.Errorf("the container runs image %s, the archive has %s", got, want)
	}
	events, err := l.API().CoreV1().Events(cluster.Namespace).List(t.Context(),
		metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod.Name})
	if err != nil {
		t.Fatal(err)
	}
	present := false
	for _, event := range events.Items {
		present = present || event.Reason == "Pulled" && strings.Contains(event.Message, "already present on machine")
		if event.Reason == "Pulling" {
			t.Errorf("an image was pulled: %s", event.Message)
		}
	}
	if !present {
		t.Error("no event says that the image was there")
	}
	log, err := l.API().CoreV1().Pods(cluster.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil || len(log) == 0 {
		t.Errorf("its log has %d bytes: %v", len(log), err)
	}
}

// manager is the only pod of the cloud controller manager.
func (l *lab) manager(t *testing.T) *corev1.Pod {
	t.Helper()
	pods, err := l.API().CoreV1().Pods(cluster.Namespace).List(t.Context(),
		metav1.ListOptions{LabelSelector: selectManager})
	if err != nil || len(pods.Items) != 1 || len(pods.Items[0].Status.ContainerStatuses) != 1 {
		t.Fatalf("%d pods and %v, want one with one container", len(pods.Items), err)
	}
	return &pods.Items[0]
}

// poweredOff proves what follows when a machine loses power: its Node says so, traffic goes to other nodes, and all is
// as before when it is on again.
func poweredOff(t *testing.T, l *lab) {
	t.Helper()
	namespace := l.runServers(t, "worker-1", "worker-2")
	address := l.expose(t, namespace, portHTTP)
	l.awaitWeb(t, address, "worker-1", "worker-2")

	if err := l.SetPower(t.Context(), "worker-2", false); err != nil {
		t.Fatal(err)
	}
	// If it was not reached below.
	t.Cleanup(func() { _ = l.SetPower(context.WithoutCancel(t.Context()), "worker-2", true) })
	l.shutDown(t, "worker-2")
	l.awaitWeb(t, address, "worker-1")

	if err := l.SetPower(t.Context(), "worker-2", true); err != nil {
		t.Fatal(err)
	}
	l.nodeUsable(t, "worker-2")
	// Kubernetes evicts the pod of a node that was off too long; a Deployment would create another one.
	if err := l.API().CoreV1().Pods(namespace).Delete(t.Context(), "on-worker-2", metav1.DeleteOptions{}); err != nil &&
		!apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	eventually(t, "the pod of before is gone", func(ctx context.Context) error {
		_, err := l.API().CoreV1().Pods(namespace).Get(ctx, "on-worker-2", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is there"))
	})
	l.runServer(t, namespace, "worker-2")
	l.serversReady(t, namespace, "worker-2")
	l.awaitWeb(t, address, "worker-1", "worker-2")
}

// nodeUsable waits until a node is initialised and ready.
func (l *lab) nodeUsable(t *testing.T, name string) {
	t.Helper()
	eventually(t, "node "+name+" is usable", func(ctx context.Context) error {
		node, err := l.API().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !isReady(node) || hasTaint(node, taintUninitialized) || hasTaint(node, taintShutdown) {
			return fmt.Errorf("ready %t, taints %v", isReady(node), node.Spec.Taints)
		}
		return nil
	})
}

// deleted proves what follows when a machine is added, and when it is deleted in the cloud but not in Kubernetes
// before.
func deleted(t *testing.T, l *lab) {
	t.Helper()
	namespace := l.runServers(t, "worker-1", "worker-2")
	address := l.expose(t, namespace, portHTTP)
	if err := l.AddNode(t.Context(), "worker-3"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.dropMachine(t, "worker-3") }) // if it was not reached below
	l.nodeUsable(t, "worker-3")
	l.runServer(t, namespace, "worker-3")
	l.serversReady(t, namespace, "worker-3")
	l.awaitWeb(t, address, "worker-1", "worker-2", "worker-3")
	l.wantRoutes(t, "control-plane", "worker-1", "worker-2", "worker-3")

	if err := l.DeleteMachine(t.Context(), "worker-3"); err != nil {
		t.Fatal(err)
	}
	l.nodeGone(t, "worker-3")
	l.awaitWeb(t, address, "worker-1", "worker-2")
	l.hasEvent(t, "worker-3", "DeletingNode")
	l.wantRoutes(t, "control-plane", "worker-1", "worker-2")
	gone := strings.TrimSuffix(l.Client().Path(), "client") + "worker-3"
	if _, err := os.Stat(gone); err == nil {
		t.Errorf("its network namespace %s is still there", gone)
	}
}

// dropMachine deletes a machine that a proof which failed has left.
func (l *lab) dropMachine(t *testing.T, name string) {
	t.Helper()
	if t.Failed() {
		_ = l.DeleteMachine(context.WithoutCancel(t.Context()), name) // it may be gone, or not have been made
	}
}

// hasEvent wants an event about a Node.
func (l *lab) hasEvent(t *testing.T, node, reason string) {
	t.Helper()
	eventually(t, "event "+reason+" about "+node, func(ctx context.Context) error {
		events, err := l.API().CoreV1().Events("").List(ctx,
			metav1.ListOptions{FieldSelector: "involvedObject.kind=Node,involvedObject.name=" + node})
		if err != nil {
			return err
		}
		var seen []string
		for _, event := range events.Items {
			seen = append(seen, event.Reason)
		}
		if !slices.Contains(seen, reason) {
			return fmt.Errorf("its events are %v", seen)
		}
		return nil
	})
}
