package plugin

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names of the existing cloud controller manager.
const (
	formerName  = "existing-cloud-controller-manager" // its Deployment and its Secret
	formerFiles = "/etc/existing"                     // where its Secret is
)

// former is the existing cloud controller manager of a cloud.
type former struct {
	image         string
	command, args []string
	files         map[string]string // in its Secret
	changing      string            // a line of the plan when the port of a Service has changed
	users         []string          // as which the person reads the cloud, if that is the API server, too
}

// testMigration: a cluster whose Service the existing program serves is ready with an empty plan while nothing changes,
// and else the plan has the reason. Nothing is written.
func (r *rig) testMigration(existing former) {
	r.Helper()
	r.addFormer(existing)
	r.permitSecret(formerName)
	services := r.cluster.CoreV1().Services("default")
	web, err := services.Get(r.Context(), "web", metav1.GetOptions{})
	r.must(err)
	web.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}
	web, err = services.Update(r.Context(), web, metav1.UpdateOptions{})
	r.must(err)
	r.plant(web)
	users := append(existing.users, person)
	r.wantNoWrites([]attempt{
		{[]string{"migrate"}, 0, "Nothing would change in the cloud for 1 Service."},
		{[]string{"migrate", "-o", "json"}, 0, `"ready": true`},
	}, users...)
	web.Spec.Ports[0].Port = 81
	_, err = services.Update(r.Context(), web, metav1.UpdateOptions{})
	r.must(err)
	r.wantNoWrites([]attempt{{[]string{"migrate"}, 1, existing.changing}}, users...)
	r.must(r.cluster.AppsV1().Deployments(system).Delete(r.Context(), formerName, metav1.DeleteOptions{}))
}

// addFormer adds the workload of the existing program, which does not run.
func (r *rig) addFormer(existing former) {
	r.Helper()
	meta := metav1.ObjectMeta{Namespace: system, Name: formerName}
	_, err := r.cluster.CoreV1().Secrets(system).Create(r.Context(), &corev1.Secret{ObjectMeta: meta,
		StringData: existing.files}, metav1.CreateOptions{})
	r.must(err)
	labels := map[string]string{"app": meta.Name}
	_, err = r.cluster.AppsV1().Deployments(system).Create(r.Context(), &appsv1.Deployment{ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "manager", Image: existing.image,
					Command: existing.command, Args: existing.args,
					VolumeMounts: []corev1.VolumeMount{{Name: "files", MountPath: formerFiles}}}},
				Volumes: []corev1.Volume{{Name: "files", VolumeSource: corev1.VolumeSource{
					Secret: &corev1.SecretVolumeSource{SecretName: meta.Name}}}}}}}}, metav1.CreateOptions{})
	r.must(err)
}
