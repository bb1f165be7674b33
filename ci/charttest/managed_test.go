package charttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// kindNames returns what is rendered as "Kind name", sorted.
func kindNames(t *testing.T, objects []runtime.Object) []string {
	t.Helper()
	var found []string
	for _, object := range objects {
		found = append(found, object.GetObjectKind().GroupVersionKind().Kind+" "+accessor(t, object).GetName())
	}
	slices.Sort(found)
	return found
}

// TestManagedParts wants each side to hold exactly what belongs there: no permissions in the
// hosting cluster, no workload and no credentials in the served one.
func TestManagedParts(t *testing.T) {
	everything := []string{"serviceMonitor.enabled=true", "scrape.clientCertificate.existingSecret=a",
		"metrics.clientCA.existingSecret=b", "rules.enabled=true", "networkPolicy.enabled=true",
		"dashboards.enabled=true",
		"useServiceAccountCredentials.enabled=true", "useServiceAccountCredentials.createAccounts=true",
		"metrics.readers[0].kind=User", "metrics.readers[0].name=prometheus"}
	for name, test := range map[string]struct{ sets, want []string }{
		"hosting": {hosting(), []string{"ConfigMap thalassa-ccm", "Deployment thalassa-ccm",
			"PodDisruptionBudget thalassa-ccm", "ServiceAccount thalassa-ccm"}},
		"hosting with everything": {hosting(everything...), []string{"ConfigMap thalassa-ccm",
			"ConfigMap thalassa-ccm-dashboard-cloud-api", "ConfigMap thalassa-ccm-dashboard-overview",
			"Deployment thalassa-ccm", "NetworkPolicy thalassa-ccm",
			"PodDisruptionBudget thalassa-ccm", "PrometheusRule thalassa-ccm", "Service thalassa-ccm-metrics",
			"ServiceAccount thalassa-ccm",
			"ServiceMonitor thalassa-ccm"}},
		"tenant": {tenant(), []string{"ClusterRole thalassa-ccm", "ClusterRoleBinding thalassa-ccm",
			"Role thalassa-ccm", "RoleBinding thalassa-ccm"}},
		"tenant with everything": {tenant(everything...), []string{
			"ClusterRole thalassa-ccm", "ClusterRole thalassa-ccm-cloud-provider-thalassa",
			"ClusterRole thalassa-ccm-metrics-reader",
			"ClusterRole thalassa-ccm-node-controller", "ClusterRole thalassa-ccm-service-controller",
			"ClusterRoleBinding thalassa-ccm", "ClusterRoleBinding thalassa-ccm-cloud-provider-thalassa",
			"ClusterRoleBinding thalassa-ccm-metrics-reader",
			"ClusterRoleBinding thalassa-ccm-node-controller", "ClusterRoleBinding thalassa-ccm-service-controller",
			"Role thalassa-ccm", "RoleBinding thalassa-ccm",
			"ServiceAccount cloud-provider-thalassa", "ServiceAccount node-controller",
			"ServiceAccount service-controller"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, kindNames(t, objects(t, minimal(t, test.sets...)))); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPartsTogetherAreTheWhole wants the two sides to hold what a self-managed cluster has, and nothing twice.
func TestPartsTogetherAreTheWhole(t *testing.T) {
	whole := kindNames(t, objects(t, minimal(t, "kind=Deployment")))
	both := slices.Concat(kindNames(t, objects(t, minimal(t, hosting()...))),
		kindNames(t, objects(t, minimal(t, tenant()...))),
		// The served cluster's authorities are not trusted, so their list is not read.
		[]string{"RoleBinding thalassa-ccm-authentication-reader"})
	slices.Sort(both)
	if diff := cmp.Diff(whole, both); diff != "" {
		t.Errorf("objects (-self-managed +managed):\n%s", diff)
	}
}

// TestManagedPod wants a pod that is nothing special in the hosting cluster, and asks the served one about everything.
func TestManagedPod(t *testing.T) {
	template := pod(t, hosting("metrics.clientCA.existingSecret=clients")...)
	spec := template.Spec
	if spec.HostNetwork || spec.DNSPolicy != corev1.DNSClusterFirst || spec.PriorityClassName != "" ||
		len(spec.Tolerations) > 0 ||
		len(spec.NodeSelector) > 0 || spec.Affinity.NodeAffinity != nil {
		t.Errorf("the pod asks for a place of its own: %+v", spec)
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		t.Error("the pod has a token of the hosting cluster")
	}
	if got := restrictions(spec); len(got) > 0 {
		t.Errorf("the pod violates %q", got)
	}
	for _, variable := range spec.Containers[0].Env {
		if strings.HasPrefix(variable.Name, "POD_") {
			t.Errorf("with %s, events about the pod would go to the served cluster", variable.Name)
		}
	}
	got := flags(t, hosting("metrics.clientCA.existingSecret=clients")...)
	for flag, want := range map[string]string{
		"kubeconfig":                "/etc/thalassa-ccm/tenant/kubeconfig",
		"authentication-kubeconfig": "/etc/thalassa-ccm/tenant/kubeconfig",
		"authorization-kubeconfig":  "/etc/thalassa-ccm/tenant/kubeconfig", "authentication-skip-lookup": "true",
		"client-ca-file": "/etc/thalassa-ccm/client-ca/ca.crt", "leader-elect": "true",
	} {
		if got[flag] != want {
			t.Errorf("--%s=%s, want %s", flag, got[flag], want)
		}
	}
	for _, want := range []corev1.VolumeMount{
		{Name: "tenant", MountPath: "/etc/thalassa-ccm/tenant", ReadOnly: true},
		{Name: "client-ca", MountPath: "/etc/thalassa-ccm/client-ca", ReadOnly: true},
	} {
		if diff := cmp.Diff(want, mountOf(t, spec.Containers[0], want.Name)); diff != "" {
			t.Errorf("mount (-want +got):\n%s", diff)
		}
	}
}

// TestSelfManagedKnowsNoTenant keeps the flags of the other profile away.
func TestSelfManagedKnowsNoTenant(t *testing.T) {
	for flag := range flags(t) {
		if strings.Contains(flag, "kubeconfig") || flag == "authentication-skip-lookup" || flag == "client-ca-file" {
			t.Errorf("--%s is rendered", flag)
		}
	}
}

// TestManagedDefaultsCanBeReplaced: the profile decides only what is null.
func TestManagedDefaultsCanBeReplaced(t *testing.T) {
	spec := pod(t, hosting("priorityClassName=high", "tolerations[0].operator=Exists", "dnsPolicy=Default",
		"hostNetwork=true",
		"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."+
			"matchExpressions[0].key=pool",
		"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."+
			"matchExpressions[0].operator=Exists")...).Spec
	if spec.PriorityClassName != "high" || len(spec.Tolerations) != 1 || spec.DNSPolicy != corev1.DNSDefault ||
		!spec.HostNetwork || spec.Affinity.NodeAffinity == nil {
		t.Errorf("the pod does not have what was set: %+v", spec)
	}
	values := minimal(t, "priorityClassName=", "hostNetwork=false", "affinity.nodeAffinity=null")
	values["tolerations"] = []any{}
	self := podTemplate(objects(t, values)).Spec
	if len(self.Tolerations) > 0 || self.PriorityClassName != "" || self.HostNetwork || self.Affinity != nil {
		t.Errorf("the pod has what was taken away: %+v", self)
	}
}

// TestTenantSubject wants every binding to be for the identity in the kubeconfig.
func TestTenantSubject(t *testing.T) {
	for name, test := range map[string]struct {
		sets []string
		want rbacv1.Subject
	}{
		"user": {nil, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "ccm"}},
		"group": {[]string{"tenant.subject.kind=Group"}, rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName,
			Name: "ccm"}},
		"account": {[]string{"tenant.subject.kind=ServiceAccount", "tenant.subject.namespace=kube-system"},
			rbacv1.Subject{Kind: "ServiceAccount", Name: "ccm", Namespace: "kube-system"}},
	} {
		t.Run(name, func(t *testing.T) {
			rendered := objects(t, minimal(t, tenant(test.sets...)...))
			for what, subjects := range map[string][]rbacv1.Subject{
				"ClusterRoleBinding": find[*rbacv1.ClusterRoleBinding](t, rendered, "thalassa-ccm").Subjects,
				"RoleBinding":        find[*rbacv1.RoleBinding](t, rendered, "thalassa-ccm").Subjects,
			} {
				if diff := cmp.Diff([]rbacv1.Subject{test.want}, subjects); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

// TestTenantMayDoTheSame: the served cluster permits as much as a self-managed one.
func TestTenantMayDoTheSame(t *testing.T) {
	self, managed := objects(t, minimal(t)), objects(t, minimal(t, tenant()...))
	for what, pair := range map[string][2][]rbacv1.PolicyRule{
		"in the whole cluster": {find[*rbacv1.ClusterRole](t, self, "thalassa-ccm").Rules,
			find[*rbacv1.ClusterRole](t, managed, "thalassa-ccm").Rules},
		"in kube-system": {find[*rbacv1.Role](t, self, "thalassa-ccm").Rules, find[*rbacv1.Role](t, managed,
			"thalassa-ccm").Rules},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%s (-self-managed +tenant):\n%s", what, diff)
		}
	}
}

func TestMetricsReaders(t *testing.T) {
	rendered := objects(t, minimal(t, tenant("metrics.readers[0].kind=User", "metrics.readers[0].name=prometheus")...))
	want := []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}
	if diff := cmp.Diff(want, find[*rbacv1.ClusterRole](t, rendered, "thalassa-ccm-metrics-reader").Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	binding := find[*rbacv1.ClusterRoleBinding](t, rendered, "thalassa-ccm-metrics-reader")
	if binding.RoleRef.Name != "thalassa-ccm-metrics-reader" {
		t.Errorf("bound to %s", binding.RoleRef.Name)
	}
	if diff := cmp.Diff([]rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "prometheus"}},
		binding.Subjects); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
}

// TestProfilesAreDistinguished wants one sentence for each value that belongs to the other profile or part.
func TestProfilesAreDistinguished(t *testing.T) {
	for name, test := range map[string]struct {
		sets []string
		want string
	}{
		"no part":              {[]string{"profile=managed"}, "part is required with profile managed: "},
		"part of self-managed": {[]string{"part=hosting"}, "part=hosting is only for profile managed: "},
		"no kubeconfig": {hosting("tenant.kubeconfig.existingSecret="),
			"tenant.kubeconfig.existingSecret is required with part hosting: "},
		"no subject": {tenant("tenant.subject.name="),
			"tenant.subject.name is required with part tenant: "},
		"account nowhere": {tenant("tenant.subject.kind=ServiceAccount"),
			"tenant.subject.namespace is required while tenant.subject.kind is ServiceAccount: "},
		"user somewhere": {tenant("tenant.subject.namespace=a"),
			"tenant.subject.namespace is only for tenant.subject.kind=ServiceAccount: "},
		"kubeconfig of its own": {[]string{"tenant.kubeconfig.existingSecret=a"},
			"tenant.kubeconfig.existingSecret is only for profile managed: "},
		"subject of its own": {[]string{"tenant.subject.name=a"},
			"tenant.subject.name is only for profile managed: "},
		"a pod on every host": {hosting("kind=DaemonSet"), "kind=DaemonSet is only for profile self-managed: "},
		"two addresses": {hosting("kubernetesServiceHost=a"),
			"kubernetesServiceHost and kubernetesServicePort are only for profile self-managed: "},
		"policy on host network": {[]string{"networkPolicy.enabled=true"},
			"networkPolicy.enabled and hostNetwork exclude each other: "},
		"token for the tenant": {hosting("serviceMonitor.enabled=true"),
			"scrape.clientCertificate.existingSecret is required with profile managed while serviceMonitor.enabled " +
				"is true: "},
		"pod monitor's token": {[]string{"podMonitor.enabled=true"},
			"scrape.token.existingSecret is required while podMonitor.enabled is true: "},
		"two monitors": {[]string{"serviceMonitor.enabled=true", "podMonitor.enabled=true",
			"scrape.token.existingSecret=a"}, "serviceMonitor.enabled and podMonitor.enabled exclude each other: "},
		"two ways to identify": {[]string{"scrape.token.existingSecret=a",
			"scrape.clientCertificate.existingSecret=b"},
			"scrape.token.existingSecret and scrape.clientCertificate.existingSecret exclude each other: "},
		"a label twice": {[]string{"commonLabels.k8s-app=a"},
			"commonLabels contains k8s-app, a label that the chart sets itself: "},
		"a pod's label twice": {[]string{`podLabels.app\.kubernetes\.io/name=a`},
			"podLabels contains app.kubernetes.io/name, a label that the chart sets itself: "},
		"an annotation twice": {[]string{"podAnnotations.checksum/config=a"},
			"podAnnotations contains checksum/config, an annotation that the chart sets itself: "},
		"created without enabling": {[]string{"credentials.create.personalAccessToken=a"},
			"credentials.create.enabled is false, but credentials are set under credentials.create: "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sentences(t, refusal(t, minimal(t, test.sets...))); len(got) != 1 ||
				!strings.HasPrefix(got[0], test.want) {
				t.Errorf("the chart says %q, want one sentence that begins with %q", got, test.want)
			}
		})
	}
}
