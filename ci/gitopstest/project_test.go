package gitopstest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
)

// Project is as much of Argo CD's AppProject as the example uses.
type Project struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Description  string             `json:"description"`
		SourceRepos  []string           `json:"sourceRepos"`
		Destinations []Destination      `json:"destinations"`
		Cluster      []metav1.GroupKind `json:"clusterResourceWhitelist"`
		Namespaced   []metav1.GroupKind `json:"namespaceResourceWhitelist"`
	} `json:"spec"`
}

// argoCD returns the Applications of all examples.
func argoCD(t *testing.T) []Application {
	t.Helper()
	all := ofKind[Application](t, "argocd", "Application")
	if len(all) < 10 {
		t.Fatalf("only %d Applications", len(all))
	}
	return all
}

// installs is what Argo CD installs for an Application.
func (a Application) installs(t *testing.T) []runtime.Object {
	t.Helper()
	folder, published := strings.CutPrefix(a.Spec.Source.RepoURL, "oci://ghcr.io/thalassa-cloud/thalassa-ccm/")
	switch {
	case published:
		a.Spec.Source.Path = folder
	case a.Spec.Source.Helm == nil:
		return objects(t, overlay.New(t).Build(t, a.Spec.Source.Path))
	}
	return a.render(t)
}

// TestProjectPermitsTheExamples: the project permits where each example is from, and each object that it installs, in
// its namespace. It permits nothing that neither an example nor a value of the charts needs.
func TestProjectPermitsTheExamples(t *testing.T) {
	project := decode[Project](t, strings.Join(read(t, "argocd/project.yaml"), ""))
	if project.APIVersion != "argoproj.io/v1alpha1" || project.Kind != "AppProject" || project.Namespace != "argocd" {
		t.Errorf("%+v", project)
	}
	sources, destinations := map[string]bool{}, map[Destination]bool{}
	for _, a := range argoCD(t) {
		sources[a.Spec.Source.RepoURL] = true
		destinations[a.Spec.Destination] = true
		for _, o := range a.installs(t) {
			described, err := meta.Accessor(o)
			if err != nil {
				t.Fatal(err)
			}
			if described.GetNamespace() == "" {
				continue
			}
			to := a.Spec.Destination
			to.Namespace = described.GetNamespace()
			destinations[to] = true
		}
	}
	for _, diff := range []string{
		cmp.Diff(slices.Sorted(maps.Keys(sources)), slices.Sorted(slices.Values(project.Spec.SourceRepos))),
		cmp.Diff(destinations, setOf(project.Spec.Destinations)),
	} {
		if diff != "" {
			t.Errorf("the examples need, and the project permits (-need +permit):\n%s", diff)
		}
	}
	cluster, namespaced := chartKinds(t)
	if diff := cmp.Diff(cluster, setOf(project.Spec.Cluster)); diff != "" {
		t.Errorf("kinds without a namespace (-of the charts +of the project):\n%s", diff)
	}
	if diff := cmp.Diff(namespaced, setOf(project.Spec.Namespaced)); diff != "" {
		t.Errorf("kinds in namespaces (-of the charts +of the project):\n%s", diff)
	}
}

func setOf[T comparable](all []T) map[T]bool {
	set := map[T]bool{}
	for _, one := range all {
		set[one] = true
	}
	return set
}

// chartKinds returns the kinds that the charts render with any of their values, those of the cluster and those that are
// in namespaces.
func chartKinds(t *testing.T) (cluster, namespaced map[metav1.GroupKind]bool) {
	t.Helper()
	cluster, namespaced = map[metav1.GroupKind]bool{}, map[metav1.GroupKind]bool{}
	for _, c := range []charttest.Chart{charttest.CCM, charttest.CSI} {
		for _, file := range c.ValuesFiles(t) {
			for _, o := range c.Objects(t, charttest.ReadValues(t, file)) {
				described, err := meta.Accessor(o)
				if err != nil {
					t.Fatal(err)
				}
				kind := o.GetObjectKind().GroupVersionKind().GroupKind()
				into := namespaced
				if described.GetNamespace() == "" {
					into = cluster
				}
				into[metav1.GroupKind(kind)] = true
			}
		}
	}
	return cluster, namespaced
}
