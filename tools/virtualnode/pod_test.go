package virtualnode_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// waits returns a condition: the first container waits for a reason with a message.
func waits(reason, message string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		if len(pod.Status.ContainerStatuses) == 0 {
			return false
		}
		w := pod.Status.ContainerStatuses[0].State.Waiting
		return w != nil && w.Reason == reason && strings.Contains(w.Message, message)
	}
}

// event waits for an event about a pod.
func (c *cluster) event(t *testing.T, pod, reason, message string) {
	t.Helper()
	eventually(t, fmt.Sprintf("there is an event %s: %s", reason, message), func() error {
		events, err := c.client.CoreV1().Events(c.namespace).List(t.Context(),
			metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
		if err != nil {
			return err
		}
		var seen []string
		for _, e := range events.Items {
			if e.Reason == reason && strings.Contains(e.Message, message) {
				return nil
			}
			seen = append(seen, e.Reason+": "+e.Message)
		}
		return fmt.Errorf("there are %q", seen)
	})
}

func TestPodsThatCannotStart(t *testing.T) {
	c := newCluster(t)
	c.start(t, "one", "127.0.73.1", nil)
	hostPath := c.spec(corev1.Container{Name: "main", Image: programImage,
		VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/etc"}}})
	hostPath.Volumes = []corev1.Volume{{Name: "v",
		VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}}}}
	secretKey := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "login"}, Key: "k"}
	fromSecret := c.spec(corev1.Container{Name: "main", Image: programImage,
		Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: secretKey}}}})
	tests := []struct {
		name            string
		spec            corev1.PodSpec
		reason, message string
		event           string
	}{
		{"unknown image", c.spec(corev1.Container{Name: "main", Image: "registry.test/other:1"}), "ImagePullBackOff",
			`does not have "registry.test/other:1"; it has: ` + programImage, "Failed"},
		{"host path", hostPath, "ContainerCreating", "virtual nodes have configMap", "FailedMount"},
		{"from secret", fromSecret, "CreateContainerConfigError", "setting X: virtual nodes support value and fieldRef",
			"Failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			name := strings.ReplaceAll(tt.name, " ", "-")
			c.createPod(t, name, tt.spec)
			pod := c.pod(t, name, "waits", waits(tt.reason, tt.message))
			if pod.Status.Phase != corev1.PodPending {
				t.Errorf("phase = %s, want Pending", pod.Status.Phase)
			}
			c.event(t, name, tt.event, tt.message)
		})
	}
}

func TestProgramSeesChanges(t *testing.T) {
	c := newCluster(t)
	c.start(t, "one", "127.0.73.2", nil)
	c.createSettings(t, "a: 1\n")
	spec := c.programSpec(17001)
	container := &spec.Containers[0]
	container.Args = append(container.Args, "--unready=/etc/program/unready")
	c.createPod(t, "daemon", spec)
	c.pod(t, "daemon", "is ready", ready)
	if got := c.report(t, "127.0.73.2:17001").Config; got != "a: 1\n" {
		t.Errorf("config = %q, want the first version", got)
	}
	change := func(data map[string]string) {
		t.Helper()
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: data}
		if _, err := c.client.CoreV1().ConfigMaps(c.namespace).Update(t.Context(), settings,
			metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	change(map[string]string{"settings.yaml": "a: 2\n", "unready": ""})
	pod := c.pod(t, "daemon", "is no longer ready", func(p *corev1.Pod) bool { return !ready(p) })
	if s := pod.Status.ContainerStatuses[0]; s.RestartCount != 0 || s.State.Running == nil {
		t.Errorf("container = %+v, want it running on", s)
	}
	if got := c.report(t, "127.0.73.2:17001").Config; got != "a: 2\n" {
		t.Errorf("config = %q, want the second version", got)
	}
	c.event(t, "daemon", "Unhealthy", "Readiness probe failed: HTTP probe")
	change(map[string]string{"settings.yaml": "a: 3\n"})
	c.pod(t, "daemon", "is ready again", ready)
}

// The files of a pod are for its user alone, and nothing of them is left when it has gone.
func TestPodDirectory(t *testing.T) {
	c := newCluster(t)
	c.start(t, "one", "127.0.73.4", nil)
	c.createSettings(t, "a: 1\n")
	c.createPod(t, "daemon", c.programSpec(17001))
	pod := c.pod(t, "daemon", "is ready", ready)
	dir := filepath.Join(c.dir, "pods", string(pod.UID))
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory of the pod: %v, %v; want mode 0700", info, err)
	}
	token := filepath.Join(dir, "containers/main/volumes")
	if found, err := filepath.Glob(token + "/kube-api-access-*/token"); err != nil || len(found) != 1 {
		t.Errorf("tokens under %s: %v, %v; want one", token, found, err)
	}
}
