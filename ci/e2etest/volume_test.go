//go:build e2e

package e2etest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

const (
	// dataPath is a file on the volume of a pod, devicePath one that is a block device.
	dataPath   = "/data/content"
	devicePath = "/device"
	// recordsPath is a file to which a pod appends records.
	recordsPath = "/data/records"
	// dataSize is the size of what is written, in bytes.
	dataSize = "8388608"
	// guestUser is whom the images of the lab run as.
	guestUser = 65532
)

// The types of filesystems, as statfs returns them.
const (
	ext4 = 0xef53
	xfs  = 0x58465342
)

// volume is a claim of a proof, and the namespace that it is in. Both are deleted with the test.
type volume struct {
	lab             *lab
	namespace, name string
}

// claim makes a claim of 1 GiB in a namespace of its own.
func (l *lab) claim(t *testing.T, name string, adjust ...func(*corev1.PersistentVolumeClaim)) volume {
	t.Helper()
	v := volume{l, l.namespace(t), name}
	v.claim(t, name, adjust...)
	return v
}

// claim makes another claim in the same namespace.
func (v volume) claim(t *testing.T, name string, adjust ...func(*corev1.PersistentVolumeClaim)) volume {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	for _, change := range adjust {
		change(claim)
	}
	if _, err := v.lab.API().CoreV1().PersistentVolumeClaims(v.namespace).Create(t.Context(), claim,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return volume{v.lab, v.namespace, name}
}

// spec is a pod that has the volume at /data, and waits. It may run on any node.
func (v volume) spec() corev1.PodSpec {
	return corev1.PodSpec{
		SecurityContext:               &corev1.PodSecurityContext{FSGroup: new(int64(guestUser))},
		TerminationGracePeriodSeconds: new(int64(1)),
		Containers: []corev1.Container{{
			Name: "guest", Image: cluster.GuestImage, ImagePullPolicy: corev1.PullNever,
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
		}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: sourceOf(v.name)}},
	}
}

func sourceOf(claim string) corev1.VolumeSource {
	return corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}
}

// raw makes a claim one for a block device.
func raw(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) }

// asDevice makes the volume of a pod a block device.
func asDevice(pod *corev1.Pod) {
	container := &pod.Spec.Containers[0]
	container.VolumeMounts = nil
	container.VolumeDevices = []corev1.VolumeDevice{{Name: "data", DevicePath: devicePath}}
	container.SecurityContext = asRoot()
}

// asRoot is for containers with a block device: it belongs to root.
func asRoot() *corev1.SecurityContext { return &corev1.SecurityContext{RunAsUser: new(int64(0))} }

// appending makes a pod append records for as long as it runs.
func appending(pod *corev1.Pod) {
	pod.Spec.Containers[0].Args = []string{"file", "append", recordsPath}
}

// create makes a pod with the volume on a node.
func (v volume) create(t *testing.T, pod, node string, adjust ...func(*corev1.Pod)) {
	t.Helper()
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod}, Spec: v.spec()}
	object.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	for _, change := range adjust {
		change(object)
	}
	pods := v.lab.API().CoreV1().Pods(v.namespace)
	if _, err := pods.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// run makes a pod with the volume on a node, and waits until it is ready.
func (v volume) run(t *testing.T, pod, node string, adjust ...func(*corev1.Pod)) {
	t.Helper()
	v.create(t, pod, node, adjust...)
	v.ready(t, pod)
}

func (v volume) ready(t *testing.T, pod string) {
	t.Helper()
	eventually(t, "pod "+pod+" runs with volume "+v.name, func(ctx context.Context) error {
		object, err := v.lab.API().CoreV1().Pods(v.namespace).Get(ctx, pod, metav1.GetOptions{})
		if err == nil && !podReady(object) {
			err = fmt.Errorf("it is %s: %+v; %s", object.Status.Phase, object.Status.ContainerStatuses,
				v.events(ctx, pod))
		}
		return err
	})
}

// events are what was last reported about a pod.
func (v volume) events(ctx context.Context, pod string) string {
	events, err := v.lab.API().CoreV1().Events(v.namespace).List(ctx,
		metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, event := range events.Items {
		all = append(all, event.Reason+": "+event.Message)
	}
	return strings.Join(all, "; ")
}

// stop deletes a pod, and waits until it is gone.
func (v volume) stop(t *testing.T, pod string) {
	t.Helper()
	pods := v.lab.API().CoreV1().Pods(v.namespace)
	if err := pods.Delete(t.Context(), pod, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "pod "+pod+" is gone", func(ctx context.Context) error {
		_, err := pods.Get(ctx, pod, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}

// tryFile runs a command of `guest file` in a pod, and returns what it prints.
func (v volume) tryFile(t *testing.T, pod string, command ...string) (string, error) {
	t.Helper()
	output, err := v.lab.exec(t, v.namespace, pod, append([]string{"/guest", "file"}, command...)...)
	if err != nil {
		return "", fmt.Errorf("%v in pod %s: %w: %s", command, pod, err, output)
	}
	return strings.TrimSpace(output), nil
}

// file is tryFile, and must succeed.
func (v volume) file(t *testing.T, pod string, command ...string) string {
	t.Helper()
	output, err := v.tryFile(t, pod, command...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// wantSum wants a pod to read content with a checksum.
func (v volume) wantSum(t *testing.T, pod, path, want string) {
	t.Helper()
	if got := v.file(t, pod, "sum", path, dataSize); got != want {
		t.Errorf("pod %s reads %s with the checksum %s, and %s was written", pod, path, got, want)
	}
}

// space is the size of what a pod has at a path, and the type of the filesystem.
func (v volume) space(t *testing.T, pod, path string) (size, filesystem int64) {
	t.Helper()
	output := v.file(t, pod, "space", path)
	if _, err := fmt.Sscanf(output, "%d %v", &size, &filesystem); err != nil {
		t.Fatalf("pod %s prints %q: %v", pod, output, err)
	}
	return size, filesystem
}

func (v volume) hasFilesystem(t *testing.T, pod string, want int64) {
	t.Helper()
	if _, got := v.space(t, pod, dataPath); got != want {
		t.Errorf("pod %s has a filesystem of type %#x, want %#x", pod, got, want)
	}
}

// records is the number of records that a pod has appended. All must be there, and intact.
func (v volume) records(t *testing.T, pod string) (number int, err error) {
	t.Helper()
	output, err := v.tryFile(t, pod, "check", recordsPath)
	if err == nil {
		_, err = fmt.Sscan(output, &number)
	}
	return number, err
}

// appends wants a pod to append records, and to have done so without an error, which ends it. A kubelet that has just
// started does not know its pods yet.
func (v volume) appends(t *testing.T, pod string) {
	t.Helper()
	object, err := v.lab.API().CoreV1().Pods(v.namespace).Get(t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, container := range object.Status.ContainerStatuses {
		if container.RestartCount > 0 {
			t.Errorf("pod %s was started again: %+v", pod, container.LastTerminationState)
		}
	}
	before := 0
	eventually(t, "pod "+pod+" writes", func(context.Context) error {
		now, err := v.records(t, pod)
		if err != nil {
			return err
		}
		if before == 0 || now <= before {
			before = max(before, now)
			return fmt.Errorf("it has written %d records", now)
		}
		return nil
	})
}
