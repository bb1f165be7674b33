package charttest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// TestPodSettings: each of these values is in the pods, and without it the pods have nothing of the kind.
func TestPodSettings(t *testing.T) {
	for name, test := range map[string]struct {
		sets []string
		got  func(corev1.PodSpec) any
		want string
	}{
		"dnsConfig": {
			[]string{"dnsPolicy=None", "dnsConfig.nameservers[0]=10.0.0.10"}, func(p corev1.PodSpec) any {
				return p.DNSConfig
			},
			"nameservers:\n- 10.0.0.10\n",
		},
		"hostAliases": {
			[]string{"hostAliases[0].ip=10.0.0.10", "hostAliases[0].hostnames[0]=api"}, func(p corev1.PodSpec) any {
				return p.HostAliases
			},
			"- hostnames:\n  - api\n  ip: 10.0.0.10\n",
		},
		"initContainers": {
			[]string{"initContainers[0].name=wait", "initContainers[0].image=wait:1"}, func(p corev1.PodSpec) any {
				return p.InitContainers
			},
			"- image: wait:1\n  name: wait\n  resources: {}\n",
		},
		"extraContainers": {
			[]string{"extraContainers[0].name=side", "extraContainers[0].image=side:1"}, func(p corev1.PodSpec) any {
				return p.Containers[1:]
			},
			"- image: side:1\n  name: side\n  resources: {}\n",
		},
		"envFrom": {
			[]string{"envFrom[0].configMapRef.name=proxy"}, func(p corev1.PodSpec) any {
				return p.Containers[0].EnvFrom
			},
			"- configMapRef:\n    name: proxy\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, text(t, test.got(pod(t, test.sets...).Spec))); diff != "" {
				t.Errorf("with the value (-want +got):\n%s", diff)
			}
			if got := text(t, test.got(pod(t).Spec)); got != "null\n" && got != "[]\n" {
				t.Errorf("without the value: %s", got)
			}
		})
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRolloutSettings reach both kinds of workload; without the values, Kubernetes decides.
func TestRolloutSettings(t *testing.T) {
	for name, test := range map[string]struct {
		sets    []string
		history *int32
		ready   int32
	}{
		"default": {nil, nil, 0},
		"some":    {[]string{"revisionHistoryLimit=3", "minReadySeconds=7"}, new(int32(3)), 7},
		"none":    {[]string{"revisionHistoryLimit=0"}, new(int32(0)), 0},
	} {
		ds, d := daemonSet(t, test.sets...).Spec, deployment(t, test.sets...).Spec
		if diff := cmp.Diff([]*int32{test.history, test.history}, []*int32{ds.RevisionHistoryLimit,
			d.RevisionHistoryLimit}); diff != "" {
			t.Errorf("%s: revisions (-want +got):\n%s", name, diff)
		}
		if ds.MinReadySeconds != test.ready || d.MinReadySeconds != test.ready {
			t.Errorf("%s: ready for %d and %d seconds, want %d", name, ds.MinReadySeconds, d.MinReadySeconds,
				test.ready)
		}
	}
}

func TestDisruptionBudgetNumbers(t *testing.T) {
	for name, test := range map[string]struct {
		sets []string
		want string
	}{
		"default":           {nil, "1/-"},
		"more may go":       {[]string{"podDisruptionBudget.maxUnavailable=2"}, "2/-"},
		"a part of them":    {[]string{"podDisruptionBudget.maxUnavailable=50%"}, "50%/-"},
		"some have to stay": {[]string{"podDisruptionBudget.minAvailable=1"}, "-/1"},
		"none has to stay":  {[]string{"podDisruptionBudget.minAvailable=0"}, "-/0"},
	} {
		budget := find[*policyv1.PodDisruptionBudget](t,
			objects(t, minimal(t, append(test.sets, "kind=Deployment", "replicas=3")...)), "thalassa-ccm")
		got := []string{"-", "-"}
		if most := budget.Spec.MaxUnavailable; most != nil {
			got[0] = most.String()
		}
		if least := budget.Spec.MinAvailable; least != nil {
			got[1] = least.String()
		}
		if strings.Join(got, "/") != test.want {
			t.Errorf("%s: maxUnavailable/minAvailable %s, want %s", name, strings.Join(got, "/"), test.want)
		}
	}
}

