package charttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

func csiController(t *testing.T, sets ...string) corev1.PodSpec {
	t.Helper()
	return find[*appsv1.Deployment](t, csiObjects(t, sets...), "thalassa-csi-controller").Spec.Template.Spec
}

func csiNode(t *testing.T, sets ...string) corev1.PodSpec {
	t.Helper()
	return find[*appsv1.DaemonSet](t, csiObjects(t, sets...), "thalassa-csi-node").Spec.Template.Spec
}

// TestCSIControllerIsRestricted checks the pods of the controller with every values file.
func TestCSIControllerIsRestricted(t *testing.T) {
	for name, path := range CSI.ValuesFiles(t) {
		template := podTemplateOf[*appsv1.Deployment](csiObjectsOf(t, readValues(t, path)))
		if got := restrictions(template.Spec); len(got) > 0 {
			t.Errorf("%s: the pods of the controller violate %q", name, got)
		}
	}
}

// podTemplateOf returns the pod template of the first workload of that kind.
func podTemplateOf[T runtime.Object](objects []runtime.Object) *corev1.PodTemplateSpec {
	return podTemplate(slices.DeleteFunc(slices.Clone(objects), func(object runtime.Object) bool {
		_, is := object.(T)
		return !is
	}))
}

// TestCSIPodSecurityAdmission has the API server admit the controller's pod in a namespace that enforces the restricted
// standard. It refuses the pod of the node plug-in there, and admits it where nothing is enforced.
func TestCSIPodSecurityAdmission(t *testing.T) {
	tier.NeedFull(t)
	client := controlplanetest.Client(t, controlplanetest.Get(t))
	admit := func(standard string, spec corev1.PodSpec) error {
		meta := metav1.ObjectMeta{GenerateName: "pods-",
			Labels: map[string]string{"pod-security.kubernetes.io/enforce": standard}}
		namespace, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: meta},
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		spec.ServiceAccountName = "csi"
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "csi"}, Spec: spec}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: spec.ServiceAccountName}}
		if _, err := client.CoreV1().ServiceAccounts(namespace.Name).Create(t.Context(), account,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err = client.CoreV1().Pods(namespace.Name).Create(t.Context(), pod,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	controller := csiController(t, "snapshots.enabled=true", "snapshots.controller.enabled=true")
	if err := admit("restricted", controller); err != nil {
		t.Errorf("the controller: %v", err)
	}
	if err := admit("restricted", csiNode(t)); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
		t.Errorf("the node plug-in: error %v, want a violation", err)
	}
	if err := admit("privileged", csiNode(t)); err != nil {
		t.Errorf("the node plug-in: %v", err)
	}
}

// TestCSINodeHasNoCredentials: whoever controls a node reads everything in its pods.
func TestCSINodeHasNoCredentials(t *testing.T) {
	for name, path := range CSI.ValuesFiles(t) {
		spec := podTemplateOf[*appsv1.DaemonSet](csiObjectsOf(t, readValues(t, path))).Spec
		for _, volume := range spec.Volumes {
			if volume.HostPath == nil {
				t.Errorf("%s: the node plug-in mounts %s, which is no folder of the node", name, volume.Name)
			}
		}
		for _, env := range spec.Containers[0].Env {
			if env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil {
				t.Errorf("%s: the node plug-in reads the Secret of %s", name, env.Name)
			}
		}
		if strings.Contains(fmt.Sprint(spec.Containers[0].Args), "cloud-config") {
			t.Errorf("%s: the node plug-in reads the cloud's configuration", name)
		}
	}
}

