package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/formertest"
)

// newFormerRig returns a cluster in which the existing cloud controller manager runs, with the Service web.
func newFormerRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.removeOwn()
	r.addFormer(corev1.Container{Name: "ccm",
		Image: "ghcr.io/thalassa-cloud/cloud-provider-thalassa/cloud-controller-manager:v0.12.0",
		Args: []string{"--cloud-provider=thalassacloud", "--cloud-config=/etc/config/cloud.conf",
			"--use-service-account-credentials"},
	}, map[string]string{"cloud.conf": r.inline(r.config())})
	r.plant(r.addService("web", func(s *corev1.Service) {
		s.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}
	}))
	r.wrote()
	return r
}

// removeOwn removes the workload of this cloud controller manager.
func (r *rig) removeOwn() {
	r.Helper()
	if err := r.cluster.AppsV1().Deployments("kube-system").Delete(r.Context(), "thalassa-ccm",
		metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
}

// addFormer adds the Deployment kube-system/cloud-controller-manager, whose files are in /etc/config.
func (r *rig) addFormer(container corev1.Container, files map[string]string) {
	r.Helper()
	container.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/config"}}
	meta := metav1.ObjectMeta{Namespace: "kube-system", Name: "cloud-controller-manager"}
	labels := map[string]string{"app": "old"}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cloud-config"},
		Data: map[string][]byte{}}
	for name, text := range files {
		secret.Data[name] = []byte(text)
	}
	_, err := r.cluster.CoreV1().Secrets("kube-system").Create(r.Context(), secret, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	old := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{container}, Volumes: []corev1.Volume{{Name: "config",
				VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "cloud-config"}}}}}}}}
	_, err = r.cluster.AppsV1().Deployments("kube-system").Create(r.Context(), old, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
}

