package demo

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// removeExample removes what examples/web.yaml made. The Service goes first, and is waited for: only a running cloud controller
// manager can take its load balancer down.
func (s *stage) removeExample(ctx context.Context) error {
	services := s.cluster.client.CoreV1().Services(s.cluster.webNamespace)
	if err := ignoreNotFound(services.Delete(ctx, webName, metav1.DeleteOptions{})); err != nil {
		return fmt.Errorf("deleting Service %s: %w", webName, err)
	}
	gone := until(ctx, "Service "+webName+" to go", func(ctx context.Context) (bool, error) {
		_, err := services.Get(ctx, webName, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	})
	deployments := s.cluster.client.AppsV1().Deployments(s.cluster.webNamespace)
	return errors.Join(gone, ignoreNotFound(deployments.Delete(ctx, webName, metav1.DeleteOptions{})))
}

// waitingFor is why the pod's container does not run yet, in the kubelet's words.
func waitingFor(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if waiting := status.State.Waiting; waiting != nil {
			return waiting.Reason + " " + waiting.Message
		}
	}
	return "no word from its node yet"
}
