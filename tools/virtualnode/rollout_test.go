package virtualnode_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A pod that needs what a virtual node does not have says so.
func TestUnsupported(t *testing.T) {
	c := newCluster(t)
	c.start(t, "one", "127.0.76.3", nil)
	spec := c.programSpec(17001)
	spec.InitContainers = []corev1.Container{programContainer(17002)}
	spec.InitContainers[0].Name, spec.InitContainers[0].ReadinessProbe, spec.InitContainers[0].LivenessProbe = "init",
		nil, nil
	c.createPod(t, "daemon", spec)
	c.pod(t, "daemon", "waits", waits("CreateContainerConfigError", "virtual nodes run no init containers"))
}

// Two containers of a pod run beside each other, each with its own files.
func TestPodWithTwoContainers(t *testing.T) {
	c := newCluster(t)
	c.start(t, "one", "127.0.76.5", nil)
	c.createSettings(t, "a: 1\n")
	spec := c.programSpec(17001)
	second := programContainer(17002)
	second.Name = "second"
	spec.Containers = append(spec.Containers, second)
	c.createPod(t, "pair", spec)
	c.pod(t, "pair", "is ready", ready)
	first, other := c.report(t, "127.0.76.5:17001"), c.report(t, "127.0.76.5:17002")
	if first.Args[1] == other.Args[1] || first.Config != other.Config {
		t.Errorf("config %q of %q and %q of %q; want the same in different files", first.Config, first.Args[1],
			other.Config, other.Args[1])
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