func TestServiceAccountLabels(t *testing.T) {
	account := find[*corev1.ServiceAccount](t, objects(t, minimal(t, "serviceAccount.labels.team=platform")),
		"thalassa-ccm")
	if account.Labels["team"] != "platform" || account.Labels["k8s-app"] != "cloud-controller-manager" {
		t.Errorf("labels %v, want those of the chart and team=platform", account.Labels)
	}
}

// TestExtraObjectsAreInstalledAsTheyAre: what looks like a template in them may be meant for another program.
func TestExtraObjectsAreInstalledAsTheyAre(t *testing.T) {
	const expression = `{{ $labels.instance }}`
	values := minimal(t)
	values["extraObjects"] = []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "mine"},
		"data": map[string]any{"text": expression},
	}}
	rendered := objects(t, values)
	mine := find[*corev1.ConfigMap](t, rendered, "mine")
	if mine.Data["text"] != expression || mine.Labels != nil {
		t.Errorf("the object is %+v", mine)
	}
	if got, want := len(rendered), len(objects(t, minimal(t)))+1; got != want {
		t.Errorf("%d objects, want %d", got, want)
	}
}

// TestNameOverride: names, labels and all selectors change together.
func TestNameOverride(t *testing.T) {
	decoded, err := Decode(manifest(t, chart.Release{Name: "cloud", Namespace: "kube-system",
		Values: minimal(t, everything("nameOverride=manager")...)}))
	if err != nil {
		t.Fatal(err)
	}
	workload := find[*appsv1.Deployment](t, decoded, "cloud-manager")
	pods := labels.Set(workload.Spec.Template.Labels)
	for name, selector := range map[string]map[string]string{
		"workload": workload.Spec.Selector.MatchLabels,
		"Service":  find[*corev1.Service](t, decoded, "cloud-manager-metrics").Spec.Selector,
		"budget":   find[*policyv1.PodDisruptionBudget](t, decoded, "cloud-manager").Spec.Selector.MatchLabels,
	} {
		if selector["app.kubernetes.io/name"] != "manager" || !labels.SelectorFromSet(selector).Matches(pods) {
			t.Errorf("%s selects %v, and the pods have %v", name, selector, pods)
		}
	}
	for _, object := range decoded {
		m, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.GetLabels()["app.kubernetes.io/name"]; got != "manager" ||
			strings.Contains(m.GetName(), "thalassa-ccm") {
			t.Errorf("%T %s has the name label %q", object, m.GetName(), got)
		}
	}
}

// everything asks for every kind of object that a self-managed release has.
func everything(more ...string) []string {
	return append([]string{
		"kind=Deployment", "hostNetwork=false", "networkPolicy.enabled=true", "serviceMonitor.enabled=true",
		"rules.enabled=true", "dashboards.enabled=true",
		"admissionPolicy.enabled=true", "credentials.existingSecret=", "credentials.create.enabled=true",
		"credentials.create.personalAccessToken=a", "useServiceAccountCredentials.enabled=true",
	}, more...)
}

// TestNamespaceOverride: no object stays in the release's namespace, and none refers to it; what has its place in
// kube-system stays.
func TestNamespaceOverride(t *testing.T) {
	r := chart.Release{Name: "thalassa-ccm", Namespace: "released",
		Values: minimal(t, everything("namespaceOverride=other", "metrics.tlsSecret=a")...)}
	manifest, notes, err := render(t, chartDir(t), r)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"manifest": manifest, "notes": notes} {
		if strings.Contains(text, "released") {
			t.Errorf("the %s has the namespace of the release:\n%s", what, text)
		}
	}
	decoded, err := Decode(manifest)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, object := range decoded {
		m, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		seen[m.GetNamespace()]++
	}
	if seen["other"] < 8 || len(seen) != 3 {
		t.Errorf("objects by namespace: %v, want most in other, some in kube-system, and some in none", seen)
	}
	for _, subject := range subjects(decoded) {
		if subject.Name == "thalassa-ccm" && subject.Namespace != "other" {
			t.Errorf("a binding is for %+v, and the account is in other", subject)
		}
	}
	if want := "thalassa-ccm-metrics.other.svc"; !strings.Contains(manifest, want) {
		t.Errorf("the ServiceMonitor does not expect the name %s", want)
	}
}

