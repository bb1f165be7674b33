package main

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/workload"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// driver is the name of the CSI driver.
const driver = "csi.k8s.thalassa.cloud"

// newObjects returns a cluster that has VolumeSnapshotContents, of the snapshots with these handles.
func newObjects(handles ...string) *dynamicfake.FakeDynamicClient {
	contents := schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1",
		Resource: "volumesnapshotcontents"}
	var objects []runtime.Object
	for _, handle := range handles {
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
			"metadata": map[string]any{"name": "content-" + handle},
			"spec":     map[string]any{"volumeSnapshotRef": map[string]any{"uid": "uid-" + handle}},
			"status":   map[string]any{"snapshotHandle": handle}}})
	}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{contents: "VolumeSnapshotContentList"}, objects...)
}

// storedLabels are those of the CSI driver for a cluster.
func storedLabels(cluster string) iaas.Labels {
	const domain = "k8s.thalassa.cloud/"
	return iaas.Labels{domain + "csi-driver": "true", domain + "csi-driver-name": driver,
		domain + "cluster-identity": cluster}
}

// ofCluster are the annotations of what the cluster with the UID has made.
func ofCluster(uid string) iaas.Annotations { return iaas.Annotations{label.ClusterUID: uid} }

// addVolume adds a volume to the cloud, and returns its identity.
func (r *rig) addVolume(name, cluster string, changes ...func(*iaas.CreateVolume)) string {
	r.Helper()
	all, err := r.api().ListVolumeTypes(r.Context(), &iaas.ListVolumeTypesRequest{})
	if err != nil {
		r.Fatal(err)
	}
	wanted := iaas.CreateVolume{Name: name, Size: 10, CloudRegionIdentity: emulator.DefaultRegion,
		VolumeTypeIdentity: all[0].Identity, Labels: storedLabels(cluster),
		Annotations: ofCluster(string(systemNamespace().UID))}
	for _, change := range changes {
		change(&wanted)
	}
	made, err := r.api().CreateVolume(r.Context(), wanted)
	if err != nil {
		r.Fatal(err)
	}
	return made.Identity
}

// addSnapshot adds a snapshot of a volume to the cloud, and returns its identity.
func (r *rig) addSnapshot(name, volume string) string {
	r.Helper()
	made, err := r.api().CreateSnapshot(r.Context(), iaas.CreateSnapshotRequest{Name: name, VolumeIdentity: volume,
		Labels: storedLabels("k8s-test"), Annotations: ofCluster(string(systemNamespace().UID))})
	if err != nil {
		r.Fatal(err)
	}
	return made.Identity
}

// addPersistentVolume makes a volume one of the cluster.
func (r *rig) addPersistentVolume(name, handle string) {
	r.Helper()
	_, err := r.cluster.CoreV1().PersistentVolumes().Create(r.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: driver, VolumeHandle: handle}}}}, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
}

// exists reports whether the cloud has a volume that it does not delete.
func (r *rig) exists(volume string) bool {
	r.Helper()
	all, err := r.api().ListVolumes(r.Context(), &iaas.ListVolumesRequest{})
	if err != nil {
		r.Fatal(err)
	}
	for _, one := range all {
		if one.Identity == volume {
			return !strings.HasPrefix(strings.ToLower(one.Status), "delet")
		}
	}
	return false
}

// storedRig is a cluster with volumes of all kinds.
type storedRig struct {
	*rig
	used, lost, creating, other, unlabelled, snapshot, lostSnapshot string // identities
}

// newStoredRig returns a cluster with two volumes and a snapshot, and a cloud with more.
func newStoredRig(t *testing.T) *storedRig {
	t.Helper()
	r := &storedRig{rig: newRig(t)}
	r.used = r.addVolume("pvc-used", "k8s-test")
	r.addPersistentVolume("pvc-used", r.used)
	r.addPersistentVolume("pvc-used-too", r.addVolume("pvc-used-too", "k8s-test"))
	r.addPersistentVolume("of-another-driver", "elsewhere")
	r.lost, r.creating = r.addVolume("pvc-lost", "k8s-test"), r.addVolume("pvc-0a1b", "k8s-test")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data",
		UID: types.UID("0a1b")}}
	_, err := r.cluster.CoreV1().PersistentVolumeClaims("shop").Create(t.Context(), claim, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.other = r.addVolume("pvc-other", "another-cluster")
	r.unlabelled = r.addVolume("pvc-unlabelled", "k8s-test", func(v *iaas.CreateVolume) { v.Labels = nil })
	r.snapshot, r.lostSnapshot = r.addSnapshot("snapshot-1", r.used), r.addSnapshot("snapshot-2", r.used)
	r.objects = newObjects(r.snapshot)
	r.wrote()
	return r
}

