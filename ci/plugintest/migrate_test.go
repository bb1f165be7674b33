package plugintest

import (
	"encoding/json"
	"strings"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
)

// former is the existing cloud controller manager of IronCore.
type former struct{ user, network, namespace, kubeconfig string }

// testMigration: a cluster whose Service the existing program serves is ready with an empty plan while nothing changes,
// and else the plan has the reason. Nothing is written.
func (r *rig) testMigration(existing former) {
	r.Helper()
	deployment := r.addFormer(existing)
	r.permitSecret(deployment)
	r.plant(existing)
	r.wantNoWrites(existing.user, []attempt{
		{[]string{"migrate"}, 0, "Nothing would change in the cloud for 1 Service."},
		{[]string{"migrate", "-o", "json"}, 0, `"ready": true`},
	})
	services := r.cluster.CoreV1().Services("default")
	web, err := services.Get(r.Context(), "web", metav1.GetOptions{})
	r.must(err)
	web.Spec.Ports[0].Port = 81
	_, err = services.Update(r.Context(), web, metav1.UpdateOptions{})
	r.must(err)
	r.wantNoWrites(existing.user, []attempt{{[]string{"migrate"}, 1, "  ~ update LoadBalancer "}})
	r.must(r.cluster.AppsV1().Deployments(system).Delete(r.Context(), deployment, metav1.DeleteOptions{}))
}

// withNamespace sets the namespace of a kubeconfig, which names the objects of the cluster in IronCore.
func (r *rig) withNamespace(kubeconfig, namespace string) string {
	r.Helper()
	config, err := clientcmd.Load([]byte(kubeconfig))
	r.must(err)
	config.Contexts[config.CurrentContext].Namespace = namespace
	text, err := clientcmd.Write(*config)
	r.must(err)
	return string(text)
}

// addFormer adds the workload of the existing program, which does not run, and returns its name.
func (r *rig) addFormer(existing former) string {
	r.Helper()
	meta := metav1.ObjectMeta{Namespace: system, Name: "ironcore-cloud-controller-manager"}
	_, err := r.cluster.CoreV1().Secrets(system).Create(r.Context(), &corev1.Secret{ObjectMeta: meta,
		StringData: map[string]string{"kubeconfig": r.withNamespace(existing.kubeconfig, existing.namespace),
			"cloudprovider.conf": "networkName: " + existing.network + "\nclusterName: plugin\n"},
	}, metav1.CreateOptions{})
	r.must(err)
	labels := map[string]string{"app": meta.Name}
	_, err = r.cluster.AppsV1().Deployments(system).Create(r.Context(), &appsv1.Deployment{ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "manager",
					Image:   "ghcr.io/ironcore-dev/cloud-provider-ironcore:v0.4.0",
					Command: []string{"/ironcore-cloud-controller-manager"},
					Args: []string{"--cloud-config=/etc/ironcore/cloudprovider.conf", "--cluster-name=plugin",
						"--ironcore-kubeconfig=/etc/ironcore/kubeconfig", "--configure-cloud-routes=false"},
					VolumeMounts: []corev1.VolumeMount{{Name: "ironcore", MountPath: "/etc/ironcore"}}}},
				Volumes: []corev1.Volume{{Name: "ironcore", VolumeSource: corev1.VolumeSource{
					Secret: &corev1.SecretVolumeSource{SecretName: meta.Name}}}}}}}}, metav1.CreateOptions{})
	r.must(err)
	return meta.Name
}

// plant applies the load balancer of the Service web as the existing program does, with its default, a selector.
func (r *rig) plant(existing former) {
	r.Helper()
	services := r.cluster.CoreV1().Services("default")
	web, err := services.Get(r.Context(), "web", metav1.GetOptions{})
	r.must(err)
	web.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}
	_, err = services.Update(r.Context(), web, metav1.UpdateOptions{})
	r.must(err)
	name, protocol := strings.ReplaceAll(string(web.UID), "-", ""), corev1.ProtocolTCP
	data, err := json.Marshal(&networkingv1alpha1.LoadBalancer{
		TypeMeta: metav1.TypeMeta{APIVersion: networkingv1alpha1.SchemeGroupVersion.String(), Kind: "LoadBalancer"},
		ObjectMeta: metav1.ObjectMeta{Namespace: existing.namespace, Name: name, Annotations: map[string]string{
			"cluster-name": "plugin", "service-name": web.Name, "service-namespace": web.Namespace,
			"service-uid": string(web.UID)}},
		Spec: networkingv1alpha1.LoadBalancerSpec{Type: networkingv1alpha1.LoadBalancerTypePublic,
			IPFamilies: web.Spec.IPFamilies, NetworkRef: corev1.LocalObjectReference{Name: existing.network},
			Ports: []networkingv1alpha1.LoadBalancerPort{{Port: 80, Protocol: &protocol}},
			NetworkInterfaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				"kubernetes.io/cluster": "plugin"}}},
	})
	r.must(err)
	api, err := client.New(r.plane.Config(), existing.namespace)
	r.must(err)
	force := true
	_, err = api.LoadBalancers.Patch(r.Context(), name, types.ApplyPatchType, data, metav1.PatchOptions{
		FieldManager: "cloud-provider.ironcore.dev/loadbalancer", Force: &force})
	r.must(err)
}
