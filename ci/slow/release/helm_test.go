package release

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	action3 "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	cli3 "helm.sh/helm/v3/pkg/cli"
	registry3 "helm.sh/helm/v3/pkg/registry"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// chartURL is what is given to `helm install`.
func (p published) chartURL() string { return "oci://" + p.base + "/charts/thalassa-ccm" }

// values are the fewest that the chart can be installed with, as a file of the sources has them.
func (p published) values(t *testing.T) map[string]any {
	t.Helper()
	values, err := chartutil.ReadValuesFile(filepath.Join(p.sources, "charts", "thalassa-ccm", "ci",
		"minimal-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// testHelm3 is `helm install thalassa-ccm oci://… --version …`.
func (p published) testHelm3(t *testing.T) {
	client, err := registry3.NewClient(registry3.ClientOptPlainHTTP(), registry3.ClientOptWriter(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	settings := cli3.New()
	settings.RepositoryCache, settings.RepositoryConfig = t.TempDir(), filepath.Join(t.TempDir(), "repositories.yaml")
	install := action3.NewInstall(&action3.Configuration{})
	install.SetRegistryClient(client)
	install.PlainHTTP, install.Version = true, p.version
	archive, err := install.LocateChart(p.chartURL(), settings)
	if err != nil {
		t.Fatal(err)
	}
	plane, namespace := controlplanetest.Get(t), controlplanetest.Namespace(t)
	release := chart.Release{Name: "thalassa-ccm", Namespace: namespace, Values: p.values(t)}
	var progress bytes.Buffer
	if _, err := chart.Install(t.Context(), plane.Config(), archive, release, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	p.wantInstalled(t, namespace)
	if err := chart.Uninstall(t.Context(), plane.Config(), release.Name, namespace, nil); err != nil {
		t.Error(err)
	}
}

// wantInstalled wants the pods of a release to run the image that was published with it, by its digest.
func (p published) wantInstalled(t *testing.T, namespace string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(controlplanetest.Get(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	installed, err := client.AppsV1().DaemonSets(namespace).Get(t.Context(), "thalassa-ccm", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.wantImage(t, installed, "cloud-controller-manager")
}

func (p published) wantImage(t *testing.T, installed *appsv1.DaemonSet, name string) {
	t.Helper()
	image := installed.Spec.Template.Spec.Containers[0].Image
	if want := "/" + name + "@" + p.digest(t, name); !strings.HasSuffix(image, want) {
		t.Errorf("the pods run %s, what was published is %s", image, want)
	}
}