// attach attaches a volume to the machine of the Node a.
func (r *rig) attach(volume string) {
	r.Helper()
	node, err := r.cluster.CoreV1().Nodes().Get(r.Context(), "a", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.api().AttachVolume(r.Context(), volume, iaas.AttachVolumeRequest{
		ResourceType:     "cloud_virtual_machine",
		ResourceIdentity: strings.TrimPrefix(node.Spec.ProviderID, "thalassacloud://")}); err != nil {
		r.Fatal(err)
	}
}

// TestOrphanedStorage: the volumes and snapshots of this cluster are shown that Kubernetes does not know, and no
// others: not those in use, those that are being created, and those of other clusters. Nothing is written.
func TestOrphanedStorage(t *testing.T) {
	r := newStoredRig(t)
	shown := r.run("orphans")
	want(r.rig, "exit code", shown.code, 0)
	wantText(r.rig, "the table", shown.out, "Every object of this cluster in the cloud belongs to a Service.", "KIND",
		"pvc-lost", r.lost, "10 GiB", "snapshot-2", r.lostSnapshot, "kubectl thalassa orphans delete IDENTITY")
	names := r.run("orphans", "-o", "name").out
	want(r.rig, "names", names, r.lost+"\n"+r.lostSnapshot+"\n")
	wantText(r.rig, "the JSON", r.run("orphans", "-o", "json").out, `"stored": [`, `"sizeGiB": 10`)
	want(r.rig, "with --namespace", strings.Contains(r.run("orphans", "-n", "shop").out, r.lost), false)
	checks, code := r.doctor()
	r.requireCheck(checks, "orphaned-storage", plugin.CheckWarning, "1 volume and 1 snapshot of this cluster without")
	want(r.rig, "exit code of doctor, without a lease", code, 1)
	want(r.rig, "writes", strings.Join(r.wrote(), ", "), "")
	wantText(r.rig, "completion", r.run("__complete", "orphans", "delete", r.lost[:4]).out, r.lost+"\tvolume pvc-lost")
}

// TestStorageThatIsNotKnown: without a permission, in Kubernetes or in the cloud, the other orphans are shown, with the
// reason. Without the kind in the cluster, no snapshot has an object.
func TestStorageThatIsNotKnown(t *testing.T) {
	forbidden := func(resource string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
	}
	for name, test := range map[string]struct {
		refuse func(*rig)
		want   string
	}{
		"PersistentVolumes": {func(r *rig) { r.refuse("list", "persistentvolumes", forbidden("persistentvolumes")) },
			"Volumes and snapshots are not known: listing PersistentVolumes: "},
		"volumes in the cloud": {func(r *rig) {
			if _, err := r.cloud.Inject(fault.Rule{Operation: "GET /v1/volumes",
				Effect: fault.Effect{Kind: fault.Forbidden}}); err != nil {
				r.Fatal(err)
			}
		}, "Volumes and snapshots are not known: listing the volumes and snapshots of this cluster in the cloud: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := newStoredRig(t)
			test.refuse(r.rig)
			shown := r.run("orphans")
			want(r.rig, "exit code", shown.code, 0)
			wantText(r.rig, "the result", shown.out, "belongs to a Service.", test.want)
			wantText(r.rig, "deletion", r.run("orphans", "delete", r.lost, "--yes").err,
				"no orphan has the UID "+r.lost, test.want)
			checks, _ := r.doctor()
			r.requireCheck(checks, "orphaned-storage", plugin.NotChecked, "Ask for the permission")
		})
	}
}

