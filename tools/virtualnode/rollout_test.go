package virtualnode_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A Deployment that lets its pods serve on for a while (preStop.sleep) is replaced without a
// failed request, as on real nodes.
func TestRolloutWithoutFailures(t *testing.T) {
	c := newCluster(t)
	one := c.start(t, "one", "127.0.76.1", nil)
	c.start(t, "two", "127.0.76.2", nil)
	c.deployWeb(t, 2, careful)
	service := c.exposeWeb(t, corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort})
	address := at(one, service.Spec.Ports[0].NodePort)
	c.rolledOut(t)
	eventually(t, "the service answers", func() error {
		_, err := page(address)
		return err
	})

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failures := make(chan error, 1)
	requests := 0
	go func() {
		defer close(failures)
		for ctx.Err() == nil {
			requests++
			if _, err := page(address); err != nil {
				failures <- err
				return
			}
		}
	}()
	c.patchWeb(t, `{"spec":{"template":{"metadata":{"annotations":{"version":"2"}}}}}`)
	c.rolledOut(t)
	cancel()
	for err := range failures {
		t.Errorf("request %d failed during the rollout: %v", requests, err)
	}
	t.Logf("%d requests during the rollout", requests)
}

// careful makes a Deployment replace one pod at a time, each only when the next one is ready, and
// lets the old one serve until all proxies know.
func careful(d *appsv1.Deployment) {
	none, one := intstr.FromInt(0), intstr.FromInt(1)
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxUnavailable: &none, MaxSurge: &one}
	d.Spec.Template.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 2}}}
}

func (c *cluster) patchWeb(t *testing.T, patch string) {
	t.Helper()
	if _, err := c.client.AppsV1().Deployments(c.namespace).Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// rolledOut waits until all pods are of the present generation and the old ones have gone.
func (c *cluster) rolledOut(t *testing.T) {
	t.Helper()
	eventually(t, "the Deployment is rolled out", func() error {
		d, err := c.client.AppsV1().Deployments(c.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if s := d.Status; s.ObservedGeneration != d.Generation || s.UpdatedReplicas != 2 || s.AvailableReplicas != 2 || s.Replicas != 2 {
			return fmt.Errorf("its status is %+v", s)
		}
		list, err := c.client.CoreV1().Pods(c.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		if err == nil && len(list.Items) != 2 {
			err = fmt.Errorf("there are %d pods", len(list.Items))
		}
		return err
	})
}

// Containers of a pod share an emptyDir, and an init container has ended before they start.
func TestPodWithSeveralContainers(t *testing.T) {
	c := newCluster(t)
	c.start(t, "one", "127.0.76.3", nil)
	c.createSettings(t, "a: 1\n")
	spec := c.programSpec(17001)
	second := programContainer(17002)
	second.Name = "second"
	spec.Containers = append(spec.Containers, second)
	initial := programContainer(17003)
	initial.Name, initial.ReadinessProbe, initial.LivenessProbe = "init", nil, nil
	initial.Args = []string{"--unknown-flag"}
	spec.InitContainers = []corev1.Container{initial}
	c.createPod(t, "daemon", spec)
	pod := c.pod(t, "daemon", "is held up by its init container", func(p *corev1.Pod) bool {
		return len(p.Status.InitContainerStatuses) == 1 && p.Status.InitContainerStatuses[0].RestartCount > 0
	})
	if pod.Status.Phase != corev1.PodPending || pod.Status.ContainerStatuses[0].State.Waiting == nil {
		t.Errorf("status = %+v, want a pod that does not start before its init container has succeeded", pod.Status)
	}

	spec.InitContainers = nil
	spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "shared", MountPath: "/shared"})
	spec.Containers[1].VolumeMounts = append(spec.Containers[1].VolumeMounts, corev1.VolumeMount{Name: "shared", MountPath: "/var/shared"})
	spec.Containers[0].Env = append(spec.Containers[0].Env, corev1.EnvVar{Name: "SHARED", Value: "/shared"})
	spec.Containers[1].Env = append(spec.Containers[1].Env, corev1.EnvVar{Name: "SHARED", Value: "/var/shared"})
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "shared", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	c.createPod(t, "pair", spec)
	c.pod(t, "pair", "is ready", ready)
	first, other := c.report(t, "127.0.76.3:17001"), c.report(t, "127.0.76.3:17002")
	if first.Env["SHARED"] != other.Env["SHARED"] || first.Config != other.Config {
		t.Errorf("shared directory %q and %q, config %q and %q; want the same", first.Env["SHARED"], other.Env["SHARED"], first.Config, other.Config)
	}
}

// A Job's pod ends by itself.
func TestPodThatEnds(t *testing.T) {
	c := newCluster(t)
	c.start(t, "one", "127.0.76.4", nil)
	c.createSettings(t, "a: 1\n")
	spec := c.programSpec(17001)
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.Containers[0].ReadinessProbe, spec.Containers[0].LivenessProbe = nil, nil
	spec.Containers[0].Args = []string{"--unknown-flag"}
	spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	c.createPod(t, "job", spec)
	pod := c.pod(t, "job", "has failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	ended := pod.Status.ContainerStatuses[0].State.Terminated
	if ended == nil || ended.ExitCode != 2 || ended.Message == "" {
		t.Errorf("container = %+v, want exit code 2 and the end of its log", pod.Status.ContainerStatuses[0].State)
	}
	if err := c.client.CoreV1().Pods(c.namespace).Delete(t.Context(), "job", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod has gone", func() error {
		list, err := c.client.CoreV1().Pods(c.namespace).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("there are %d pods", len(list.Items))
		}
		return err
	})
}
