package charttest

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 53)
	for name, test := range map[string]struct{ release, override, want string }{
		"release named like the chart": {"thalassa-ccm", "", "thalassa-ccm"},
		"release that contains it":     {"eu-thalassa-ccm", "", "eu-thalassa-ccm"},
		"other release":                {"cloud", "", "cloud-thalassa-ccm"},
		"override":                     {"cloud", "ccm", "ccm"},
		"longest release":              {long, "", long + "-thalassa"},
	} {
		t.Run(name, func(t *testing.T) {
			decoded, err := Decode(manifest(t, chart.Release{
				Name: test.release, Namespace: "kube-system", Values: minimal(t, "fullnameOverride="+test.override),
			}))
			if err != nil {
				t.Fatal(err)
			}
			find[*appsv1.DaemonSet](t, decoded, test.want)
		})
	}
}

// TestNamesThatNoServiceCanHave are refused in one sentence, whether the Service is rendered or not.
func TestNamesThatNoServiceCanHave(t *testing.T) {
	for name, test := range map[string]struct{ release, override, want string }{
		"a digit first": {"cloud", "9ccm", "fullnameOverride gives the objects the name 9ccm, "},
		"too long": {"cloud", strings.Repeat("a", 64), "fullnameOverride gives the objects the name " +
			strings.Repeat("a", 64) + ", "},
		"a dash last":       {"cloud", "ccm-", "fullnameOverride gives the objects the name ccm-, "},
		"capitals":          {"cloud", "CCM", "fullnameOverride gives the objects the name CCM, "},
		"a release's digit": {"9", "", "the name of the release gives the objects the name 9-thalassa-ccm, "},
		"a release's dot": {"cloud.eu", "",
			"the name of the release gives the objects the name cloud.eu-thalassa-ccm, "},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := render(t, chartDir(t), chart.Release{
				Name: test.release, Namespace: "kube-system", Values: minimal(t, "fullnameOverride="+test.override),
			})
			if err == nil {
				t.Fatal("it is accepted")
			}
			got := sentences(t, err.Error())
			if len(got) != 1 || !strings.HasPrefix(got[0], test.want) ||
				!strings.Contains(got[0], "for example --set fullnameOverride=thalassa-ccm") {
				t.Errorf("the chart says %q, want one sentence that begins with %q, and an example", got, test.want)
			}
		})
	}
}

