package csi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sidecar"
)

// limit bounds every wait.
const limit = time.Minute

// TestMain lets several commands run one after the other: the flags of the log are applied once in a process.
func TestMain(m *testing.M) {
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	controlplanetest.Main(m)
}

// cluster is a control plane with the driver, its sidecars, and a namespace. Other objects than those of namespaces
// have its name.
type cluster struct {
	*testing.T
	kubernetes.Interface
	dynamic   dynamic.Interface
	namespace string
	socket    string // of the driver
	emulator  *emulator.Emulator
	sidecars  *sidecar.Sidecars
}

// newCluster starts a cluster in a namespace, with a kubeconfig of the driver and of the sidecars of the profile.
func newCluster(t *testing.T, p profile, namespace, kubeconfig string) *cluster {
	t.Helper()
	plane := controlplanetest.Get(t)
	c := &cluster{T: t, Interface: controlplanetest.Client(t, plane), namespace: namespace,
		emulator: newEmulator(t, emulator.Switches{VolumesPerMachine: nodeLimit})}
	var err error
	if c.dynamic, err = dynamic.NewForConfig(plane.Config()); err != nil {
		t.Fatal(err)
	}
	c.socket = startController(t, c.emulator, namespace, kubeconfig)
	o := p.sidecars(plane.Kubeconfig())
	o.Kubeconfig, o.Socket, o.LeaderElection, o.Logs = kubeconfig, c.socket, c.namespace, t.TempDir()
	c.sidecars, err = sidecar.Start(t.Context(), o)
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

// buildSidecars compiles the sidecars, and returns their folder.
func buildSidecars(t *testing.T) (folder string) {
	t.Helper()
	root := repotest.Root(t, "tools/sidecars")
	folder, err := controlplane.BuildSidecars(t.Context(), root, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	return folder
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

// lead waits until csi-provisioner leads, and until the next second. Claims from before wait for a minute, because
// another process may have created their volumes, and the time of a claim is in whole seconds.
func (c *cluster) lead() {
	c.Helper()
	c.eventually("claims are newer than the leader", func(ctx context.Context) error {
		lease, err := c.CoordinationV1().Leases(c.namespace).Get(ctx, strings.ReplaceAll(driver.DefaultName, ".", "-"),
			metav1.GetOptions{})
		if err == nil && !time.Now().Truncate(time.Second).After(lease.Spec.AcquireTime.Time) {
			err = errors.New("csi-provisioner has become the leader in this second")
		}
		return err
	})
}

// later makes a request about an object after the test.
func (c *cluster) later(name string, request func(context.Context, string, metav1.DeleteOptions) error) {
	c.Cleanup(func() {
		if err := request(context.WithoutCancel(c.Context()), name, metav1.DeleteOptions{}); err != nil {
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
		ObjectMeta: metav1.ObjectMeta{Name: c.namespace}, Provisioner: driver.DefaultName,
		AllowVolumeExpansion: new(true),
	}, metav1.CreateOptions{}))
	c.later(c.namespace, classes.Delete)
}

// nodeLimit is how many volumes the cloud attaches to the machine, and how many its CSINode permits.
const nodeLimit = 1

// addNode makes a node on which the driver runs, as kubelet would.
func (c *cluster) addNode() {
	c.Helper()
	node := metav1.ObjectMeta{Name: machineName, Labels: nodeLabels()}
	c.sent(c.CoreV1().Nodes().Create(c.Context(), &corev1.Node{ObjectMeta: node},
		metav1.CreateOptions{}))
	c.later(machineName, c.CoreV1().Nodes().Delete)
	c.sent(c.StorageV1().CSINodes().Create(c.Context(), &storagev1.CSINode{ObjectMeta: node,
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver.DefaultName,
			NodeID: machineName, TopologyKeys: slices.Sorted(maps.Keys(nodeLabels())),
			Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(nodeLimit))}}}},
	}, metav1.CreateOptions{}))
	c.later(machineName, c.StorageV1().CSINodes().Delete)
}

// addClaim makes a claim, with the content of a source if there is one, and waits until it is bound to a volume.
func (c *cluster) addClaim(name, size string, source *corev1.TypedLocalObjectReference) *corev1.PersistentVolumeClaim {
	c.Helper()
	c.requestClaim(name, size, source)
	return c.bound(name)
}

// bound waits until a claim is bound to a volume.
func (c *cluster) bound(name string) (claim *corev1.PersistentVolumeClaim) {
	c.Helper()
	c.eventually("the claim "+name+" is bound", func(ctx context.Context) (err error) {
		claim, err = c.CoreV1().PersistentVolumeClaims(c.namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && claim.Status.Phase != corev1.ClaimBound {
			err = fmt.Errorf("its phase is %q", claim.Status.Phase)
		}
		return err
	})
	return claim
}

// requestClaim makes a claim.
func (c *cluster) requestClaim(name, size string, source *corev1.TypedLocalObjectReference) {
	c.Helper()
	c.sent(c.CoreV1().PersistentVolumeClaims(c.namespace).Create(c.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &c.namespace,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: amount(size)},
			DataSource:       source,
		},
	}, metav1.CreateOptions{}))
}