// TestCSINodePlugin: sockets and mounts are where the kubelet looks for them.
func TestCSINodePlugin(t *testing.T) {
	spec := csiNode(t, "node.kubeletDirectory=/data/kubelet", "node.volumeLimits.pgp-medium=8",
		"node.volumeLimits.pgp-small=4", "node.formatNonzeroSeconds=600")
	container := spec.Containers[0]
	want := []string{"--csi-endpoint=unix:///csi/csi.sock", "--format-nonzero-within=600s", "--http-endpoint=:8081",
		"--kubelet-socket=/data/kubelet/plugins/" + csiDriver + "/csi.sock", "--node-name=$(NODE_NAME)",
		"--registration-socket=/registration/" + csiDriver + "-reg.sock", "--v=2", "--volume-limit=20",
		"--volume-limits=pgp-medium=8,pgp-small=4"}
	if diff := cmp.Diff(want, container.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/thalassa-csi-driver", "node"}, container.Command); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
	mounts := map[string]string{}
	for _, volume := range spec.Volumes {
		mounts[mountOf(t, container, volume.Name).MountPath] = volume.HostPath.Path
	}
	wantMounts := map[string]string{"/csi": "/data/kubelet/plugins/" + csiDriver, "/dev": "/dev", "/sys": "/sys",
		"/registration": "/data/kubelet/plugins_registry", "/data/kubelet": "/data/kubelet"}
	if diff := cmp.Diff(wantMounts, mounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if mode := mountOf(t, container, "kubelet").MountPropagation; mode == nil ||
		*mode != corev1.MountPropagationBidirectional {
		t.Errorf("propagation of mounts is %v", mode)
	}
	if mountOf(t, container, "sys").ReadOnly {
		t.Error("the node plug-in cannot make Linux read the size of a disk again, because /sys is read-only")
	}
	if !isTrue(container.SecurityContext.Privileged) || spec.HostNetwork {
		t.Error("the node plug-in is not privileged, or is on the host network")
	}
}

func TestCSIController(t *testing.T) {
	spec := csiController(t)
	want := []string{"--cloud-config=/etc/thalassa-csi/config/cloud-config.yaml", "--csi-endpoint=unix:///csi/csi.sock",
		"--http-endpoint=:8080", "--v=2"}
	if diff := cmp.Diff(want, spec.Containers[0].Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"thalassa-csi-driver", "csi-provisioner", "csi-attacher", "csi-resizer"},
		containerNames(spec)); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	withSnapshots := csiController(t, "snapshots.enabled=true", "snapshots.controller.enabled=true")
	if diff := cmp.Diff([]string{"csi-snapshotter", "snapshot-controller"}, containerNames(withSnapshots)[4:]); diff !=
		"" {
		t.Errorf("containers for snapshots (-want +got):\n%s", diff)
	}
	if got := *csiController(t, "cloudConfig.api.callTimeout=60").TerminationGracePeriodSeconds; got != 75 {
		t.Errorf("the grace period is %d seconds, want 75", got)
	}
}

func containerNames(spec corev1.PodSpec) []string {
	var names []string
	for _, container := range spec.Containers {
		names = append(names, container.Name)
	}
	return names
}

// TestCSISidecars: every sidecar elects a leader and serves metrics at a port of its own.
func TestCSISidecars(t *testing.T) {
	ports := map[int32]bool{}
	spec := csiController(t, "snapshots.enabled=true", "snapshots.controller.enabled=true")
	for _, container := range spec.Containers {
		port := container.Ports[0].ContainerPort
		if ports[port] {
			t.Errorf("%s has the port of another container", container.Name)
		}
		ports[port] = true
		if container.Name == "thalassa-csi-driver" {
			continue
		}
		want := []string{"--leader-election=true", fmt.Sprintf("--http-endpoint=:%d", port), "--kube-api-qps=100",
			"--kube-api-burst=200", "--v=2"}
		if container.Name != "snapshot-controller" {
			want = append(want, "--csi-address=/csi/csi.sock", "--timeout=60s")
		}
		if strings.Contains(container.Name, "snapshot") {
			want = append(want, "--feature-gates=CSIVolumeGroupSnapshot=false")
		}
		for _, flag := range want {
			if !slices.Contains(container.Args, flag) {
				t.Errorf("%s: no %s in %q", container.Name, flag, container.Args)
			}
		}
	}
}

func TestCSIStorageClasses(t *testing.T) {
	class := find[*storagev1.StorageClass](t, csiObjects(t), "tc-block")
	if class.Provisioner != csiDriver || !isTrue(class.AllowVolumeExpansion) ||
		*class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer || len(class.Annotations) > 0 {
		t.Errorf("the StorageClass is %+v", class)
	}
	if diff := cmp.Diff(map[string]string{"volume-type": "block"}, class.Parameters); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	other := find[*storagev1.StorageClass](t, csiObjects(t, "storageClasses[0].name=fast",
		"storageClasses[0].volumeType=nvme", "storageClasses[0].filesystem=xfs", "storageClasses[0].default=true"),
		"fast")
	if diff := cmp.Diff(map[string]string{"volume-type": "nvme", "csi.storage.k8s.io/fstype": "xfs"},
		other.Parameters); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if other.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" {
		t.Errorf("annotations %v", other.Annotations)
	}
}
