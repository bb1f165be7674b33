package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	storage "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/ptr"
)

// KubernetesAPI implements Kubernetes. Each call is one request.
type KubernetesAPI struct {
	Leases    coordination.LeasesGetter
	CSINodes  storage.CSINodesGetter
	Metadata  metadata.Interface
	Namespace string // of the driver's pod; "": it is not known, and Leases are not read
}

// LeaderSince implements Kubernetes. The sidecars have the same ServiceAccount, so that they cannot have a Lease that
// must not be read. Without a transition, the holder is the first one.
func (k KubernetesAPI) LeaderSince(ctx context.Context, name string) (time.Time, error) {
	if k.Namespace == "" {
		return time.Time{}, nil
	}
	lease, err := k.Leases.Leases(k.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	case lease.Spec.AcquireTime == nil, ptr.Deref(lease.Spec.LeaseTransitions, 1) == 0:
		return time.Time{}, nil
	}
	return lease.Spec.AcquireTime.Time, nil
}

// Object implements Kubernetes.
func (k KubernetesAPI) Object(ctx context.Context, kind schema.GroupVersionResource, namespace, name string) (
	metav1.Object, error) {
	return k.Metadata.Resource(kind).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// VolumeLimit implements Kubernetes. The CSINode has the limit that the node plug-in reported to the kubelet.
func (k KubernetesAPI) VolumeLimit(ctx context.Context, node, driver string) (int, error) {
	object, err := k.CSINodes.CSINodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	for _, one := range object.Spec.Drivers {
		if one.Name == driver && one.Allocatable != nil {
			return int(ptr.Deref(one.Allocatable.Count, 0)), nil
		}
	}
	return 0, nil
}