// changeFormer changes the container of the existing cloud controller manager.
func (r *rig) changeFormer(change func(*appsv1.Deployment)) {
	r.Helper()
	deployments := r.cluster.AppsV1().Deployments("kube-system")
	old, err := deployments.Get(r.Context(), "cloud-controller-manager", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	change(old)
	if _, err := deployments.Update(r.Context(), old, metav1.UpdateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// plant makes what the existing cloud controller manager leaves in the cloud for a Service, with all machines as
// targets.
func (r *rig) plant(s *corev1.Service) {
	r.Helper()
	nodes, err := r.cluster.CoreV1().Nodes().List(r.Context(), metav1.ListOptions{})
	if err != nil {
		r.Fatal(err)
	}
	var machines []string
	for i := range nodes.Items {
		machines = append(machines, strings.TrimPrefix(nodes.Items[i].Spec.ProviderID, "thalassacloud://"))
	}
	formertest.Of("k8s-test", s, nil).Plant(r, r.api(), machines...)
}

// TestMigrate: with the flags and the configuration of the existing program, an unchanged cluster is ready, and the
// plan is empty.
func TestMigrate(t *testing.T) {
	r := newFormerRig(t)
	got := r.run("migrate")
	wantText(r, "the checks", got.out, "existing: The existing Deployment kube-system/cloud-controller-manager runs "+
		"(1 pod",
		"kubectl delete deployment cloud-controller-manager --namespace kube-system",
		"flags: The flags of the existing program mean the same here.",
		"configuration: /etc/config/cloud.conf of the existing program is valid.", "lease: Nobody holds the lease",
		"plan: Nothing would change in the cloud for 1 Service.", "Ready: this cloud controller manager can take over.")
	want(r, "exit code", got.code, 0)
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
	for _, width := range []int{80, 200} {
		r.screen = terminal.Terminal{Width: width}
		wantWidth(r, r.run("migrate").out, width)
	}
	var result plugin.Migration
	decoder := json.NewDecoder(strings.NewReader(r.run("migrate", "-o", "json").out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&result); err != nil {
		t.Fatal(err)
	}
	want(r, "kind", result.Kind, "Migration")
	want(r, "ready", result.Ready, true)
}

// TestMigrateOfServices: what changes for Services is shown, and the cluster is not ready.
func TestMigrateOfServices(t *testing.T) {
	r := newFormerRig(t)
	r.changeService("web", func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} })
	r.wrote()
	got := r.run("migrate")
	wantText(r, "the result", got.out, "Service shop/web", "spec.loadBalancerSourceRanges had no effect and is applied",
		"plan: 1 Service would change in the cloud: 0 to create, 1 to update", "  ~ update listener", "Not ready.",
		"thalassa-ccm/blob/main/docs/guides/migrate.md")
	want(r, "exit code", got.code, 1)
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
}

// TestMigrateOfConfiguration: mistakes and what is read differently are shown; a file takes the place of the Secret.
func TestMigrateOfConfiguration(t *testing.T) {
	r := newFormerRig(t)
	text := r.inline(r.config())
	got := r.run("migrate", "--cloud-config="+r.file(strings.Replace(text, "cluster: k8s-test", "cluster: 12345", 1)))
	wantText(r, "a warning", got.out, "Warning      configuration: cluster: ")
	got = r.run("migrate", "--cloud-config="+r.file(text+"unknownKey: 1\n"))
	wantText(r, "a mistake", got.out, "Problem      configuration: ", "unknownKey", "Not checked  plan: ", "Not ready.")
	want(r, "exit code", got.code, 1)
	got = r.run("migrate", "-o", "json", "--cloud-config="+r.file(text+"unknownKey: 1\n"))
	wantText(r, "the plan that is not known", got.out, `"kind": "Plan"`)
	want(r, "a value is null", strings.Contains(got.out, "null"), false)
	wantText(r, "a correct file", r.run("migrate", "--cloud-config="+r.file(text)).out, "of this computer is "+
		"valid.", "Ready")
}

// TestMigrateOfFlags: flags that mean something else are shown.
func TestMigrateOfFlags(t *testing.T) {
	r := newFormerRig(t)
	r.changeFormer(func(d *appsv1.Deployment) {
		container := &d.Spec.Template.Spec.Containers[0]
		container.Args = append(container.Args, "--allocate-node-cidrs=true", "--cluster-cidr=10.244.0.0/16")
	})
	got := r.run("migrate")
	wantText(r, "the result", got.out, "Problem      flags: --allocate-node-cidrs allocates the pod networks",
		"Not ready.")
	want(r, "exit code", got.code, 1)
	wantText(r, "another value", r.run("migrate", "--ccm-flag=allocate-node-cidrs=false").out, "Ready")
}

// TestMigrateBoth: both programs at once are a problem until the existing one is stopped.
func TestMigrateBoth(t *testing.T) {
	r := newRig(t)
	r.addFormer(corev1.Container{Name: "ccm", Image: "mirror.example/cloud-provider-thalassa:v0.12.0"}, nil)
	got := r.run("migrate")
	wantText(r, "both run", got.out, "Problem      existing: The existing Deployment "+
		"kube-system/cloud-controller-manager runs",
		"Deployment kube-system/thalassa-ccm runs at the same time", "kubectl delete deployment "+
			"cloud-controller-manager")
	want(r, "exit code", got.code, 1)
	none := int32(0)
	r.changeFormer(func(d *appsv1.Deployment) { d.Spec.Replicas = &none })
	wantText(r, "stopped", r.run("migrate").out, "is stopped (0 pods)", "configuration: "+
		"/etc/thalassa-ccm/config", "Ready")
}

// TestMigrateOfNothing: without any workload, the error says what to pass; a lease shows that one runs elsewhere.
func TestMigrateOfNothing(t *testing.T) {
	r := newRig(t)
	r.removeOwn()
	wantText(r, "the error", r.run("migrate").err, "neither the existing cloud controller manager nor this one",
		"--cloud-config=FILE")
	holder, now := "pod-of-elsewhere_1", metav1.NewMicroTime(time.Now())
	meta := metav1.ObjectMeta{Namespace: "kube-system", Name: "cloud-controller-manager"}
	lease := &coordinationv1.Lease{ObjectMeta: meta,
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &now}}
	if _, err := r.cluster.CoordinationV1().Leases("kube-system").Create(t.Context(), lease,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	wantText(r, "with a file", r.run("migrate", "--cloud-config="+r.file(r.inline(r.config()))).out,
		"Warning      lease: pod-of-elsewhere_1 holds the lease", "Find and stop it.")
}
