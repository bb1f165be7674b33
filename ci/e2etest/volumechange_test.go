//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopdevice"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

// copied proves that a snapshot has the content of its moment and a clone that of its source, and that the volumes made
// from them can be mounted beside the first one, on the same node.
func copied(t *testing.T, l *lab) {
	t.Helper()
	class := l.storageClass(t, "xfs")
	v := l.claim(t, "first", class)
	v.run(t, "writer", "worker-1")
	before := v.file(t, "writer", "write", dataPath, dataSize)
	v.hasFilesystem(t, "writer", xfs)
	l.snapshotOf(t, v, "moment")
	after := v.file(t, "writer", "write", dataPath, dataSize)
	restored := v.claim(t, "restored", class, from(corev1.TypedLocalObjectReference{
		APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "moment"}))
	clone := v.claim(t, "clone", class, from(corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim",
		Name: v.name}))
	restored.create(t, "restored", "worker-1")
	clone.create(t, "clone", "worker-1")
	for pod, want := range map[string]string{"restored": before, "clone": after, "writer": after} {
		v.ready(t, pod)
		v.hasFilesystem(t, pod, xfs)
		v.wantSum(t, pod, dataPath, want)
	}
}

// from makes a claim one for a copy.
func from(source corev1.TypedLocalObjectReference) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.DataSource = &source }
}

// storageClass makes a StorageClass with a filesystem, and returns what makes a claim use it.
func (l *lab) storageClass(t *testing.T, filesystem string) func(*corev1.PersistentVolumeClaim) {
	t.Helper()
	classes := l.API().StorageV1().StorageClasses()
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "e2e-" + filesystem}, Provisioner: cluster.VolumesDriver,
		Parameters:        map[string]string{"volume-type": "block", "csi.storage.k8s.io/fstype": filesystem},
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer), AllowVolumeExpansion: new(true),
	}
	if _, err := classes.Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := classes.Delete(context.WithoutCancel(t.Context()), class.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &class.Name }
}

// snapshots are the VolumeSnapshots of a namespace.
func (l *lab) snapshots(t *testing.T, namespace string) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(l.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1",
		Resource: "volumesnapshots"}).Namespace(namespace)
}

// snapshotOf takes a snapshot of a volume, and waits until it can be used.
func (l *lab) snapshotOf(t *testing.T, v volume, name string) {
	t.Helper()
	snapshots := l.snapshots(t, v.namespace)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"source": map[string]any{"persistentVolumeClaimName": v.name}},
	}}
	if _, err := snapshots.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "snapshot "+name+" can be used", func(ctx context.Context) error {
		now, err := snapshots.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if usable, _, _ := unstructured.NestedBool(now.Object, "status", "readyToUse"); !usable {
			return fmt.Errorf("its status is %v", now.Object["status"])
		}
		return nil
	})
}

// expanded proves that volumes and their filesystems become larger while pods write, and that nothing is lost.
func expanded(t *testing.T, l *lab) {
	t.Helper()
	all := map[string]volume{}
	for _, filesystem := range []string{"xfs", "ext4"} {
		all[filesystem] = l.claim(t, "growing", l.storageClass(t, filesystem))
		all[filesystem].create(t, "writer", "worker-1", appending)
	}
	written, before := map[string]string{}, map[string]int64{}
	for filesystem, v := range all {
		v.ready(t, "writer")
		written[filesystem] = v.file(t, "writer", "write", dataPath, dataSize)
		before[filesystem], _ = v.space(t, "writer", dataPath)
		v.expand(t)
	}
	for filesystem, v := range all {
		if filesystem == "ext4" && !mayResize(t) {
			v.reachesLinux(t, "writer")
		} else {
			v.hasGrown(t, "writer", before[filesystem])
		}
		v.appends(t, "writer")
		v.wantSum(t, "writer", dataPath, written[filesystem])
	}
}

// mayResize reports whether Linux lets root resize an ext4 filesystem that is mounted: it requires a capability that
// root in a container or a virtual machine of CI may lack.
func mayResize(t *testing.T) bool {
	t.Helper()
	has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_RESOURCE, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return has != 0
}

