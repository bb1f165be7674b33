package charttest

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestBothKindsHaveTheSamePod compares the templates; where pods of a Deployment go relative to each
// other is what a DaemonSet does by itself.
func TestBothKindsHaveTheSamePod(t *testing.T) {
	for name, path := range valuesFiles(t) {
		values := readValues(t, path)
		if values["part"] != nil {
			continue // has one kind only, or none
		}
		templates := map[string]corev1.PodTemplateSpec{}
		for _, kind := range []string{"DaemonSet", "Deployment"} {
			given := maps.Clone(values)
			given["kind"] = kind
			if kind == "DaemonSet" {
				delete(given, "replicas") // a DaemonSet has no number of pods
			}
			template := podTemplate(objects(t, given))
			template.Spec.TopologySpreadConstraints = nil
			if template.Spec.Affinity != nil {
				template.Spec.Affinity.PodAntiAffinity = nil
				if *template.Spec.Affinity == (corev1.Affinity{}) {
					template.Spec.Affinity = nil
				}
			}
			templates[kind] = *template
		}
		if diff := cmp.Diff(templates["DaemonSet"], templates["Deployment"]); diff != "" {
			t.Errorf("%s: pods (-DaemonSet +Deployment):\n%s", name, diff)
		}
	}
}

// deployment renders the chart as a Deployment.
func deployment(t *testing.T, sets ...string) *appsv1.Deployment {
	t.Helper()
	return find[*appsv1.Deployment](t, objects(t, minimal(t, append([]string{"kind=Deployment"}, sets...)...)),
		"thalassa-ccm")
}

func TestDeploymentRollout(t *testing.T) {
	// With more pods than nodes, one waits for the port of the host for ever: as long as that counts as the one that
	// may be missing, no rolling update goes on.
	if got := deployment(t, "hostNetwork=true").Spec.Strategy.Type; got != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("on the host network the strategy is %s", got)
	}
	strategy := deployment(t, "hostNetwork=false").Spec.Strategy
	got := fmt.Sprintf("%s surge %s unavailable %s", strategy.Type, strategy.RollingUpdate.MaxSurge,
		strategy.RollingUpdate.MaxUnavailable)
	if want := "RollingUpdate surge 1 unavailable 0"; got != want {
		t.Errorf("on a network of pods: %s, want %s", got, want)
	}
	if got := deployment(t, "updateStrategy.type=Recreate").
		Spec.Strategy.Type; got != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("strategy %s, want the one that was set", got)
	}
}

// selector is what the pods of the release are found by.
func selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "thalassa-ccm",
		"app.kubernetes.io/instance": "thalassa-ccm"}}
}

func TestDeployment(t *testing.T) {
	spec := deployment(t, "replicas=3").Spec
	if *spec.Replicas != 3 {
		t.Errorf("%d replicas, want 3", *spec.Replicas)
	}
	if diff := cmp.Diff(selector(), spec.Selector); diff != "" {
		t.Errorf("selector (-want +got), no upgrade can change it:\n%s", diff)
	}
}

// TestPodsAvoidEachOther wants replicas on different hosts and in different zones where there are
// some, and never to wait for them.
func TestPodsAvoidEachOther(t *testing.T) {
	spec := deployment(t).Spec.Template.Spec
	wantAffinity :=
		&corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname,
				LabelSelector: selector()}},
		}}
	if diff := cmp.Diff(wantAffinity, spec.Affinity.PodAntiAffinity); diff != "" {
		t.Errorf("anti-affinity (-want +got):\n%s", diff)
	}
	if spec.Affinity.NodeAffinity == nil {
		t.Error("the pods may leave the control plane")
	}
	wantSpread := []corev1.TopologySpreadConstraint{
		{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: selector()},
	}
	if diff := cmp.Diff(wantSpread, spec.TopologySpreadConstraints); diff != "" {
		t.Errorf("spread (-want +got):\n%s", diff)
	}
}

func TestPlacementCanBeReplaced(t *testing.T) {
	spec := deployment(t, "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution=null",
		"topologySpreadConstraints[0].maxSkew=2", "topologySpreadConstraints[0].topologyKey=rack",
		"topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule",
		"topologySpreadConstraints[1].maxSkew=1", "topologySpreadConstraints[1].topologyKey=row",
		"topologySpreadConstraints[1].whenUnsatisfiable=DoNotSchedule",
		"topologySpreadConstraints[1].labelSelector.matchLabels.app=other").Spec.Template.Spec
	if spec.Affinity.NodeAffinity != nil ||
		spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution != nil {
		t.Errorf("affinity %v, want the one that was set", spec.Affinity)
	}
	want := []corev1.TopologySpreadConstraint{
		{MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector()},
		{MaxSkew: 1, TopologyKey: "row", WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}},
	}
	if diff := cmp.Diff(want, spec.TopologySpreadConstraints); diff != "" {
		t.Errorf("spread (-want +got):\n%s", diff)
	}
}

// TestDisruptionBudget wants one only where it cannot keep a node from being drained for good.
func TestDisruptionBudget(t *testing.T) {
	for name, test := range map[string]struct {
		sets []string
		want bool
	}{
		"a DaemonSet": {nil, false},
		"two pods":    {[]string{"kind=Deployment"}, true},
		"one pod":     {[]string{"kind=Deployment", "replicas=1"}, false},
		"no pod":      {[]string{"kind=Deployment", "replicas=0"}, false},
		"not wanted":  {[]string{"kind=Deployment", "podDisruptionBudget.enabled=false"}, false},
	} {
		budget := budgetOf(objects(t, minimal(t, test.sets...)))
		if (budget != nil) != test.want {
			t.Errorf("%s: a budget %v, want %v", name, budget != nil, test.want)
		}
		if budget == nil {
			continue
		}
		if budget.Spec.MaxUnavailable.String() != "1" || budget.Spec.MinAvailable != nil ||
			*budget.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
			t.Errorf("%s: budget %+v", name, budget.Spec)
		}
		if diff := cmp.Diff(selector(), budget.Spec.Selector); diff != "" {
			t.Errorf("%s: selector (-want +got):\n%s", name, diff)
		}
	}
}

func budgetOf(objects []runtime.Object) *policyv1.PodDisruptionBudget {
	for _, object := range objects {
		if budget, is := object.(*policyv1.PodDisruptionBudget); is {
			return budget
		}
	}
	return nil
}