// TestDeleteStorage: a volume and a snapshot are deleted with their identities after the confirmation, and no others.
// The flag --all is about Services.
func TestDeleteStorage(t *testing.T) {
	r := newStoredRig(t)
	wantText(r.rig, "--all", r.run("orphans", "delete", "--all", "--yes").err, "There is nothing to delete.")
	for _, id := range []string{r.used, r.creating, r.other, r.unlabelled, r.snapshot} {
		wantText(r.rig, "what is no orphan", r.run("orphans", "delete", id, "--yes").err, "no orphan has the UID "+id)
	}
	r.screen, r.answer = terminal.Terminal{Interactive: true, Width: 200}, "no\n"
	wantText(r.rig, "the question", r.run("orphans", "delete", r.lost).err, "volume pvc-lost",
		"data of deleted volumes", "nothing is deleted")
	want(r.rig, "writes", strings.Join(r.wrote(), ", "), "")
	r.screen = terminal.Terminal{}
	got := r.run("orphans", "delete", r.lost, r.lostSnapshot, "--yes")
	wantText(r.rig, "the result", got.out, "volume pvc-lost ("+r.lost+"): deleted", "snapshot snapshot-2 ("+
		r.lostSnapshot+"): deleted", "Deleted 2 of 2 orphans.")
	wantText(r.rig, "the log of writes", got.err, `cause="delete orphan: volume pvc-lost"`)
	want(r.rig, "exit code", got.code, 0)
	want(r.rig, "writes", strings.Join(r.wrote(), ", "), "DELETE /v1/volumes/{id}, DELETE /v1/snapshots/{id}")
}

// TestGuardsOfStorage: what a machine uses, what is protected, and what somebody uses meanwhile is never deleted.
func TestGuardsOfStorage(t *testing.T) {
	for name, test := range map[string]struct {
		before, meanwhile func(*storedRig) // the list, and the answer
		want              string
		force             bool
	}{
		"attached before": {before: func(r *storedRig) { r.attach(r.lost) }, want: "it is attached to machine "},
		"attached before, with --force": {before: func(r *storedRig) { r.attach(r.lost) },
			want: "it is attached to machine ", force: true},
		"attached meanwhile": {meanwhile: func(r *storedRig) { r.attach(r.lost) }, want: "it is attached to machine "},
		"a PersistentVolume meanwhile": {meanwhile: func(r *storedRig) { r.addPersistentVolume("back", r.lost) },
			want: "an object of Kubernetes exists for it"},
		"protected meanwhile": {meanwhile: func(r *storedRig) { r.updateLost(true, storedLabels("k8s-test")) },
			want: "it is protected from deletion in the cloud"},
		"another cluster's meanwhile": {meanwhile: func(r *storedRig) { r.updateLost(false, storedLabels("other")) },
			want: "its name or its labels were changed in the cloud"},
		"most are lost": {before: func(r *storedRig) {
			for _, name := range []string{"pvc-used", "pvc-used-too"} {
				if err := r.cluster.CoreV1().PersistentVolumes().Delete(r.Context(), name,
					metav1.DeleteOptions{}); err != nil {
					r.Fatal(err)
				}
			}
		}, want: "Check that this is the right cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newStoredRig(t)
			r.screen, r.answer = terminal.Terminal{Interactive: true, Width: 200}, "delete\n"
			if test.before != nil {
				test.before(r)
			}
			if test.meanwhile != nil {
				r.onAnswer = func() { test.meanwhile(r) }
			}
			args := []string{"orphans", "delete", r.lost}
			if test.force {
				args = append(args, "--force")
			}
			got := r.run(args...)
			wantText(r.rig, "the result", got.out+got.err, test.want)
			want(r.rig, "exit code", got.code, 1)
			want(r.rig, "the volume exists", r.exists(r.lost), true)
		})
	}
}

