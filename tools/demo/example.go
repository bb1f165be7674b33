package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// removeExample removes what examples/web.yaml made. The Service goes first, and is waited for: only a running cloud
// controller manager can take its load balancer down.
func (s *stage) removeExample(ctx context.Context) error {
	services := s.cluster.client.CoreV1().Services(s.cluster.webNamespace)
	if err := ignoreNotFound(services.Delete(ctx, webName, metav1.DeleteOptions{})); err != nil {
		return fmt.Errorf("deleting Service %s: %w", webName, err)
	}
	gone := until(ctx, "Service "+webName+" is gone", func(ctx context.Context) (bool, error) {
		_, err := services.Get(ctx, webName, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	})
	deployments := s.cluster.client.AppsV1().Deployments(s.cluster.webNamespace)
	return errors.Join(gone, ignoreNotFound(deployments.Delete(ctx, webName, metav1.DeleteOptions{})))
}

// restarted reports whether a container of the pod has ended at least once.
func restarted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
		return status.RestartCount > 0
	})
}

// workloadTrouble is why the chart's workload has no pod, in the words of the controller that should make it.
func (c *cluster) workloadTrouble(ctx context.Context) error {
	events, err := c.client.CoreV1().Events(c.systemNamespace).List(ctx,
		metav1.ListOptions{FieldSelector: "involvedObject.kind=DaemonSet,type=Warning"})
	if err != nil || len(events.Items) == 0 {
		return errors.Join(err, errors.New("the DaemonSet has no pod yet"))
	}
	return errors.New(events.Items[len(events.Items)-1].Message)
}

// waitingFor is why the pod's container does not run yet, in the kubelet's words.
func waitingFor(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if waiting := status.State.Waiting; waiting != nil {
			return waiting.Reason + " " + waiting.Message
		}
	}
	if restarted(pod) {
		return "its container ended and was started again"
	}
	return "no word from its node yet"
}
