package helm4

import (
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/strvals"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	release4 "helm.sh/helm/v4/pkg/release/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// render4 renders a chart with Helm 4, for a cluster that also has the kinds in apis.
func render4(t *testing.T, dir string, r chart.Release, apis ...string) (text, notes string, err error) {
	t.Helper()
	loaded, err := loader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.KubeVersion == "" {
		r.KubeVersion = chart.DefaultKubeVersion
	}
	version, err := common.ParseKubeVersion(r.KubeVersion)
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(action.NewConfiguration(action.ConfigurationSetLogger(slog.NewTextHandler(io.Discard,
		nil))))
	install.DryRunStrategy = action.DryRunClient
	install.ReleaseName, install.Namespace = r.Name, r.Namespace
	install.KubeVersion, install.APIVersions = version, apis
	made, err := install.RunWithContext(t.Context(), loaded, r.Values)
	if err != nil {
		return "", "", err
	}
	rendered := made.(*release4.Release)
	return rendered.Manifest, rendered.Info.Notes, nil
}

// said returns what the chart or its schema says in an error. Both name several things in any order.
func said(err error) []string {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, begin := range []string{"/templates/validate.yaml:1:4): ", "in the following chart(s):\n"} {
		if _, after, found := strings.Cut(text, begin); found {
			text = after
		}
	}
	return slices.Sorted(slices.Values(strings.Split(strings.TrimSpace(text), "\n")))
}

// wantAlike wants both majors to make the same objects and notes, or to refuse in the same words, and returns whether
// they refuse.
func wantAlike(t *testing.T, what, dir string, r chart.Release) (refused bool) {
	t.Helper()
	text, notes, err := charttest.Open(t, dir).Render(t.Context(), r) // changes no values
	text4, notes4, err4 := render4(t, dir, r)
	if diff := cmp.Diff(said(err), said(err4)); diff != "" {
		t.Errorf("%s: errors (-Helm 3 +Helm 4):\n%s", what, diff)
	}
	if diff := cmp.Diff(charttest.Documents(text), charttest.Documents(text4)); diff != "" {
		t.Errorf("%s: objects (-Helm 3 +Helm 4):\n%s", what, diff)
	}
	if diff := cmp.Diff(notes, notes4); diff != "" {
		t.Errorf("%s: notes (-Helm 3 +Helm 4):\n%s", what, diff)
	}
	return err != nil
}

// charts are those of this repository.
func charts() []charttest.Chart { return []charttest.Chart{charttest.CCM, charttest.CSI} }

// TestRendersTheSame wants both majors to make the same bytes of every values file, for any cluster.
func TestRendersTheSame(t *testing.T) {
	for _, c := range charts() {
		for name, path := range c.ValuesFiles(t) {
			release := c.Release(charttest.ReadValues(t, path))
			text, notes, err := charttest.Open(t, c.Dir(t)).Render(t.Context(), release)
			if err != nil {
				t.Fatal(err)
			}
			for _, version := range charttest.KubeVersions(t) {
				r := c.Release(charttest.ReadValues(t, path))
				r.KubeVersion = version
				text4, notes4, err := render4(t, c.Dir(t), r, charttest.MoreAPIs()...)
				if diff := cmp.Diff(charttest.Documents(text), charttest.Documents(text4)); diff != "" || err != nil {
					t.Errorf("%s, %s for %s: error %v, objects (-Helm 3 +Helm 4):\n%s", c, name, version, err, diff)
				}
				if diff := cmp.Diff(notes, notes4); diff != "" {
					t.Errorf("%s, %s for %s: notes (-Helm 3 +Helm 4):\n%s", c, name, version, diff)
				}
			}
		}
	}
}

// TestRefusesOldKubernetes with what the chart requires.
func TestRefusesOldKubernetes(t *testing.T) {
	r := charttest.CCM.Release(charttest.CCM.Minimal(t))
	r.KubeVersion = "v1.32.9"
	_, _, err := render4(t, charttest.CCM.Dir(t), r)
	if want := "chart requires kubeVersion: >=1.33.0-0"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// refused are values that a chart refuses, in its own words or in those of its schema.
func refused(t *testing.T, c charttest.Chart) [][]string {
	t.Helper()
	all := charttest.CSIRefusals()
	if c == charttest.CCM {
		all = append(charttest.Refusals(), []string{"kind=daemonset"}, []string{"securePort=0"},
			[]string{"cloudConfig.additionalLabels.--v=4"}, []string{"cloudConfig.loadBalancer.defaults.--v=4"})
	}
	all = append(all, []string{"cloudConfig.cluster=7"})
	for _, path := range charttest.ClosedObjects(t, c.Dir(t)) {
		all = append(all, []string{strings.TrimPrefix(path+".tpyo=1", ".")})
	}
	for path := range charttest.ReadValues(t, filepath.Join(c.Dir(t), "removed.yaml")) {
		all = append(all, []string{path + "=a"})
	}
	return all
}

// TestRefusesTheSame: what a chart refuses, both majors refuse, in the same words.
func TestRefusesTheSame(t *testing.T) {
	for _, c := range charts() {
		for _, sets := range refused(t, c) {
			what := string(c) + " with " + strings.Join(sets, ", ")
			if !wantAlike(t, what, c.Dir(t), c.Release(c.Minimal(t, sets...))) {
				t.Errorf("%s is accepted", what)
			}
		}
	}
}

// TestTakesNullAlike: both majors merge values in code of their own.
func TestTakesNullAlike(t *testing.T) {
	for _, c := range charts() {
		values := charttest.Documented(t, c.Dir(t))
		for _, path := range slices.Concat(values, charttest.Sections(values)) {
			with := charttest.ReadValues(t, c.ValuesFiles(t)["full"])
			if err := strvals.ParseInto(path+"=null", with); err != nil {
				t.Fatal(err)
			}
			wantAlike(t, string(c)+" with "+path+"=null", c.Dir(t), c.Release(with))
		}
	}
}

// TestTakesDefaultsAlike gives each value of each values file its default back.
func TestTakesDefaultsAlike(t *testing.T) {
	for _, c := range charts() {
		for name, path := range c.ValuesFiles(t) {
			for _, value := range charttest.Documented(t, c.Dir(t)) {
				if values := charttest.ReadValues(t, path); charttest.Remove(values, value) {
					wantAlike(t, string(c)+", "+name+" without "+value, c.Dir(t), c.Release(values))
				}
			}
		}
	}
}

// TestDependency: a chart includes thalassa-ccm with values of its own, and switches it off.
func TestDependency(t *testing.T) {
	dir := charttest.Umbrella(t)
	all := map[string]map[string]any{"off": {"enabled": false}, "minimal": charttest.CCM.Minimal(t, "enabled=true")}
	for name, path := range charttest.CCM.ValuesFiles(t) {
		all["file "+name] = charttest.ReadValues(t, path)
	}
	for name, own := range all {
		r := chart.Release{Name: "platform", Namespace: "kube-system"}
		values := func() map[string]any {
			return map[string]any{"global": map[string]any{"region": "somewhere"}, "thalassa-ccm": maps.Clone(own)}
		}
		r.Values = values()
		text, notes, err := chart.Render(t.Context(), dir, r)
		r.Values = values()
		text4, notes4, err4 := render4(t, dir, r)
		diff := cmp.Diff(charttest.Documents(text), charttest.Documents(text4))
		if diff != "" || err != nil || err4 != nil || notes != notes4 {
			t.Errorf("%s: errors %v and %v, objects (-Helm 3 +Helm 4):\n%s", name, err, err4, diff)
		}
	}
}