// TestStorageInDoubt: a volume that is not proven to be this cluster's is deleted only with --force, and one with the
// UID of another cluster never, also if the UID of this cluster may not be read. Doctor does not count it as ours then.
func TestStorageInDoubt(t *testing.T) {
	const elsewhere = "0a1b2c3d-0000-4000-8000-0000000009ee"
	forbidden := func(r *storedRig) {
		r.refuse("get", "namespaces", apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "", nil))
	}
	for name, test := range map[string]struct {
		uid           string // of the volume
		before        func(*storedRig)
		refused       string
		forced        string // why not even --force deletes it
		meanwhile     string // the UID after it was confirmed
		doctor        plugin.CheckStatus
		doctorMessage string
	}{
		"no UID": {refused: "does not have the UID of this cluster", doctor: plugin.CheckWarning},
		"no UID, and not permitted": {before: forbidden, refused: "the UID of this cluster is not known",
			doctor: plugin.NotChecked, doctorMessage: "may be another cluster's"},
		"of another cluster": {uid: elsewhere, refused: "no orphan has the UID", forced: "no orphan has the UID",
			doctor: plugin.CheckWarning, doctorMessage: "1 volume and 1 snapshot"},
		"of another cluster, and not permitted": {uid: elsewhere, before: forbidden, refused: elsewhere,
			forced: elsewhere, doctor: plugin.NotChecked, doctorMessage: "may be another cluster's"},
		"of another cluster meanwhile": {refused: "does not have the UID", meanwhile: elsewhere,
			forced: "its name or its labels were changed", doctor: plugin.CheckWarning},
		"of another cluster meanwhile, and not permitted": {before: forbidden, refused: "is not known",
			meanwhile: elsewhere, forced: elsewhere, doctor: plugin.NotChecked},
	} {
		t.Run(name, func(t *testing.T) {
			r := newStoredRig(t)
			r.screen, r.answer = terminal.Terminal{Interactive: true, Width: 200}, "delete\n"
			doubtful := r.addVolume("pvc-doubtful", "k8s-test", func(v *iaas.CreateVolume) {
				v.Annotations = ofCluster(test.uid)
			})
			if test.before != nil {
				test.before(r)
			}
			checks, _ := r.doctor()
			r.requireCheck(checks, "orphaned-storage", test.doctor, test.doctorMessage)
			refused := r.run("orphans", "delete", doubtful)
			wantText(r.rig, "the error", refused.err, test.refused)
			want(r.rig, "the volume exists", r.exists(doubtful), true)
			if test.meanwhile != "" {
				r.onAnswer = func() { r.giveTo(doubtful, test.meanwhile) }
			}
			forced := r.run("orphans", "delete", doubtful, "--force")
			wantText(r.rig, "with --force", forced.out+forced.err, test.forced)
			want(r.rig, "the volume exists after --force", r.exists(doubtful), test.forced != "")
		})
	}
}

// giveTo sets the UID of the cluster of a volume.
func (r *storedRig) giveTo(volume, uid string) {
	r.Helper()
	if _, err := r.api().UpdateVolume(r.Context(), volume, iaas.UpdateVolume{Name: "pvc-doubtful", Size: 10,
		Labels: storedLabels("k8s-test"), Annotations: ofCluster(uid)}); err != nil {
		r.Fatal(err)
	}
}

// TestStorageWithoutLoadBalancers: volumes of another cluster are recognised also if Services have no load balancers.
func TestStorageWithoutLoadBalancers(t *testing.T) {
	r := newStoredRig(t)
	r.addVolume("pvc-elsewhere", "k8s-test", func(v *iaas.CreateVolume) {
		v.Annotations = ofCluster("0a1b2c3d-0000-4000-8000-0000000009ee")
	})
	config := r.inline(strings.Replace(r.config(), "loadBalancer: {", "loadBalancer: {enabled: false, ", 1))
	checks, _ := r.doctor("--cloud-config=" + r.file(config))
	r.requireCheck(checks, "orphaned-storage", plugin.CheckWarning, "1 volume and 1 snapshot of this cluster without")
}

// updateLost changes the volume without a PersistentVolume, as another user does.
func (r *storedRig) updateLost(protected bool, labels iaas.Labels) {
	r.Helper()
	if _, err := r.api().UpdateVolume(r.Context(), r.lost, iaas.UpdateVolume{Name: "pvc-lost", Size: 10, Labels: labels,
		DeleteProtection: protected}); err != nil {
		r.Fatal(err)
	}
}

// installCSI adds the CSI driver with a cloud-config, and what Kubernetes knows of it.
func (r *rig) installCSI(config string) {
	r.Helper()
	r.addCSI("storage", config)
	for _, one := range []runtime.Object{
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}},
		&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: storagev1.CSINodeSpec{
			Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: "a"}}}},
		&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: storagev1.CSINodeSpec{
			Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: "b"}}}},
	} {
		if err := r.cluster.Tracker().Add(one); err != nil {
			r.Fatal(err)
		}
	}
}

