package sidecar

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

const (
	// limit bounds every wait.
	limit = time.Minute
	// nodeID is what the driver calls the node.
	nodeID = "machine-1"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// cluster is a control plane with a driver, its sidecars, and a namespace. Objects without a namespace have its name.
type cluster struct {
	*testing.T
	kubernetes.Interface
	dynamic   dynamic.Interface
	namespace string
	driver    *driver
	sidecars  *Sidecars
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	plane := controlplanetest.Get(t)
	if err := InstallDefinitions(t.Context(), plane.Config()); err != nil {
		t.Fatal(err)
	}
	c := &cluster{T: t, Interface: controlplanetest.Client(t, plane), namespace: controlplanetest.Namespace(t)}
	var err error
	if c.dynamic, err = dynamic.NewForConfig(plane.Config()); err != nil {
		t.Fatal(err)
	}
	var socket string
	c.driver, socket = startDriver(t)
	c.sidecars, err = Start(t.Context(), Options{Kubeconfig: plane.Kubeconfig(), Socket: socket, Logs: t.TempDir(),
		LeaderElection: c.namespace, Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.sidecars.Tail())
		}
		if err := c.sidecars.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// eventually waits until check returns no error, or a sidecar ends.
func (c *cluster) eventually(what string, check func(context.Context) error) {
	c.Helper()
	controlplanetest.Eventually(c, limit, what, func(ctx context.Context) error {
		if err := c.sidecars.Err(); err != nil {
			return poll.Final(err)
		}
		return check(ctx)
	})
}

// later makes a request after the test.
func (c *cluster) later(request func(context.Context, string, metav1.DeleteOptions) error) {
	c.Cleanup(func() {
		if err := request(context.WithoutCancel(c.Context()), c.namespace, metav1.DeleteOptions{}); err != nil {
			c.Error(err)
		}
	})
}

// sent fails the test with the error of a request.
func (c *cluster) sent(_ any, err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// addClass makes a StorageClass whose volumes can be expanded.
func (c *cluster) addClass() {
	c.Helper()
	classes := c.StorageV1().StorageClasses()
	c.sent(classes.Create(c.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: c.namespace}, Provisioner: driverName, AllowVolumeExpansion: new(true),
	}, metav1.CreateOptions{}))
	c.later(classes.Delete)
}

// addNode makes a node on which the driver runs, as kubelet would.
func (c *cluster) addNode() {
	c.Helper()
	node := metav1.ObjectMeta{Name: c.namespace}
	c.sent(c.CoreV1().Nodes().Create(c.Context(), &corev1.Node{ObjectMeta: node},
		metav1.CreateOptions{}))
	c.later(c.CoreV1().Nodes().Delete)
	c.sent(c.StorageV1().CSINodes().Create(c.Context(), &storagev1.CSINode{ObjectMeta: node,
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driverName, NodeID: nodeID}}},
	}, metav1.CreateOptions{}))
	c.later(c.StorageV1().CSINodes().Delete)
}

// addClaim makes a claim, of a snapshot if one is named, and waits until it is bound to a volume.
func (c *cluster) addClaim(name, size, snapshot string) *corev1.PersistentVolumeClaim {
	c.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &c.namespace,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: storage(size)},
		},
	}
	if snapshot != "" {
		claim.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: new(snapshots("").Group),
			Kind: "VolumeSnapshot", Name: snapshot}
	}
	claims := c.CoreV1().PersistentVolumeClaims(c.namespace)
	c.sent(claims.Create(c.Context(), claim, metav1.CreateOptions{}))
	c.eventually("the claim "+name+" is bound", func(ctx context.Context) (err error) {
		if claim, err = claims.Get(ctx, name, metav1.GetOptions{}); err == nil &&
			claim.Status.Phase != corev1.ClaimBound {
			err = fmt.Errorf("its phase is %q", claim.Status.Phase)
		}
		return err
	})
	return claim
}

func storage(quantity string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(quantity)}
}

// attach attaches the volume of a claim, as the controller manager does for a pod.
func (c *cluster) attach(claim *corev1.PersistentVolumeClaim) {
	c.Helper()
	attachments := c.StorageV1().VolumeAttachments()
	c.sent(attachments.Create(c.Context(), &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: c.namespace},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: driverName, NodeName: c.namespace,
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &claim.Spec.VolumeName}},
	}, metav1.CreateOptions{}))
	c.eventually("the volume is attached", func(ctx context.Context) error {
		one, err := attachments.Get(ctx, c.namespace, metav1.GetOptions{})
		if err == nil && (!one.Status.Attached || one.Status.AttachmentMetadata["device"] == "") {
			err = fmt.Errorf("its status is %+v", one.Status)
		}
		return err
	})
}