// TestNamesThatLookLikeNumbers stay names: YAML would take them for numbers.
func TestNamesThatLookLikeNumbers(t *testing.T) {
	const namespace, account, secret = "20260101", "1e5", "0123"
	for name, file := range valuesFiles(t) {
		values := readValues(t, file)
		values["serviceAccount"] = map[string]any{"name": account}
		values["fullnameOverride"] = "ccm" // what no Service can be named is refused
		if credentials, ok := values["credentials"].(map[string]any); ok && credentials["existingSecret"] != nil {
			credentials["existingSecret"] = secret
		}
		decoded, err := Decode(manifest(t, chart.Release{Name: "123", Namespace: namespace, Values: values}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(decoded) == 0 {
			t.Errorf("%s: no objects", name)
		}
	}
}

// TestSelector pins what cannot be changed on an installed DaemonSet.
func TestSelector(t *testing.T) {
	spec := daemonSet(t).Spec
	want := map[string]string{"app.kubernetes.io/name": "thalassa-ccm", "app.kubernetes.io/instance": "thalassa-ccm"}
	if diff := cmp.Diff(want, spec.Selector.MatchLabels); diff != "" {
		t.Errorf("selector (-want +got), no upgrade can change it:\n%s", diff)
	}
	labels := maps.Clone(spec.Template.Labels)
	maps.Copy(labels, want)
	if diff := cmp.Diff(labels, spec.Template.Labels); diff != "" {
		t.Errorf("the pods lack labels of the selector:\n%s", diff)
	}
}

func TestLabels(t *testing.T) {
	for _, object := range objects(t, minimal(t)) {
		got, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		labels := got.GetLabels()
		for key, want := range map[string]string{
			"k8s-app": "cloud-controller-manager", "app.kubernetes.io/name": "thalassa-ccm",
			"app.kubernetes.io/managed-by": "Helm",
		} {
			if labels[key] != want {
				t.Errorf("%T %s has the label %s=%q, want %q", object, got.GetName(), key, labels[key], want)
			}
		}
	}
}

func TestRollout(t *testing.T) {
	strategy := daemonSet(t).Spec.UpdateStrategy
	if strategy.Type != appsv1.RollingUpdateDaemonSetStrategyType || strategy.RollingUpdate == nil {
		t.Fatalf("update strategy %v, want RollingUpdate", strategy)
	}
	if got := strategy.RollingUpdate.MaxSurge.String(); got != "0" {
		t.Errorf("maxSurge %s: two pods would fight for a port of the host", got)
	}
	if got := strategy.RollingUpdate.MaxUnavailable.String(); got != "1" {
		t.Errorf("maxUnavailable %s, want 1", got)
	}
}

func TestProbesAndPort(t *testing.T) {
	c := container(t, "securePort=20258")
	if len(c.Ports) != 1 || c.Ports[0].Name != "metrics" || c.Ports[0].ContainerPort != 20258 {
		t.Fatalf("ports %v, want metrics on 20258", c.Ports)
	}
	for path, probe := range map[string]*corev1.Probe{"/livez": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil {
			t.Errorf("no HTTP probe on %s", path)
			continue
		}
		if get := probe.HTTPGet; get.Path != path || get.Scheme != corev1.URISchemeHTTPS ||
			get.Port.String() != "metrics" {
			t.Errorf("probe %v, want %s over HTTPS on the port metrics", get, path)
		}
	}
}

func TestImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	const repository = "thalassa-cloud/thalassa-ccm/cloud-controller-manager"
	for name, test := range map[string]struct {
		sets []string
		want string
	}{
		"default": {nil, "ghcr.io/" + repository + ":0.1.0"},
		"tag":     {[]string{"image.tag=1.2.3"}, "ghcr.io/" + repository + ":1.2.3"},
		"digest":  {[]string{"image.digest=" + digest}, "ghcr.io/" + repository + "@" + digest},
		"digest and tag": {[]string{"image.digest=" + digest, "image.tag=1.2.3"}, "ghcr.io/" + repository + "@" +
			digest},
		"mirror":          {[]string{"image.registry=mirror:5000"}, "mirror:5000/" + repository + ":0.1.0"},
		"no registry":     {[]string{"image.registry=", "image.repository=ccm"}, "ccm:0.1.0"},
		"another project": {[]string{"image.repository=mine/ccm"}, "ghcr.io/mine/ccm:0.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := container(t, test.sets...).Image; got != test.want {
				t.Errorf("image %s, want %s", got, test.want)
			}
		})
	}
}

// TestChecksum wants new pods for a new configuration, and only then.
func TestChecksum(t *testing.T) {
	checksum := func(sets ...string) string {
		return daemonSet(t, sets...).Spec.Template.Annotations["checksum/config"]
	}
	plain := checksum()
	if len(plain) != 64 {
		t.Fatalf("checksum %q is no SHA-256", plain)
	}
	if checksum("cloudConfig.defaultSubnet=subnet-1") == plain {
		t.Error("a new configuration keeps the checksum")
	}
	if checksum("logVerbosity=4") != plain {
		t.Error("a new flag changes the checksum of the configuration")
	}
}

func TestNamespaces(t *testing.T) {
	decoded, err := Decode(manifest(t, chart.Release{Name: "thalassa-ccm", Namespace: "cloud", Values: minimal(t)}))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"ServiceAccount thalassa-ccm": "cloud", "ConfigMap thalassa-ccm": "cloud", "DaemonSet thalassa-ccm": "cloud",
		"ClusterRole thalassa-ccm": "", "ClusterRoleBinding thalassa-ccm": "", "Role thalassa-ccm": "kube-system",
		"RoleBinding thalassa-ccm": "kube-system", "RoleBinding thalassa-ccm-authentication-reader": "kube-system",
	}
	got := map[string]string{}
	for _, object := range decoded {
		o, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		got[object.GetObjectKind().GroupVersionKind().Kind+" "+o.GetName()] = o.GetNamespace()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("namespaces of the objects (-want +got):\n%s", diff)
	}
}

func TestNotes(t *testing.T) {
	_, notes, err := render(t, chartDir(t), chart.Release{Name: "ccm", Namespace: "cloud",
		Values: minimal(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"kubectl create secret generic thalassa-credentials --namespace cloud ",
		"kubectl rollout status daemonset/ccm-thalassa-ccm --namespace cloud\n",
		"Before you uninstall",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
}
