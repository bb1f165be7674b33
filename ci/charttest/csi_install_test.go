package charttest

import (
	"bytes"
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sidecar"
)

// installCSI installs the chart into a namespace of its own, and returns the namespace and what Helm printed.
func installCSI(t *testing.T, sets ...string) (namespace, progress string) {
	t.Helper()
	plane := controlplanetest.Get(t)
	namespace = controlplanetest.Namespace(t)
	values := csiMinimal(t, sets...)
	var output bytes.Buffer
	r := chart.Release{Name: csiName, Namespace: namespace, Values: values}
	if _, err := chart.Install(t.Context(), plane.Config(), csiDir(t), r, &output); err != nil {
		t.Fatalf("%v\n%s", err, &output)
	}
	return namespace, output.String()
}

func uninstallCSI(t *testing.T, namespace string) {
	t.Helper()
	if err := chart.Uninstall(t.Context(), controlplanetest.Get(t).Config(), csiName, namespace, nil); err != nil {
		t.Fatal(err)
	}
}

// TestCSIInstallIntoKubernetes installs the chart into a real API server, asks it for the permissions of the accounts,
// and removes the chart again.
func TestCSIInstallIntoKubernetes(t *testing.T) {
	tier.NeedFull(t)
	plane := controlplanetest.Get(t)
	client := controlplanetest.Client(t, plane)
	if err := sidecar.InstallDefinitions(t.Context(), plane.Config()); err != nil {
		t.Fatal(err)
	}
	namespace, progress := installCSI(t, "snapshots.enabled=true", "snapshots.controller.enabled=true")
	if strings.Contains(progress, "Warning") {
		t.Errorf("the API server warns:\n%s", progress)
	}
	wantCSIPermissions(t, client, namespace)
	uninstallCSI(t, namespace)
	_, err := client.StorageV1().CSIDrivers().Get(t.Context(), csiDriver, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("after uninstalling, the CSIDriver gives %v, want not found", err)
	}
}

// wantCSIPermissions asks the API server what the ServiceAccounts may do.
func wantCSIPermissions(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	const leases, lease = "coordination.k8s.io", "external-attacher-leader-csi-k8s-thalassa-cloud"
	questions := map[string]map[access]bool{
		"controller": {
			{verb: "create", resource: "persistentvolumes"}:                                                true,
			{verb: "watch", resource: "nodes"}:                                                             true,
			{verb: "patch", group: "storage.k8s.io", resource: "volumeattachments", subresource: "status"}: true,
			{verb: "create", group: "snapshot.storage.k8s.io", resource: "volumesnapshotcontents"}:         true,
			{verb: "update", group: leases, resource: "leases", namespace: namespace, name: lease}:         true,
			{verb: "update", group: leases, resource: "leases", namespace: namespace, name: "other"}:       false,
			{verb: "update", group: leases, resource: "leases", namespace: "kube-system", name: lease}:     false,
			{verb: "get", resource: "secrets", namespace: namespace}:                                       false,
			{verb: "patch", resource: "nodes"}:                                                             false,
			{verb: "delete", resource: "persistentvolumeclaims", namespace: "default"}:                     false,
		},
		"node": {
			{verb: "get", resource: "nodes"}:                         true,
			{verb: "list", resource: "nodes"}:                        false,
			{verb: "get", resource: "persistentvolumes"}:             false,
			{verb: "get", resource: "secrets", namespace: namespace}: false,
		},
	}
	for component, all := range questions {
		for question, want := range all {
			review := question.review(namespace)
			review.Spec.User = "system:serviceaccount:" + namespace + ":thalassa-csi-" + component
			review, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review,
				metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed != want {
				t.Errorf("%s: %+v: allowed %v, want %v", component, question, review.Status.Allowed, want)
			}
		}
	}
}

// TestCSITakesOver: the CSIDriver and the StorageClass of the existing driver stay, as docs/guides/migrate-csi.md
// describes. Helm adopts the CSIDriver and corrects it, and does not touch the StorageClass.
func TestCSITakesOver(t *testing.T) {
	tier.NeedFull(t)
	client := controlplanetest.Client(t, controlplanetest.Get(t)).StorageV1()
	namespace := controlplanetest.Namespace(t)
	yes, policy := true, storagev1.FileFSGroupPolicy
	existing := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: csiDriver, Labels: map[string]string{
		"app.kubernetes.io/managed-by": "Helm"}, Annotations: map[string]string{
		"meta.helm.sh/release-name": csiName, "meta.helm.sh/release-namespace": namespace}},
		Spec: storagev1.CSIDriverSpec{AttachRequired: &yes, PodInfoOnMount: &yes, FSGroupPolicy: &policy,
			VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}}}
	before, err := client.CSIDrivers().Create(t.Context(), existing, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	class, err := client.StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "tc-block"}, Provisioner: csiDriver}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	values := csiMinimal(t)
	values["storageClasses"] = []any{}
	if _, err := chart.Install(t.Context(), controlplanetest.Get(t).Config(), csiDir(t),
		chart.Release{Name: csiName, Namespace: namespace, Values: values}, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	after, err := client.CSIDrivers().Get(t.Context(), csiDriver, metav1.GetOptions{})
	if err != nil || after.UID != before.UID || isTrue(after.Spec.PodInfoOnMount) {
		t.Errorf("the CSIDriver is %+v, error %v", after, err)
	}
	uninstallCSI(t, namespace)
	kept, err := client.StorageClasses().Get(t.Context(), class.Name, metav1.GetOptions{})
	if err != nil || kept.ResourceVersion != class.ResourceVersion {
		t.Errorf("the StorageClass is %+v, error %v", kept, err)
	}
	if err := client.StorageClasses().Delete(t.Context(), class.Name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
