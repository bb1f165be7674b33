package helm4

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	release4 "helm.sh/helm/v4/pkg/release/v1"
)

// engines are both majors of Helm, each as what renders the chart in a folder.
func engines(t *testing.T) map[string]func(dir string, r chart.Release) (text, notes string, err error) {
	t.Helper()
	return map[string]func(string, chart.Release) (string, string, error){
		"Helm 3": func(dir string, r chart.Release) (string, string, error) {
			return chart.Render(t.Context(), dir, r)
		},
		"Helm 4": func(dir string, r chart.Release) (string, string, error) { return renderWith4(t, dir, r) },
	}
}

// render4 renders the chart with Helm 4, for a cluster that also has the kinds in apis.
func render4(t *testing.T, r chart.Release, apis ...string) (text, notes string, err error) {
	t.Helper()
	return renderWith4(t, chartDir(t), r, apis...)
}

func renderWith4(t *testing.T, dir string, r chart.Release, apis ...string) (text, notes string, err error) {
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

// documents cuts a manifest at what Helm puts between objects: its majors put different numbers of empty lines there.
func documents(manifest string) []string {
	var found []string
	for document := range strings.SplitSeq("\n"+manifest, "\n---\n") {
		if document = strings.TrimSpace(document); document != "" {
			found = append(found, document)
		}
	}
	return found
}

// TestHelm4RendersTheSame wants both majors to make the same bytes of every values file, for any cluster.
func TestHelm4RendersTheSame(t *testing.T) {
	for name, path := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			want, wantNotes := manifestAndNotes(t, readValues(t, path))
			for _, version := range kubeVersions(t) {
				r := release(readValues(t, path))
				r.KubeVersion = version
				got, notes, err := render4(t, r, moreAPIs()...)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(documents(want), documents(got)); diff != "" {
					t.Fatalf("objects for %s (-Helm 3 +Helm 4):\n%s", version, diff)
				}
				if diff := cmp.Diff(wantNotes, notes); diff != "" {
					t.Fatalf("notes for %s (-Helm 3 +Helm 4):\n%s", version, diff)
				}
			}
		})
	}
}

// TestHelm4Refuses wants both majors to refuse the same, in the same words.
func TestHelm4Refuses(t *testing.T) {
	for name, test := range map[string]struct {
		set, version, want string
	}{
		"a missing value":  {"cloudConfig.cluster=", "v1.37.0", "cloudConfig.cluster is required: "},
		"a misspelt value": {"cloudConfig.clutser=a", "v1.37.0", "additional properties 'clutser' not allowed"},
		"a bad value":      {"securePort=0", "v1.37.0", "at '/securePort': minimum: got 0, want 1"},
		"an old cluster":   {"securePort=1", "v1.32.9", "chart requires kubeVersion: >=1.33.0-0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := release(minimal(t, test.set))
			r.KubeVersion = test.version
			_, _, err := chart.Render(t.Context(), chartDir(t), r)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Helm 3: error %v, want one with %q", err, test.want)
			}
			r.Values = minimal(t, test.set)
			_, _, err = render4(t, r)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Helm 4: error %v, want one with %q", err, test.want)
			}
		})
	}
}
