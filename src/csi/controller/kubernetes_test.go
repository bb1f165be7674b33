package controller

import (
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestLeaderSince(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	acquired := func(transitions int32) coordinationv1.LeaseSpec {
		return coordinationv1.LeaseSpec{AcquireTime: new(metav1.NewMicroTime(at)), LeaseTransitions: &transitions}
	}
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	outage := errors.New("etcd has no leader")
	for name, test := range map[string]struct {
		namespace string
		lease     coordinationv1.LeaseSpec
		answer    error // nil: the Lease
		want      time.Time
		err       error
	}{
		"held":               {"csi", acquired(1), nil, at, nil},
		"by the first one":   {"csi", acquired(0), nil, time.Time{}, nil},
		"not held":           {"csi", coordinationv1.LeaseSpec{}, nil, time.Time{}, nil},
		"none":               {"csi", acquired(1), apierrors.NewNotFound(leases, "csi-test"), time.Time{}, nil},
		"forbidden":          {"csi", acquired(1), apierrors.NewForbidden(leases, "csi-test", nil), time.Time{}, nil},
		"not readable":       {"csi", acquired(1), outage, time.Time{}, outage},
		"namespace unknown":  {"", acquired(1), outage, time.Time{}, nil},
		"in other namespace": {"other", acquired(1), nil, time.Time{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			lease := &coordinationv1.Lease{Spec: test.lease}
			lease.Namespace, lease.Name = "csi", "csi-test"
			cluster := fake.NewClientset(lease)
			cluster.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				return test.answer != nil, nil, test.answer
			})
			api := KubernetesAPI{Leases: cluster.CoordinationV1(), Namespace: test.namespace}
			got, err := api.LeaderSince(t.Context(), "csi-test")
			if !got.Equal(test.want) || !errors.Is(err, test.err) {
				t.Errorf("%s, %v; want %s, %v", got, err, test.want, test.err)
			}
		})
	}
}

// The metadata of a claim and of a VolumeSnapshot are read by their resources.
func TestObject(t *testing.T) {
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	claim := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data", UID: "1"}}
	snapshot := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "snapshot.storage.k8s.io/v1", Kind: "VolumeSnapshot"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data", UID: "2"}}
	api := KubernetesAPI{Metadata: metadatafake.NewSimpleMetadataClient(scheme, claim, snapshot)}
	for want, one := range map[string]creation{"1": volumeCreation("", nil), "2": snapshotCreation("", nil)} {
		got, err := api.Object(t.Context(), one.kind, "shop", "data")
		if err != nil || string(got.GetUID()) != want {
			t.Errorf("%s: %v, %v; want the object with the UID %s", one.kind, got, err, want)
		}
	}
	if _, err := api.Object(t.Context(), volumeCreation("", nil).kind, "shop", "other"); !apierrors.IsNotFound(err) {
		t.Errorf("%v, want that there is no such claim", err)
	}
}

// The limit of a Node is the one in its CSINode.
func TestVolumeLimit(t *testing.T) {
	csiNode := func(name string, drivers ...storagev1.CSINodeDriver) *storagev1.CSINode {
		return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: storagev1.CSINodeSpec{Drivers: drivers}}
	}
	limited := func(driver string, limit int32) storagev1.CSINodeDriver {
		return storagev1.CSINodeDriver{Name: driver, Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}
	}
	cluster := fake.NewClientset(csiNode("worker-1", limited("csi.other", 5), limited("csi.test", 20)),
		csiNode("worker-2", storagev1.CSINodeDriver{Name: "csi.test"}), csiNode("worker-3"))
	api := KubernetesAPI{CSINodes: cluster.StorageV1()}
	for node, want := range map[string]int{"worker-1": 20, "worker-2": 0, "worker-3": 0} {
		if got, err := api.VolumeLimit(t.Context(), node, "csi.test"); got != want || err != nil {
			t.Errorf("%s: limit %d, %v; want %d", node, got, err, want)
		}
	}
	if _, err := api.VolumeLimit(t.Context(), "worker-4", "csi.test"); !apierrors.IsNotFound(err) {
		t.Errorf("%v, want that there is no such CSINode", err)
	}
}