// wantFailures waits until the creation of a volume has failed twice, so that the count of an event is incremented.
func (c *cluster) wantFailures(claim, text string) {
	c.Helper()
	c.eventually("the creation of a volume has failed twice", func(ctx context.Context) error {
		all, err := c.CoreV1().Events(c.namespace).List(ctx, metav1.ListOptions{
			FieldSelector: "reason=ProvisioningFailed,involvedObject.name=" + claim})
		if err == nil && !slices.ContainsFunc(all.Items, func(e corev1.Event) bool {
			return e.Count > 1 && strings.Contains(e.Message, text)
		}) {
			err = fmt.Errorf("the events are %+v", all.Items)
		}
		return err
	})
}

func amount(quantity string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(quantity)}
}

// attach attaches a volume, as the controller manager does for a pod.
func (c *cluster) attach(volume string) {
	c.Helper()
	c.attachment(volume, "the volume is attached", func(now storagev1.VolumeAttachmentStatus) bool {
		return now.Attached && now.AttachmentMetadata[driver.DefaultName+"/volume-name"] != ""
	})
}

// wantRefused checks that a volume is not attached, for a reason.
func (c *cluster) wantRefused(volume, reason string) {
	c.Helper()
	c.attachment(volume, "the volume is not attached", func(now storagev1.VolumeAttachmentStatus) bool {
		return !now.Attached && now.AttachError != nil && strings.Contains(now.AttachError.Message, reason)
	})
	c.detach(volume)
}

// attachment makes a VolumeAttachment with the name of its volume, and waits until its status is as expected.
func (c *cluster) attachment(volume, what string, expected func(storagev1.VolumeAttachmentStatus) bool) {
	c.Helper()
	attachments := c.StorageV1().VolumeAttachments()
	c.sent(attachments.Create(c.Context(), &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: volume},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: driver.DefaultName, NodeName: machineName,
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
	}, metav1.CreateOptions{}))
	c.eventually(what, func(ctx context.Context) error {
		one, err := attachments.Get(ctx, volume, metav1.GetOptions{})
		if err == nil && !expected(one.Status) {
			err = fmt.Errorf("its status is %+v", one.Status)
		}
		return err
	})
}

// detach deletes what attach made, and waits until the volume is detached.
func (c *cluster) detach(volume string) {
	c.Helper()
	attachments := c.StorageV1().VolumeAttachments()
	if err := attachments.Delete(c.Context(), volume, metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
	c.eventually("the volume is detached", func(ctx context.Context) error {
		_, err := attachments.Get(ctx, volume, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			return errors.New("the VolumeAttachment exists")
		}
		return err
	})
}

// expand requests a larger volume, and waits until it is larger. The claim would have the new size after a kubelet has
// resized the file system.
func (c *cluster) expand(claim *corev1.PersistentVolumeClaim, to string) {
	c.Helper()
	patch := fmt.Sprintf(`{"spec": {"resources": {"requests": {"storage": %q}}}}`, to)
	c.sent(c.CoreV1().PersistentVolumeClaims(c.namespace).Patch(c.Context(), claim.Name, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{}))
	c.eventually("the volume has its new size", func(ctx context.Context) error {
		one, err := c.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		if err == nil && one.Spec.Capacity.Storage().Cmp(resource.MustParse(to)) != 0 {
			err = fmt.Errorf("its capacity is %s", one.Spec.Capacity.Storage())
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
		map[string]any{"driver": driver.DefaultName, "deletionPolicy": "Delete"}), metav1.CreateOptions{}))
	c.later(c.namespace, func(ctx context.Context, name string, o metav1.DeleteOptions) error {
		return classes.Delete(ctx, name, o)
	})
	all := c.dynamic.Resource(snapshots("volumesnapshots")).Namespace(c.namespace)
	c.sent(all.Create(c.Context(), object("VolumeSnapshot", name, map[string]any{"spec": map[string]any{
		"volumeSnapshotClassName": c.namespace, "source": map[string]any{"persistentVolumeClaimName": claim}}}),
		metav1.CreateOptions{}))
	c.ready(name)
}

// ready waits until a snapshot is ready.
func (c *cluster) ready(name string) {
	c.Helper()
	all := c.dynamic.Resource(snapshots("volumesnapshots")).Namespace(c.namespace)
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

// deleteAll deletes claims and snapshots, and waits until their volumes are gone.
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
	c.eventually("there are no volumes of the claims", func(ctx context.Context) error {
		all, err := c.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, one := range all.Items {
			if one.Spec.ClaimRef != nil && one.Spec.ClaimRef.Namespace == c.namespace {
				return fmt.Errorf("there is %s", one.Name)
			}
		}
		return nil
	})
}
