package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
)

// cleanup is the finalizer of all cloud controller managers.
const cleanup = "service.kubernetes.io/load-balancer-cleanup"

// deleted is a Service that was deleted and has these finalizers.
func deleted(finalizers ...string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.DeletionTimestamp, s.Finalizers = new(metav1.Now()), finalizers
	}
}

// uninstall removes the cloud controller manager, as Helm does.
func (r *rig) uninstall() {
	r.Helper()
	err := r.cluster.AppsV1().Deployments("kube-system").Delete(r.Context(), "thalassa-ccm", metav1.DeleteOptions{})
	if err != nil {
		r.Fatal(err)
	}
}

// requireNoCheck checks that there is no result with an ID.
func (r *rig) requireNoCheck(checks []plugin.Check, id string) {
	r.Helper()
	for _, one := range checks {
		if one.ID == id {
			r.Errorf("there is a check %s: %+v", id, one)
		}
	}
}

// TestDoctorOfServicesThatOutliveTheProgram: a Service that was deleted after the program was uninstalled is a problem,
// with the command that ends it. It is none if a process leads, here or elsewhere.
func TestDoctorOfServicesThatOutliveTheProgram(t *testing.T) {
	r := newRig(t)
	r.addService("web", deleted("example.com/mine", cleanup))
	r.addService("foreign", deleted(cleanup), func(s *corev1.Service) {
		s.Spec.LoadBalancerClass = new("example.com/x")
	})
	r.addService("others", deleted("example.com/mine"))
	r.healthy(everything)
	checks, _ := r.doctor()
	r.requireNoCheck(checks, "service-deletion")

	r.uninstall()
	checks, _ = r.doctor()
	r.requireNoCheck(checks, "service-deletion") // a process outside of the cluster leads

	r.lease("", time.Now())
	checks, code := r.doctor()
	want(r, "exit code", code, 1)
	r.requireCheck(checks, "service-deletion", plugin.CheckProblem, "service/shop/web: It was deleted, and stays "+
		"until a cloud controller manager removes the finalizer "+cleanup+". No process is the leader: nobody holds "+
		"the Lease kube-system/cloud-controller-manager. Install the cloud controller manager again, with the same "+
		"name of the cluster, and wait.")
	r.requireCheck(checks, "service-deletion", plugin.CheckProblem, `kubectl patch service web --namespace shop `+
		`--type=json --patch '[{"op": "test", "path": "/metadata/finalizers/1", "value": "`+cleanup+`"}, `+
		`{"op": "remove", "path": "/metadata/finalizers/1"}]'`)
	r.requireCheck(checks, "service-deletion", plugin.CheckProblem,
		"kubectl thalassa orphans delete 0a1b2c3d-0000-0000-0000-web --cloud-config=FILE")
	r.requirePatch(checks, "web", "example.com/mine")
	want(r, "Services with a problem", r.run("doctor", "-o", "name").out, "service/shop/web\n")
	wantText(r, "the section", r.run("doctor").out, "Services\n  Not checked  the configuration of the cloud "+
		"controller manager is not known\n  Problem      service/shop/web: It was deleted")
}

// TestDoctorOfServicesWithoutALeader: the program is there and does not work.
func TestDoctorOfServicesWithoutALeader(t *testing.T) {
	r := newRig(t)
	r.addService("web", deleted(cleanup))
	r.healthy(everything)
	r.lease("thalassa-ccm-x_1", time.Now().Add(-time.Hour))
	checks, _ := r.doctor()
	r.requireCheck(checks, "service-deletion", plugin.CheckProblem, "does not renew the Lease "+
		"kube-system/cloud-controller-manager: the last time was 1h0m0s ago. Correct why the cloud controller manager "+
		"does not work, and wait.")
	order := []string{}
	for _, one := range checks {
		if !slices.Contains(order, one.Section) {
			order = append(order, one.Section)
		}
	}
	want(r, "sections", strings.Join(order, " "),
		"cluster workload configuration cloud permissions nodes services storage")
}