// reachesLinux wants the volume to have 2 GiB, and resize2fs of the node plug-in to ask Linux to resize the filesystem,
// which is denied. The log says that the rest is not proved here.
func (v volume) reachesLinux(t *testing.T, pod string) {
	t.Helper()
	eventually(t, "Linux denies to resize the filesystem", func(ctx context.Context) error {
		if events := v.events(ctx, pod); !strings.Contains(events, "Permission denied to resize filesystem") {
			return fmt.Errorf("the events of pod %s are %s", pod, events)
		}
		return nil
	})
	persistent, err := v.lab.API().CoreV1().PersistentVolumes().Get(t.Context(), v.get(t).Spec.VolumeName,
		metav1.GetOptions{})
	if err != nil || persistent.Spec.Capacity.Storage().Cmp(resource.MustParse("2Gi")) != 0 {
		t.Errorf("the PersistentVolume has %v (%v), want 2 GiB", persistent.Spec.Capacity, err)
	}
	v.lab.report.say("         NOT PROVED: ext4 becomes larger while it is mounted. Linux requires CAP_SYS_RESOURCE " +
		"for that, which root lacks on this machine. The volume became larger, and resize2fs was denied the rest.")
}

// expand asks for 2 GiB.
func (v volume) expand(t *testing.T) {
	t.Helper()
	patch := []byte(`{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`)
	claims := v.lab.API().CoreV1().PersistentVolumeClaims(v.namespace)
	if _, err := claims.Patch(t.Context(), v.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// hasGrown waits until the claim has 2 GiB, and wants a pod to have nearly twice as much as before.
func (v volume) hasGrown(t *testing.T, pod string, before int64) {
	t.Helper()
	eventually(t, "the claim has 2 GiB", func(ctx context.Context) error {
		claim := v.get(t)
		if claim.Status.Capacity.Storage().Cmp(resource.MustParse("2Gi")) != 0 {
			return fmt.Errorf("its status is %+v; %s", claim.Status, v.events(ctx, v.name))
		}
		return nil
	})
	if now, filesystem := v.space(t, pod, dataPath); now < before+before*9/10 {
		t.Errorf("the filesystem %#x has %d bytes, and had %d before", filesystem, now, before)
	}
}

// followed proves that the volumes of a pod are attached to another node when the node of the pod is switched off and
// marked as out of service, and that what was written is there.
func followed(t *testing.T, l *lab) {
	t.Helper()
	v := l.claim(t, "following")
	v.claim(t, "device", raw)
	deployments := l.API().AppsV1().Deployments(v.namespace)
	if _, err := deployments.Create(t.Context(), v.deployment("device"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod, node := v.runs(t, "")
	written := v.file(t, pod, "write", dataPath, dataSize)
	block := v.file(t, pod, "write", devicePath, dataSize)
	v.appends(t, pod)
	if err := l.SetPower(t.Context(), node, false); err != nil {
		t.Fatal(err)
	}
	// If it was not reached below.
	t.Cleanup(func() { _ = l.SetPower(context.WithoutCancel(t.Context()), node, true) })
	l.shutDown(t, node)
	l.outOfService(t, node, true)
	t.Cleanup(func() { l.outOfService(t, node, false) })
	pod, _ = v.runs(t, node)
	v.wantSum(t, pod, dataPath, written)
	v.wantSum(t, pod, devicePath, block)
	v.appends(t, pod)
	if err := l.SetPower(t.Context(), node, true); err != nil {
		t.Fatal(err)
	}
	l.nodeUsable(t, node)
	l.outOfService(t, node, false)
	l.registeredAgain(t, node)
	v.appends(t, pod)
}

// deployment is one that has the volume and a block device of that name, and moves both when its pod is gone.
func (v volume) deployment(device string) *appsv1.Deployment {
	labels := map[string]string{"app": v.name}
	pod := &corev1.Pod{Spec: v.spec()}
	appending(pod)
	container := &pod.Spec.Containers[0]
	container.VolumeDevices = []corev1.VolumeDevice{{Name: device, DevicePath: devicePath}}
	container.SecurityContext = asRoot()
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: device, VolumeSource: sourceOf(device)})
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: v.name},
		Spec: appsv1.DeploymentSpec{
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod.Spec},
		},
	}
}

