package virtualnode_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// programContainer is the test program on a port of its node.
func programContainer(port int) corev1.Container {
	at := intstr.FromInt(port)
	return corev1.Container{
		Name: "main", Image: programImage + ":1", Command: []string{"/program"},
		Args: []string{fmt.Sprintf("--listen=$(HOST_IP):%d", port), "--config=/etc/program/settings.yaml"},
		Env: []corev1.EnvVar{
			{Name: roleEnv, Value: "1"},
			{Name: "HOST_IP",
				ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/program"}},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz",
			Port: at}}, PeriodSeconds: 1},
	}
}

func (c *cluster) programSpec(port int) corev1.PodSpec {
	spec := c.spec(programContainer(port))
	spec.HostNetwork = true
	spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}},
	}}}
	return spec
}

func (c *cluster) createSettings(t *testing.T, text string) {
	t.Helper()
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"},
		Data: map[string]string{"settings.yaml": text}}
	if _, err := c.client.CoreV1().ConfigMaps(c.namespace).Create(t.Context(), settings,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestDaemonSetOfPrograms(t *testing.T) {
	c := newCluster(t)
	node := c.start(t, "one", "127.0.71.1", nil)
	c.createSettings(t, "file: /etc/program/settings.yaml\n")
	labels := map[string]string{"app": "daemon"}
	_, err := c.client.AppsV1().DaemonSets(c.namespace).Create(t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "daemon"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: c.programSpec(17001)},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the DaemonSet is ready", func() error {
		set, err := c.client.AppsV1().DaemonSets(c.namespace).Get(t.Context(), "daemon", metav1.GetOptions{})
		if err == nil && (set.Status.NumberReady != 1 || set.Status.NumberAvailable != 1) {
			err = fmt.Errorf("its status is %+v", set.Status)
		}
		return err
	})
	got := c.report(t, "127.0.71.1:17001")
	if want := "--listen=127.0.71.1:17001"; got.Args[0] != want {
		t.Errorf("first argument = %q, want %q", got.Args[0], want)
	}
	file := strings.TrimPrefix(got.Args[1], "--config=")
	if !strings.HasPrefix(file, c.dir) || got.Config != "file: "+file+"\n" {
		t.Errorf("config %q says %q; want a file under %s that says where it is", file, got.Config, c.dir)
	}
	if want := "system:serviceaccount:" + c.namespace + ":default"; got.User != want {
		t.Errorf("the API server takes it for %q, want %q", got.User, want)
	}
	if got.Env["KUBERNETES_SERVICE_HOST"] != "127.0.0.1" || got.Env["HOSTNAME"] != node.Name() ||
		got.Env["PWD"] != "" || got.Env["GOCACHE"] != "" {
		t.Errorf("environment = %v; want what the pod has and nothing of ours", got.Env)
	}
}

func (c *cluster) report(t *testing.T, at string) report {
	t.Helper()
	body, err := get("http://" + at + "/report")
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestProgramStatus(t *testing.T) {
	c := newCluster(t)
	node := c.start(t, "one", "127.0.71.2", nil)
	c.createSettings(t, "a: 1\n")
	c.createPod(t, "daemon", c.programSpec(17001))
	pod := c.pod(t, "daemon", "is ready", ready)
	if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP != "127.0.71.2" || pod.Status.HostIP != "127.0.71.2" ||
		pod.Status.StartTime == nil {
		t.Errorf("status = %+v; want running on the node's address", pod.Status)
	}
	for _, s := range pod.Status.ContainerStatuses {
		if !s.Ready || s.State.Running == nil || s.RestartCount != 0 || s.ContainerID == "" || !*s.Started {
			t.Errorf("container status = %+v; want ready on the first run", s)
		}
	}
	log, err := os.ReadFile(node.Logs(c.namespace, "daemon", "main"))
	if err != nil || !strings.Contains(string(log), "listening on 127.0.71.2:17001") {
		t.Errorf("log = %q, %v; want the program's output", log, err)
	}
}

func TestProgramRestarts(t *testing.T) {
	c := newCluster(t)
	c.start(t, "one", "127.0.71.3", nil)
	c.createSettings(t, "a: 1\n")
	c.createPod(t, "daemon", c.programSpec(17001))
	c.pod(t, "daemon", "is ready", ready)
	if _, err := get("http://127.0.71.3:17001/crash"); err == nil {
		t.Fatal("the program answered instead of crashing")
	}
	pod := c.pod(t, "daemon", "runs again", func(p *corev1.Pod) bool {
		return ready(p) && p.Status.ContainerStatuses[0].RestartCount == 1
	})
	last := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.ExitCode != 3 || last.Reason != "Error" {
		t.Errorf("last termination = %+v, want exit code 3", last)
	}
}

func TestProgramStopsOnDelete(t *testing.T) {
	c := newCluster(t)
	node := c.start(t, "one", "127.0.71.4", nil)
	c.createSettings(t, "a: 1\n")
	c.createPod(t, "daemon", c.programSpec(17001))
	c.pod(t, "daemon", "is ready", ready)
	if err := c.client.CoreV1().Pods(c.namespace).Delete(t.Context(), "daemon", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod has gone", func() error {
		_, err := c.client.CoreV1().Pods(c.namespace).Get(t.Context(), "daemon", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	})
	if _, err := get("http://127.0.71.4:17001/livez"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the program answers after its pod has gone: %v", err)
	}
	log, err := os.ReadFile(node.Logs(c.namespace, "daemon", "main"))
	if err != nil || !strings.HasSuffix(string(log), "terminated\n") {
		t.Errorf("log = %q, %v; want an orderly end", log, err)
	}
	if left, err := os.ReadDir(filepath.Join(c.dir, "pods")); err != nil || len(left) != 0 {
		t.Errorf("directories left behind: %v, %v", left, err)
	}
}