// TestDoctorOfVolumesThatOutliveTheDriver: a volume that is not in use any more is a problem, with the commands that
// end it, if the CSI driver is not there.
func TestDoctorOfVolumesThatOutliveTheDriver(t *testing.T) {
	r := newRig(t)
	r.healthy(everything)
	for name, change := range map[string]func(*corev1.PersistentVolume){
		"released": func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeReleased },
		"deleted": func(v *corev1.PersistentVolume) {
			v.DeletionTimestamp = new(metav1.NewTime(time.Now().Add(-time.Hour)))
			v.Finalizers = []string{"external-attacher/csi-k8s-thalassa-cloud"}
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		},
		"just-released": func(v *corev1.PersistentVolume) {
			v.Status.Phase, v.Status.LastPhaseTransitionTime = corev1.VolumeReleased, new(metav1.Now())
		},
		"used": func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeBound },
		"retained": func(v *corev1.PersistentVolume) {
			v.Status.Phase, v.Spec.PersistentVolumeReclaimPolicy = corev1.VolumeReleased,
				corev1.PersistentVolumeReclaimRetain
		},
		"foreign": func(v *corev1.PersistentVolume) {
			v.Status.Phase, v.Spec.CSI.Driver = corev1.VolumeReleased, "csi.example.com"
		},
	} {
		r.changePersistentVolume(name, change)
	}
	checks, code := r.doctor()
	want(r, "exit code", code, 1)
	const found = "It is not in use any more, and stays until the CSI driver deletes volume vol-"
	r.requireCheck(checks, "volume-deletion", plugin.CheckProblem, "persistentvolume/released: "+found+"released. No "+
		"controller of the driver "+driver+" was found in this cluster. Install the CSI driver again")
	r.requireCheck(checks, "volume-deletion", plugin.CheckProblem, "persistentvolume/deleted: "+found+"deleted.")
	r.requireCheck(checks, "volume-deletion", plugin.CheckProblem, "\n  kubectl delete persistentvolume released "+
		"--wait=false\n  kubectl patch persistentvolume released --type=merge --patch "+
		`'{"metadata": {"finalizers": null}}'`+"\n")
	want(r, "volumes with a problem", r.run("doctor", "-o", "name").out,
		"persistentvolume/deleted\npersistentvolume/released\n")

	r.installCSI(r.config())
	checks, _ = r.doctor()
	r.requireNoCheck(checks, "volume-deletion")

	r.stopCSI()
	checks, _ = r.doctor()
	r.requireCheck(checks, "volume-deletion", plugin.CheckProblem, "persistentvolume/released: "+found+"released. No "+
		"pod of Deployment storage/csi-controller is ready. Correct why the CSI driver does not work, and wait.")
}

// stopCSI leaves the CSI driver without a pod of its controller that is ready.
func (r *rig) stopCSI() {
	r.Helper()
	deployments := r.cluster.AppsV1().Deployments("storage")
	controller, err := deployments.Get(r.Context(), "csi-controller", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	controller.Status.ReadyReplicas = 0
	if _, err := deployments.Update(r.Context(), controller, metav1.UpdateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// changePersistentVolume adds a PersistentVolume with the reclaim policy Delete, and changes it.
func (r *rig) changePersistentVolume(name string, change func(*corev1.PersistentVolume)) {
	r.Helper()
	one := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver,
			VolumeHandle: "vol-" + name}}}}
	change(one)
	if _, err := r.cluster.CoreV1().PersistentVolumes().Create(r.Context(), one, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// requirePatch runs the patch in the next step of a Service's check, and checks which finalizers it leaves. The patch
// is that of the guide, except for the position of the finalizer.
func (r *rig) requirePatch(checks []plugin.Check, service, left string) {
	r.Helper()
	at := slices.IndexFunc(checks, func(one plugin.Check) bool { return one.Object == "service/shop/"+service })
	if at < 0 {
		r.Fatalf("no check of %s", service)
	}
	_, after, _ := strings.Cut(checks[at].Next, "--type=json --patch '")
	patch, _, found := strings.Cut(after, "'")
	if !found {
		r.Fatalf("no patch in %q", checks[at].Next)
	}
	services := r.cluster.CoreV1().Services("shop")
	changed, err := services.Patch(r.Context(), service, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		r.Fatal(err)
	}
	want(r, "finalizers", strings.Join(changed.Finalizers, " "), left)
	if _, err := services.Patch(r.Context(), service, types.JSONPatchType, []byte(patch),
		metav1.PatchOptions{}); err == nil {
		r.Error("the patch of a Service without the finalizer succeeds")
	}
	r.changeService(service, func(s *corev1.Service) { s.Finalizers = []string{left, cleanup} })
	page, err := os.ReadFile(checkout.Path(r, "docs/guides/uninstall.md"))
	if err != nil {
		r.Fatal(err)
	}
	wantText(r, "the guide", string(page), strings.ReplaceAll(patch, "/finalizers/1", "/finalizers/0"))
}