// runs waits until the pod of the Deployment is ready on another node than that.
func (v volume) runs(t *testing.T, not string) (pod, node string) {
	t.Helper()
	eventually(t, "the Deployment runs", func(ctx context.Context) error {
		pods, err := v.lab.API().CoreV1().Pods(v.namespace).List(ctx,
			metav1.ListOptions{LabelSelector: "app=" + v.name})
		if err != nil {
			return err
		}
		var seen []string
		for _, one := range pods.Items {
			if podReady(&one) && one.DeletionTimestamp == nil && one.Spec.NodeName != not {
				pod, node = one.Name, one.Spec.NodeName
				return nil
			}
			seen = append(seen, fmt.Sprintf("%s on %q is %s: %s", one.Name, one.Spec.NodeName, one.Status.Phase,
				v.events(ctx, one.Name)))
		}
		return fmt.Errorf("its pods are %q", seen)
	})
	return pod, node
}

// outOfService taints a node as an administrator does after it was switched off, or removes the taint.
func (l *lab) outOfService(t *testing.T, name string, is bool) {
	t.Helper()
	eventually(t, "node "+name+" is marked", func(context.Context) error {
		ctx := context.WithoutCancel(t.Context())
		node, err := l.API().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil || hasTaint(node, corev1.TaintNodeOutOfService) == is {
			return err
		}
		taint := corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown",
			Effect: corev1.TaintEffectNoExecute}
		kept := []corev1.Taint{}
		for _, one := range node.Spec.Taints {
			if one.Key != taint.Key {
				kept = append(kept, one)
			}
		}
		if is {
			kept = append(kept, taint)
		}
		node.Spec.Taints = kept
		_, err = l.API().CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// noVolumes comes after all proofs with volumes, whose namespaces have been deleted.
func noVolumes(t *testing.T, l *lab) {
	t.Helper()
	customer, err := l.Customer()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "neither the cluster nor the cloud has volumes", func(ctx context.Context) error {
		persistent, failed := l.API().CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		attachments, err := l.API().StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
		if err = errors.Join(failed, err); err != nil {
			return err
		}
		volumes, failed := customer.ListVolumes(ctx, nil)
		snapshots, err := customer.ListSnapshots(ctx, nil)
		if err = errors.Join(failed, err); err != nil {
			return err
		}
		if n := len(persistent.Items) + len(attachments.Items) + len(volumes) + len(snapshots); n > 0 {
			return fmt.Errorf("there are %d PersistentVolumes, %d VolumeAttachments, %d volumes and %d snapshots",
				len(persistent.Items), len(attachments.Items), len(volumes), len(snapshots))
		}
		return nil
	})
	for _, node := range []string{"worker-1", "worker-2"} {
		l.noMounts(t, node)
	}
}

// noMounts wants a machine to have no disk and nothing mounted for volumes.
func (l *lab) noMounts(t *testing.T, node string) {
	t.Helper()
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", l.Node(node).PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, " /var/lib/kubelet/") && strings.Contains(line, "csi") {
			t.Errorf("node %s has still mounted %s", node, line)
		}
	}
	disks := filepath.Join(fmt.Sprintf("/proc/%d/root", l.Node(node).PID()), "dev/disk/by-id")
	if links, err := os.ReadDir(disks); err != nil || len(links) > 0 {
		t.Errorf("node %s has the disks %v: %v", node, links, err)
	}
	devices, err := loopdevice.Below(filepath.Dir(filepath.Dir(filepath.Dir(l.Node(node).Disks()))))
	if err != nil || len(devices) > 0 {
		t.Errorf("there are loop devices of volumes %v: %v", devices, err)
	}
}
