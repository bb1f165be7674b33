//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/fixture"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

// TestVolumes starts a cluster with the CSI driver, and has it prove one thing after another. The driver is installed
// before the cloud controller manager: Nodes then have no region yet. It is installed from the old chart (package
// fixture), which is upgraded.
func TestVolumes(t *testing.T) {
	t.Parallel()
	l := begin(t, cluster.Options{Volumes: true, Networks: cluster.OwnNetworks})
	if err := errors.Join(l.GiveCredentials(t.Context()),
		l.InstallVolumes(t.Context(), filepath.Join(fixture.OldCharts(t), cluster.VolumesRelease))); err != nil {
		t.Fatal(err)
	}
	l.prove(t,
		proof{"the driver registers itself once Nodes have a region", registeredLate},
		proof{"the chart is upgraded while a pod writes and a claim is created", driverUpgraded},
		proof{"what a pod writes is read on another node, also read-only", moved},
		proof{"a block device keeps its content on another node", blockDevice},
		proof{"a volume for one pod is mounted by one pod", onePod},
		proof{"a snapshot and a clone are mounted beside their volume, with XFS", copied},
		proof{"a volume is expanded while a pod writes", expanded},
		proof{"the kubelet and the driver restart while a pod writes", driverRestarted},
		proof{"a node is switched off, and its volume follows the pod", followed},
		proof{"nothing of volumes is left", noVolumes},
	)
}

// selectPlugin selects the pods of the node plug-in.
const selectPlugin = "app.kubernetes.io/name=thalassa-csi,app.kubernetes.io/component=node"

// plugin is the pod of the node plug-in on a node.
func (l *lab) plugin(ctx context.Context, node string) (*corev1.Pod, error) {
	pods, err := l.API().CoreV1().Pods(cluster.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selectPlugin,
		FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return nil, err
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			return &pod, nil
		}
	}
	return nil, errors.New("node " + node + " has no pod of the node plug-in")
}

// registeredLate proves that the node plug-in waits for the region of its Node and is registered then.
func registeredLate(t *testing.T, l *lab) {
	t.Helper()
	for _, node := range []string{cluster.ControlPlane, "worker-1", "worker-2"} {
		eventually(t, "the node plug-in waits on "+node, func(ctx context.Context) error {
			pod, err := l.plugin(ctx, node)
			if err != nil {
				return err
			}
			log, err := l.API().CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
			if err == nil && !strings.Contains(string(log), "the Node has no label "+corev1.LabelTopologyRegion) {
				err = fmt.Errorf("it is %s, and its log is %s", pod.Status.Phase, log)
			}
			return err
		})
		if err := l.HasVolumes(t.Context(), node); err == nil {
			t.Errorf("node %s can have volumes, although nobody knows its region", node)
		}
	}
	if err := l.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.VolumesReady(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// moved proves that the content of a filesystem follows its claim, and that a pod may have it read-only.
func moved(t *testing.T, l *lab) {
	t.Helper()
	v := l.claim(t, "data")
	v.run(t, "writer", "worker-1")
	written := v.file(t, "writer", "write", dataPath, dataSize)
	v.hasFilesystem(t, "writer", ext4)
	v.stop(t, "writer")
	v.run(t, "reader", "worker-2", func(pod *corev1.Pod) {
		pod.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true
	})
	v.wantSum(t, "reader", dataPath, written)
	if output, err := l.exec(t, v.namespace, "reader", "/guest", "file", "write", dataPath, dataSize); err == nil ||
		!strings.Contains(output, "read-only file system") {
		t.Errorf("a pod with a volume that is read-only writes: %q and %v", output, err)
	}
}

// blockDevice proves that a raw block volume keeps its content.
func blockDevice(t *testing.T, l *lab) {
	t.Helper()
	v := l.claim(t, "device", raw)
	v.run(t, "writer", "worker-1", asDevice)
	written := v.file(t, "writer", "write", devicePath, dataSize)
	if size, _ := v.space(t, "writer", devicePath); size != 1<<30 {
		t.Errorf("the device has %d bytes, want 1 GiB", size)
	}
	v.stop(t, "writer")
	v.run(t, "reader", "worker-2", asDevice)
	v.wantSum(t, "reader", devicePath, written)
}

// onePod proves that the second pod waits for a volume with the access mode ReadWriteOncePod.
func onePod(t *testing.T, l *lab) {
	t.Helper()
	v := l.claim(t, "single", func(c *corev1.PersistentVolumeClaim) {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	})
	v.run(t, "first", "worker-1")
	v.create(t, "second", "worker-1")
	eventually(t, "the second pod waits", func(ctx context.Context) error {
		pod, err := l.API().CoreV1().Pods(v.namespace).Get(ctx, "second", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && strings.Contains(condition.Message, "ReadWriteOncePod") {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %+v", pod.Status.Conditions)
	})
	v.stop(t, "first")
	v.ready(t, "second")
}
