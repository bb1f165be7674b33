package virtualnode_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

const credentials = "/etc/manager/credentials"

// manager is a DaemonSet in the shape that cloud controller managers have: on control plane nodes,
// on the host network, tolerating everything, restricted, probed over HTTPS, with its configuration
// in a ConfigMap and its credentials in a Secret.
func (c *cluster) manager(port int) *appsv1.DaemonSet {
	no, yes, user := false, true, int64(65532)
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString("https"), Scheme: corev1.URISchemeHTTPS,
		}}}
	}
	container := programContainer(port)
	container.Args = append(container.Args, "--tls", "--unready="+credentials+"/unready")
	container.Ports = []corev1.ContainerPort{{Name: "https", ContainerPort: int32(port)}}
	container.LivenessProbe, container.ReadinessProbe = probe("/livez"), probe("/readyz")
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "credentials",
		MountPath: credentials, ReadOnly: true})
	container.SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	spec := c.programSpec(port)
	spec.Containers = []corev1.Container{container}
	spec.DNSPolicy, spec.PriorityClassName = corev1.DNSDefault, "system-cluster-critical"
	spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user}
	spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.NodeSelectorOpExists},
			}}},
		},
	}}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "credentials",
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "credentials"}}})
	labels := map[string]string{"app": "manager"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "manager"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
}

func (c *cluster) putSecret(t *testing.T, create bool, data map[string]string) {
	t.Helper()
	secrets := c.client.CoreV1().Secrets(c.namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "credentials"}, StringData: data}
	var err error
	if create {
		_, err = secrets.Create(t.Context(), secret, metav1.CreateOptions{})
	} else {
		_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestManagerOnControlPlane(t *testing.T) {
	c := newCluster(t)
	control := c.start(t, "control", "127.0.77.1", func(o *virtualnode.Options) { o.ControlPlane = true })
	c.start(t, "worker", "127.0.77.2", nil)
	c.createSettings(t, "directory: "+credentials+"\n")
	if _, err := c.client.AppsV1().DaemonSets(c.namespace).Create(t.Context(), c.manager(17001),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods := c.client.CoreV1().Pods(c.namespace)
	name := ""
	eventually(t, "there is one pod", func() error {
		list, err := pods.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 {
			return errors.Join(fmt.Errorf("%d pods", len(list.Items)), err)
		}
		name = list.Items[0].Name
		return nil
	})
	c.event(t, name, "FailedMount", `reading Secret "credentials"`)
	c.putSecret(t, true, map[string]string{"token": "one"})
	pod := c.pod(t, name, "is ready once its Secret exists", ready)
	if pod.Spec.NodeName != control.Name() || pod.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("runs on %s with %d restarts, want the control plane node and none", pod.Spec.NodeName,
			pod.Status.ContainerStatuses[0].RestartCount)
	}

	directory := filepath.Join(c.dir, "pods", string(pod.UID), "containers/main/volumes/credentials")
	if text, err := os.ReadFile(filepath.Join(filepath.Dir(directory), "config/settings.yaml")); err != nil ||
		string(text) != "directory: "+directory+"\n" {
		t.Errorf("configuration = %q, %v; want that it names %s", text, err, directory)
	}
	c.putSecret(t, false, map[string]string{"token": "two", "unready": ""})
	c.pod(t, name, "sees the changed Secret", func(p *corev1.Pod) bool { return !ready(p) })
	if text, err := os.ReadFile(filepath.Join(directory, "token")); err != nil || string(text) != "two" {
		t.Errorf("credentials = %q, %v; want the new ones", text, err)
	}
	log, err := os.ReadFile(control.Logs(c.namespace, name, "main"))
	if err != nil || strings.Count(string(log), "listening on") != 1 {
		t.Errorf("log = %q, %v; want one run", log, err)
	}
}
