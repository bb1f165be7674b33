package nodelifecycle

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
)

// isShutdownTaint reports whether it is the taint of Kubernetes for Nodes whose machines are shut down.
func isShutdownTaint(t corev1.Taint) bool {
	return t.Key == cloudproviderapi.TaintNodeShutdown && t.Effect == corev1.TaintEffectNoSchedule
}

func hasShutdownTaint(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isShutdownTaint)
}

// retaint adds or removes the shutdown taint where it differs.
func (c *Controller) retaint(ctx context.Context, subjects []*subject) {
	var differ []*subject
	for _, s := range subjects {
		if s.step == taint || s.step == untaint {
			differ = append(differ, s)
		}
	}
	workqueue.ParallelizeUntil(ctx, c.workers, len(differ), func(i int) {
		s := differ[i]
		err := c.patchTaint(ctx, s.node, s.step == taint)
		switch {
		// it changed meanwhile; the next pass compares it again
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		case err != nil:
			klog.FromContext(ctx).Error(err, "Shutdown taint not changed; it is retried", "node", klog.KObj(s.node))
		default:
			klog.FromContext(ctx).Info("Shutdown taint changed", "node", klog.KObj(s.node), "tainted", s.step == taint,
				"machine", s.observation.state)
		}
	})
}

// patchTaint changes only this version of the Node, because the list of taints is written as a whole.
func (c *Controller) patchTaint(ctx context.Context, node *corev1.Node, tainted bool) error {
	taints := slices.DeleteFunc(slices.Clone(node.Spec.Taints), isShutdownTaint)
	if tainted {
		taints = append(taints, corev1.Taint{Key: cloudproviderapi.TaintNodeShutdown,
			Effect: corev1.TaintEffectNoSchedule})
	}
	_, err := patch.Merge(ctx, c.client.CoreV1().Nodes().Patch, node.Name, patch.Body{
		Metadata: patch.Metadata{UID: node.UID, ResourceVersion: node.ResourceVersion},
		Spec:     map[string]any{"taints": taints},
	})
	return err
}
