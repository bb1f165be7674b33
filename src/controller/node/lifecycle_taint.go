package node

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"
)

// isShutdownTaint says whether it is the one by which Kubernetes knows that a Node's machine is shut down.
func isShutdownTaint(t corev1.Taint) bool {
	return t.Key == cloudproviderapi.TaintNodeShutdown && t.Effect == corev1.TaintEffectNoSchedule
}

func hasShutdownTaint(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isShutdownTaint)
}

// retaint gives the taint to those that should have it, and takes it from those that should not.
func (l *Lifecycle) retaint(ctx context.Context, subjects []*subject) {
	var differ []*subject
	for _, s := range subjects {
		if s.step == taint || s.step == untaint {
			differ = append(differ, s)
		}
	}
	workqueue.ParallelizeUntil(ctx, l.workers, len(differ), func(i int) {
		s := differ[i]
		err := l.patchTaint(ctx, s.node, s.step == taint)
		switch {
		case apierrors.IsConflict(err), apierrors.IsNotFound(err): // it changed meanwhile; the next pass looks at it again
		case err != nil:
			klog.FromContext(ctx).Error(err, "Shutdown taint not changed; it is retried", "node", klog.KObj(s.node))
		default:
			klog.FromContext(ctx).Info("Shutdown taint changed", "node", klog.KObj(s.node), "tainted", s.step == taint, "machine", s.sight.state)
		}
	})
}

// patchTaint changes this very state of the Node, and no later one: its taints are one value.
func (l *Lifecycle) patchTaint(ctx context.Context, node *corev1.Node, tainted bool) error {
	taints := slices.DeleteFunc(slices.Clone(node.Spec.Taints), isShutdownTaint)
	if tainted {
		taints = append(taints, corev1.Taint{Key: cloudproviderapi.TaintNodeShutdown, Effect: corev1.TaintEffectNoSchedule})
	}
	own := writer{nodes: l.client.CoreV1(), written: func(string, error) {}} // nobody counts these
	_, err := own.patch(ctx, node.Name, partNode, body{Metadata: meta{UID: node.UID, ResourceVersion: node.ResourceVersion}, Spec: &spec{Taints: taints}})
	return err
}