// detach deletes what attach made, and waits until the volume is detached.
func (c *cluster) detach(claim string) {
	c.Helper()
	if err := c.StorageV1().VolumeAttachments().Delete(c.Context(), c.namespace, metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
	c.eventually("the volume is detached", func(context.Context) error {
		if v, _, _ := c.driver.state(claim); v.node != "" {
			return fmt.Errorf("it is attached to %s", v.node)
		}
		return nil
	})
}

// expand requests a larger volume, and waits until the claim has it.
func (c *cluster) expand(claim, to string) {
	c.Helper()
	claims := c.CoreV1().PersistentVolumeClaims(c.namespace)
	patch := fmt.Sprintf(`{"spec": {"resources": {"requests": {"storage": %q}}}}`, to)
	c.sent(claims.Patch(c.Context(), claim, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}))
	c.eventually("the claim has its new size", func(ctx context.Context) error {
		one, err := claims.Get(ctx, claim, metav1.GetOptions{})
		if err == nil && one.Status.Capacity.Storage().Cmp(resource.MustParse(to)) != 0 {
			err = fmt.Errorf("its capacity is %s, its conditions %+v", one.Status.Capacity.Storage(),
				one.Status.Conditions)
		}
		return err
	})
}

// snapshots is a resource of snapshots: volumesnapshots with a plural.
func snapshots(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: plural}
}

// object returns an object of snapshots.
func object(kind, name string, content map[string]any) *unstructured.Unstructured {
	content["apiVersion"], content["kind"] = snapshots("").GroupVersion().String(), kind
	content["metadata"] = map[string]any{"name": name}
	return &unstructured.Unstructured{Object: content}
}

// snapshot makes a snapshot of a claim, and waits until it is ready.
func (c *cluster) snapshot(name, claim string) {
	c.Helper()
	classes := c.dynamic.Resource(snapshots("volumesnapshotclasses"))
	c.sent(classes.Create(c.Context(), object("VolumeSnapshotClass", c.namespace,
		map[string]any{"driver": driverName, "deletionPolicy": "Delete"}), metav1.CreateOptions{}))
	c.later(func(ctx context.Context, name string, o metav1.DeleteOptions) error {
		return classes.Delete(ctx, name, o)
	})
	all := c.dynamic.Resource(snapshots("volumesnapshots")).Namespace(c.namespace)
	c.sent(all.Create(c.Context(), object("VolumeSnapshot", name, map[string]any{"spec": map[string]any{
		"volumeSnapshotClassName": c.namespace, "source": map[string]any{"persistentVolumeClaimName": claim}}}),
		metav1.CreateOptions{}))
	c.eventually("the snapshot is ready", func(ctx context.Context) error {
		one, err := all.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ready, _, err := unstructured.NestedBool(one.Object, "status", "readyToUse"); err != nil || !ready {
			return errors.Join(err, fmt.Errorf("its status is %v", one.Object["status"]))
		}
		return nil
	})
}

// deleteAll deletes claims and snapshots, and waits until the driver has nothing left.
func (c *cluster) deleteAll() {
	c.Helper()
	err := errors.Join(
		c.dynamic.Resource(snapshots("volumesnapshots")).Namespace(c.namespace).DeleteCollection(c.Context(),
			metav1.DeleteOptions{}, metav1.ListOptions{}),
		c.CoreV1().PersistentVolumeClaims(c.namespace).DeleteCollection(c.Context(), metav1.DeleteOptions{},
			metav1.ListOptions{}))
	if err != nil {
		c.Fatal(err)
	}
	c.eventually("the driver has no volumes and no snapshots", func(context.Context) error {
		if _, volumes, snapshots := c.driver.state(""); volumes+snapshots > 0 {
			return fmt.Errorf("it has %d volumes and %d snapshots", volumes, snapshots)
		}
		return nil
	})
}

// TestVolume follows a volume from its claim to its deletion.
func TestVolume(t *testing.T) {
	c := newCluster(t)
	c.addClass()
	c.addNode()
	claim := c.addClaim("first", "2Gi", "")
	c.attach(claim)
	if v, _, _ := c.driver.state("first"); v.size != 2<<30 || v.node != nodeID {
		t.Errorf("the driver has %+v, want 2 GiB attached to %s", v, nodeID)
	}
	c.expand("first", "3Gi")
	if v, _, _ := c.driver.state("first"); v.size != 3<<30 {
		t.Errorf("the driver has %+v, want 3 GiB", v)
	}
	c.snapshot("taken", "first")
	c.detach("first")
	c.addClaim("second", "3Gi", "taken")
	if v, _, _ := c.driver.state("second"); v.snapshot == "" {
		t.Errorf("the driver has %+v, want a volume made of the snapshot", v)
	}
	c.deleteAll()
}
