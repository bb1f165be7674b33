package upgradetest

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// TestHelm3Upgrades a release from every old chart to that of today, under the usual name and under another.
func TestHelm3Upgrades(t *testing.T) {
	tier.NeedFull(t)
	for _, u := range upgrades(t) {
		for name, values := range map[string]string{u.Chart: "minimal", "cloud": "full"} {
			t.Run(u.Chart+" "+name+" "+values, func(t *testing.T) {
				u.Namespace = controlplanetest.Namespace(t)
				before, after, err := u.helm3(t, name, values)
				if err != nil {
					t.Fatal(err)
				}
				for workload, uid := range before {
					if after[workload] != uid {
						t.Errorf("%s was replaced or is gone: %v, then %v", workload, before, after)
					}
				}
				if len(before) == 0 || len(after) != len(before) {
					t.Errorf("workloads %v, then %v, want as many", before, after)
				}
			})
		}
	}
}

// TestHelm3UpgradeFindsBreaks: what the API server does not let anybody change fails.
func TestHelm3UpgradeFindsBreaks(t *testing.T) {
	tier.NeedFull(t)
	u := pair(t, edit("templates/_names_shared.tpl", "app.kubernetes.io/instance: {{ .Release.Name | quote }}",
		"app.kubernetes.io/instance: new"))
	u.Namespace = controlplanetest.Namespace(t)
	if _, _, err := u.helm3(t, "cloud", "minimal"); err == nil || !strings.Contains(err.Error(), "field is immutable") {
		t.Errorf("a new selector: %v, want that it is immutable", err)
	}
}

// helm3 installs the old chart and upgrades to the new one, both with the values that the old one was tested with. It
// returns the workloads of before and after, by kind and name, with what distinguishes them from others of that name.
func (u Upgrade) helm3(t *testing.T, name, values string) (before, after map[string]string, err error) {
	t.Helper()
	plane := controlplanetest.Get(t)
	define(t)
	file := filepath.Join(u.Old, "ci", values+"-values.yaml")
	read, err := readValues(file, "")
	if err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	r := chart.Release{Name: name, Namespace: u.Namespace, Values: read}
	t.Cleanup(func() {
		if err := chart.Uninstall(context.WithoutCancel(t.Context()), plane.Config(), name, u.Namespace,
			nil); err != nil {
			t.Error(err)
		}
	})
	if _, err := chart.Install(t.Context(), plane.Config(), u.Old, r, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	before = workloads(t)
	_, err = chart.Upgrade(t.Context(), plane.Config(), u.New, r, &progress)
	if e, meant := u.refused(exceptions(), values, err); meant {
		if r.Values, err = readValues(file, e.Instead); err != nil {
			t.Fatal(err)
		}
		_, err = chart.Upgrade(t.Context(), plane.Config(), u.New, r, &progress)
	}
	if strings.Contains(progress.String(), "Warning") {
		t.Errorf("the API server warns:\n%s", &progress)
	}
	return before, workloads(t), err
}

// workloads are those of all namespaces, because values of a chart may name another than that of the release.
func workloads(t *testing.T) map[string]string {
	t.Helper()
	apps := controlplanetest.Client(t, controlplanetest.Get(t)).AppsV1()
	sets, err := apps.DaemonSets(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	deployments, err := apps.Deployments(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, o := range sets.Items {
		found["DaemonSet "+o.Name] = string(o.UID)
	}
	for _, o := range deployments.Items {
		found["Deployment "+o.Name] = string(o.UID)
	}
	return found
}
