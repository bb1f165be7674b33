package gitopstest

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// trackingLabel is what Argo CD overwrites on every object that it applies while it tracks by label, the default of
// version 2. It leaves the labels of pod templates and all selectors as they are.
const trackingLabel = "app.kubernetes.io/instance"

// TestLabelTracking: the metrics are found and the pods are selected although Argo CD, with an application that is not
// named like the release, overwrites the label by which it tracks objects.
func TestLabelTracking(t *testing.T) {
	for name, manifest := range map[string]string{
		"chart, ServiceMonitor": rendered(t, map[string]any{"serviceMonitor": enabled()}),
		"chart, PodMonitor": rendered(t, map[string]any{
			"podMonitor": enabled(),
			"scrape":     map[string]any{"token": map[string]any{"existingSecret": "prometheus-token"}},
		}),
		"chart, network policy and disruption budget": rendered(t, map[string]any{
			"serviceMonitor": enabled(), "kind": "Deployment", "hostNetwork": false, "networkPolicy": enabled(),
		}),
		"overlay": monitoredOverlay(t),
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := charttest.Decode(manifest)
			if err != nil {
				t.Fatal(err)
			}
			track(t, objects, "my-application")
			wantScraped(t, objects)
		})
	}
}

// TestTwoReleasesAreScrapedApart: a ServiceMonitor selects no other release's Service in its namespace, also under
// label tracking.
func TestTwoReleasesAreScrapedApart(t *testing.T) {
	values := func() map[string]any { return minimal(t, map[string]any{"serviceMonitor": enabled()}) }
	var all []runtime.Object
	for _, name := range []string{"one", "two"} {
		objects, err := charttest.Decode(render(t, chart.Release{Name: name, Namespace: "kube-system",
			Values: values()}))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, objects...)
	}
	track(t, all, "my-application")
	for _, monitor := range ofType[*monitoringv1.ServiceMonitor](all) {
		services := selected[*corev1.Service](t, all, monitor.Spec.Selector)
		if len(services) != 1 || services[0].Name != monitor.Name+"-metrics" {
			t.Errorf("ServiceMonitor %s selects %d Services, want %s-metrics", monitor.Name, len(services),
				monitor.Name)
		}
	}
}

func enabled() map[string]any { return map[string]any{"enabled": true} }

// minimal are values that every installation needs, and more.
func minimal(t *testing.T, more map[string]any) map[string]any {
	t.Helper()
	values := map[string]any{
		"cloudConfig": map[string]any{"organisation": "my-organisation", "vpcIdentity": "vpc-0123456789",
			"cluster": "production"},
		"credentials": map[string]any{"existingSecret": "thalassa-credentials"},
	}
	maps.Copy(values, more)
	return values
}

func rendered(t *testing.T, more map[string]any) string {
	t.Helper()
	return render(t, chart.Release{Name: "ccm", Namespace: "kube-system", Values: minimal(t, more)})
}

func render(t *testing.T, release chart.Release) string {
	t.Helper()
	manifest, _, err := chart.Render(t.Context(), filepath.Join(repotest.Root(t), chartDir), release)
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

// monitoredOverlay is the overlay with the component that has a ServiceMonitor.
func monitoredOverlay(t *testing.T) string {
	t.Helper()
	k := overlay.New(t)
	k.Say(t, "self-managed", map[string]string{"organisation": "my-organisation", "vpcIdentity": "vpc-0123456789",
		"cluster": "production"})
	k.Use(t, "self-managed", "monitoring")
	return k.Build(t, overlay.Dir("self-managed"))
}

// track does to objects what Argo CD does before it applies them.
func track(t *testing.T, objects []runtime.Object, application string) {
	t.Helper()
	for _, o := range objects {
		m, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		all := m.GetLabels()
		if all[trackingLabel] == application || all[trackingLabel] == "" {
			t.Errorf("%s has the label %s=%q already: nothing would be proven", m.GetName(), trackingLabel,
				all[trackingLabel])
		}
		all[trackingLabel] = application
		m.SetLabels(all)
	}
}

// wantScraped wants a monitor to lead to the pods, and every Service to select them.
func wantScraped(t *testing.T, objects []runtime.Object) {
	t.Helper()
	pods := podLabels(t, objects)
	monitors := 0
	for _, monitor := range ofType[*monitoringv1.ServiceMonitor](objects) {
		monitors++
		if services := selected[*corev1.Service](t, objects, monitor.Spec.Selector); len(services) != 1 {
			t.Errorf("ServiceMonitor %s selects %d Services, want 1: its labels are %v", monitor.Name, len(services),
				monitor.Spec.Selector.MatchLabels)
		}
		if strings.Contains(monitor.Spec.Selector.String(), trackingLabel) {
			t.Errorf("ServiceMonitor %s selects by %s, which Argo CD overwrites", monitor.Name, trackingLabel)
		}
	}
	for _, monitor := range ofType[*monitoringv1.PodMonitor](objects) {
		monitors++
		if !matches(t, monitor.Spec.Selector, pods) {
			t.Errorf("PodMonitor %s does not select pods with the labels %v", monitor.Name, pods)
		}
	}
	for _, service := range ofType[*corev1.Service](objects) {
		if !labels.SelectorFromSet(service.Spec.Selector).Matches(pods) {
			t.Errorf("Service %s does not select pods with the labels %v", service.Name, pods)
		}
	}
	if monitors == 0 {
		t.Error("there is no monitor")
	}
}

// podLabels are those of the pods. Their workload has to select them.
func podLabels(t *testing.T, objects []runtime.Object) labels.Set {
	t.Helper()
	var pods labels.Set
	var selector *metav1.LabelSelector
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.DaemonSet:
			pods, selector = o.Spec.Template.Labels, o.Spec.Selector
		case *appsv1.Deployment:
			pods, selector = o.Spec.Template.Labels, o.Spec.Selector
		}
	}
	if selector == nil || !matches(t, *selector, pods) {
		t.Fatalf("the workload selects %v, and its pods have the labels %v", selector, pods)
	}
	return pods
}

func matches(t *testing.T, selector metav1.LabelSelector, set labels.Set) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(set)
}

// ofType returns the objects of a type.
func ofType[T runtime.Object](objects []runtime.Object) []T {
	var found []T
	for _, o := range objects {
		if typed, is := o.(T); is {
			found = append(found, typed)
		}
	}
	return found
}

// selected returns the objects of a type that a selector matches.
func selected[T runtime.Object](t *testing.T, objects []runtime.Object, selector metav1.LabelSelector) []T {
	t.Helper()
	var found []T
	for _, o := range ofType[T](objects) {
		m, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		if matches(t, selector, m.GetLabels()) {
			found = append(found, o)
		}
	}
	return found
}
