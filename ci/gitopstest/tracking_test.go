package gitopstest

import (
	"maps"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/bases"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// trackingLabel is what Argo CD overwrites on every object that it applies while it tracks by label, the default of
// version 2. It leaves the labels of pod templates and all selectors as they are.
const trackingLabel = "app.kubernetes.io/instance"

// TestLabelTracking: the metrics are found and the pods are selected although Argo CD, with an application that is not
// named like the release, overwrites the label by which it tracks objects.
func TestLabelTracking(t *testing.T) {
	ccm, csi := products()[0], products()[1]
	for name, manifest := range map[string]string{
		"chart, ServiceMonitor": ccm.rendered(t, map[string]any{"serviceMonitor": enabled()}),
		"chart, PodMonitor": ccm.rendered(t, map[string]any{
			"podMonitor": enabled(),
			"scrape":     map[string]any{"token": map[string]any{"existingSecret": "prometheus-token"}},
		}),
		"chart, network policy and disruption budget": ccm.rendered(t, map[string]any{
			"serviceMonitor": enabled(), "kind": "Deployment", "hostNetwork": false, "networkPolicy": enabled(),
		}),
		"overlay": monitoredOverlay(t, "self-managed", "monitoring"),
		"csi chart, ServiceMonitor, network policies and disruption budget": csi.rendered(t, map[string]any{
			"serviceMonitor": enabled(), "networkPolicy": enabled(),
		}),
		"csi chart, PodMonitor": csi.rendered(t, map[string]any{"podMonitor": enabled()}),
		"csi overlay":           monitoredOverlay(t, bases.CSI, "monitoring-csi", "network-policy-csi"),
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := charttest.Decode(manifest)
			if err != nil {
				t.Fatal(err)
			}
			track(t, objects, "my-application")
			wantScraped(t, objects)
			wantSelected(t, objects)
		})
	}
}

// TestTwoReleasesAreScrapedApart: a ServiceMonitor selects no other release's Service in its namespace, also under
// label tracking.
func TestTwoReleasesAreScrapedApart(t *testing.T) {
	for _, p := range products() {
		var all []runtime.Object
		for _, name := range []string{"one", "two"} {
			values := minimal(t, map[string]any{"serviceMonitor": enabled()})
			objects, err := charttest.Decode(p.render(t, name, values))
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

func (p product) rendered(t *testing.T, more map[string]any) string {
	t.Helper()
	return p.render(t, "release", minimal(t, more))
}

// render renders the chart as a release of a name.
func (p product) render(t *testing.T, name string, values map[string]any) string {
	t.Helper()
	manifest, _, err := chart.Render(t.Context(), checkout.Path(t, "charts/"+p.name),
		chart.Release{Name: name, Namespace: p.namespace, Values: values})
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

// monitoredOverlay is an overlay with components, one of which has a ServiceMonitor.
func monitoredOverlay(t *testing.T, name string, components ...string) string {
	t.Helper()
	k := overlay.New(t)
	k.Say(t, name, map[string]string{"organisation": "my-organisation", "vpcIdentity": "vpc-0123456789",
		"cluster": "production"})
	k.Use(t, name, components...)
	return k.Build(t, overlay.Dir(name))
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

// wantScraped wants a monitor to lead to the pods of every workload.
func wantScraped(t *testing.T, objects []runtime.Object) {
	t.Helper()
	selectors := map[string]metav1.LabelSelector{}
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
		selectors["PodMonitor "+monitor.Name] = monitor.Spec.Selector
	}
	for _, service := range ofType[*corev1.Service](objects) {
		selectors["Service "+service.Name] = metav1.LabelSelector{MatchLabels: service.Spec.Selector}
	}
	if monitors == 0 {
		t.Error("there is no monitor")
	}
	for name, selector := range selectors {
		for _, pods := range podLabels(t, objects) {
			if !matches(t, selector, pods) {
				t.Errorf("%s does not select pods with the labels %v", name, pods)
			}
		}
	}
}

// wantSelected wants every network policy and disruption budget to be about the pods of one workload.
func wantSelected(t *testing.T, objects []runtime.Object) {
	t.Helper()
	selectors := map[string]metav1.LabelSelector{}
	for _, policy := range ofType[*networkingv1.NetworkPolicy](objects) {
		selectors["NetworkPolicy "+policy.Name] = policy.Spec.PodSelector
	}
	for _, budget := range ofType[*policyv1.PodDisruptionBudget](objects) {
		selectors["PodDisruptionBudget "+budget.Name] = *budget.Spec.Selector
	}
	for name, selector := range selectors {
		workloads := 0
		for _, pods := range podLabels(t, objects) {
			if matches(t, selector, pods) {
				workloads++
			}
		}
		if workloads != 1 {
			t.Errorf("%s selects the pods of %d workloads, want 1", name, workloads)
		}
	}
}

// podLabels are those of the pods of each workload, which has to select them.
func podLabels(t *testing.T, objects []runtime.Object) []labels.Set {
	t.Helper()
	var all []labels.Set
	for _, o := range objects {
		var pods labels.Set
		var selector *metav1.LabelSelector
		switch o := o.(type) {
		case *appsv1.DaemonSet:
			pods, selector = o.Spec.Template.Labels, o.Spec.Selector
		case *appsv1.Deployment:
			pods, selector = o.Spec.Template.Labels, o.Spec.Selector
		default:
			continue
		}
		if !matches(t, *selector, pods) {
			t.Errorf("a workload selects %v, and its pods have the labels %v", selector, pods)
		}
		all = append(all, pods)
	}
	if len(all) == 0 {
		t.Error("there is no workload")
	}
	return all
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