// subjects are those of all bindings.
func subjects(objects []runtime.Object) []rbacv1.Subject {
	var all []rbacv1.Subject
	for _, object := range objects {
		switch binding := object.(type) {
		case *rbacv1.ClusterRoleBinding:
			all = append(all, binding.Subjects...)
		case *rbacv1.RoleBinding:
			all = append(all, binding.Subjects...)
		}
	}
	return all
}

// TestMonitorsInAnotherNamespace: monitors select the pods' namespace; without the value they are beside the pods.
func TestMonitorsInAnotherNamespace(t *testing.T) {
	const monitoring = "monitoring"
	for _, test := range []struct {
		namespace string
		want      []string
	}{{"", nil}, {monitoring, []string{"kube-system"}}} {
		at := "kube-system"
		if test.namespace != "" {
			at = test.namespace
		}
		sets := []string{"scrape.namespace=" + test.namespace, "rules.namespace=" + test.namespace,
			"rules.enabled=true", "scrape.token.existingSecret=a"}
		rendered := objects(t, minimal(t, append(sets, "serviceMonitor.enabled=true")...))
		service := find[*monitoringv1.ServiceMonitor](t, rendered, "thalassa-ccm")
		rules := find[*monitoringv1.PrometheusRule](t, rendered, "thalassa-ccm")
		pods := find[*monitoringv1.PodMonitor](t, objects(t, minimal(t, append(sets, "podMonitor.enabled=true")...)),
			"thalassa-ccm")
		if service.Namespace != at || pods.Namespace != at || rules.Namespace != at {
			t.Errorf("namespaces %s, %s and %s, want %s", service.Namespace, pods.Namespace, rules.Namespace, at)
		}
		if diff := cmp.Diff([][]string{test.want, test.want}, [][]string{service.Spec.NamespaceSelector.MatchNames,
			pods.Spec.NamespaceSelector.MatchNames}); diff != "" {
			t.Errorf("namespaces that are selected (-want +got):\n%s", diff)
		}
		if got := find[*corev1.Service](t, rendered, "thalassa-ccm-metrics").Namespace; got != "kube-system" {
			t.Errorf("the Service is in %s", got)
		}
	}
}

// TestAdvanced: keys that are rarely set are in the configuration file like the others, and their old names say where
// they are now.
func TestAdvanced(t *testing.T) {
	config := cloudConfig(t, "advanced.inventory.machineAge=7", "advanced.api.burst=8", "cloudConfig.api.callTimeout=9")
	want := map[string]any{
		"inventory": map[string]any{"machineAge": 7.0, "balancerAge": 600.0},
		"api":       map[string]any{"callTimeout": 9.0, "requestsPerSecond": 50.0, "burst": 8.0},
	}
	if diff := cmp.Diff(want, map[string]any{"inventory": config["inventory"], "api": config["api"]}); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	for set, want := range map[string]string{
		"cloudConfig.inventory.machineAge=7": "set advanced.inventory instead",
		"cloudConfig.api.burst=8":            "set advanced.api.burst instead",
	} {
		if got := sentences(t, refusal(t, minimal(t, set))); len(got) != 1 || !strings.HasSuffix(got[0], want) {
			t.Errorf("%s: the chart says %q, want one sentence that ends with %q", set, got, want)
		}
	}
}

// TestChartSaysWhoMaintainsIt, and has an icon that is a file of this repository.
func TestChartSaysWhoMaintainsIt(t *testing.T) {
	loaded, err := chart.Load(chartDir(t))
	if err != nil {
		t.Fatal(err)
	}
	if m := loaded.Metadata.Maintainers; len(m) == 0 || m[0].Name == "" || m[0].URL == "" {
		t.Errorf("maintainers %+v", m)
	}
	file, found := strings.CutPrefix(loaded.Metadata.Icon,
		"https://raw.githubusercontent.com/thalassa-cloud/thalassa-ccm/main/")
	if !found || !strings.Contains(readCheckout(t, file), "<svg") {
		t.Errorf("icon %s", loaded.Metadata.Icon)
	}
}