// addCSI adds the workloads of a CSI driver to a namespace, with a cloud-config.
func (r *rig) addCSI(namespace, config string) {
	r.Helper()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	pod := func(args ...string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "driver",
			Command: append([]string{"/" + workload.CSIProgram}, args[0]), Args: args[1:],
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/csi"}}}},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{
					Name: "csi"}}}}}}}
	}
	for _, one := range []runtime.Object{
		&corev1.ConfigMap{ObjectMeta: meta("csi"), Data: map[string]string{"cloud-config.yaml": config}},
		&appsv1.Deployment{ObjectMeta: meta("csi-controller"), Status: appsv1.DeploymentStatus{ReadyReplicas: 1},
			Spec: appsv1.DeploymentSpec{Template: pod("controller", "--cloud-config=/etc/csi/cloud-config.yaml")}},
		&appsv1.DaemonSet{ObjectMeta: meta("csi-node"), Spec: appsv1.DaemonSetSpec{Template: pod("node")},
			Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, NumberReady: 2}},
	} {
		if err := r.cluster.Tracker().Add(one); err != nil {
			r.Fatal(err)
		}
	}
}

// TestDoctorOfTheCSIDriver: each part of the driver has its check, and a driver that is not there is no problem.
func TestDoctorOfTheCSIDriver(t *testing.T) {
	r := newRig(t)
	r.healthy(everything)
	checks, code := r.doctor()
	r.requireCheck(checks, "csi", plugin.CheckOK, "is not in this cluster")
	want(r, "exit code without a driver", code, 0)
	r.installCSI(r.config())
	checks, code = r.doctor()
	want(r, "exit code", code, 0)
	for id, part := range map[string]string{"csi-driver": "The CSIDriver " + driver + " exists.",
		"csi-workload": "node plug-in: DaemonSet storage/csi-node: 2 of 2 pods ready.", "csi-nodes": "2 of 2 Nodes",
		"csi-configuration": "the same cloud and cluster", "orphaned-storage": "Each volume and snapshot"} {
		r.requireCheck(checks, id, plugin.CheckOK, part)
	}
	wantText(r, "the section", r.run("doctor").out, "\nVolumes\n",
		"controller: Deployment storage/csi-controller: 1 of 1 pod ready.")
}

// TestDoctorIgnoresTheCSIDriverOfATenant: what a tenant makes with the command of the driver is one check that was not
// made, beside the driver of the cluster and without one. Its configuration is not read.
func TestDoctorIgnoresTheCSIDriverOfATenant(t *testing.T) {
	for name, installed := range map[string]bool{"with a driver": true, "without a driver": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.healthy(func(review authorizationv1.SubjectAccessReviewSpec) bool {
				return !strings.HasPrefix(review.User, "system:serviceaccount:tenant:")
			})
			if installed {
				r.installCSI(r.config())
			}
			r.addCSI("tenant", "cluster: theirs")
			checks, code := r.doctor()
			want(r, "exit code", code, 0)
			r.requireCheck(checks, "csi", plugin.NotChecked, "Deployment tenant/csi-controller")
			want(r, "objects of the tenant that were read", strings.Join(r.readOfTenant(), ", "), "")
			if installed {
				r.requireCheck(checks, "csi-configuration", plugin.CheckOK, "the same cloud and cluster")
			}
		})
	}
}

// TestDoctorFindsProblemsOfTheCSIDriver: what is missing or different is found, with the next step.
func TestDoctorFindsProblemsOfTheCSIDriver(t *testing.T) {
	r := newRig(t)
	r.healthy(everything)
	r.installCSI(strings.Replace(r.config(), "cluster: k8s-test", "cluster: another", 1))
	ctx, storage := t.Context(), r.cluster.StorageV1()
	if err := storage.CSIDrivers().Delete(ctx, driver, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := storage.CSINodes().Delete(ctx, "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	set, err := r.cluster.AppsV1().DaemonSets("storage").Get(ctx, "csi-node", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	set.Status.NumberReady = 1
	if _, err := r.cluster.AppsV1().DaemonSets("storage").Update(ctx, set, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	checks, code := r.doctor()
	want(r, "exit code", code, 1)
	r.requireCheck(checks, "csi-driver", plugin.CheckProblem, "does not exist")
	r.requireCheck(checks, "csi-node", plugin.CheckWarning, "node/b: The CSI driver "+driver+" is not registered on it")
	r.requireCheck(checks, "csi-workload", plugin.CheckWarning, "1 of 2 pods ready")
	r.requireCheck(checks, "csi-configuration", plugin.CheckProblem, `cluster is "another", and "k8s-test" here`)
	err = r.cluster.AppsV1().Deployments("storage").Delete(ctx, "csi-controller", metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checks, _ = r.doctor()
	r.requireCheck(checks, "csi-workload", plugin.CheckProblem, "controller: It is not in this cluster")
}
