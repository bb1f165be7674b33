package bases

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// sources returns the root of the repository, of which only what bases are made from is read.
func sources(t *testing.T) string {
	t.Helper()
	return repotest.Root(t, "charts", "kustomize")
}

// made are the files of this repository, which take seconds to make.
var made struct {
	once  sync.Once
	files map[string][]byte
	err   error
}

func files(t *testing.T) map[string][]byte {
	t.Helper()
	root := sources(t)
	made.once.Do(func() { made.files, made.err = Files(t.Context(), root) })
	if made.err != nil {
		t.Fatal(made.err)
	}
	return made.files
}

// TestGeneratedFilesSaySo: every file begins with what it is made from.
func TestGeneratedFilesSaySo(t *testing.T) {
	for name, content := range files(t) {
		first, _, _ := strings.Cut(string(content), "\n")
		if !regexp.MustCompile(`Made by "make generate" from charts/thalassa-(ccm|csi) and kustomize/values/`).
			MatchString(first) ||
			!strings.HasSuffix(first, "do not edit.") {
			t.Errorf("%s begins with %q", name, first)
		}
	}
}

// TestNothingOfHelmIsLeft, nor of the example that the values files have to contain.
func TestNothingOfHelmIsLeft(t *testing.T) {
	for name, content := range files(t) {
		for _, left := range []string{"helm", "Helm", "# Source", "checksum/", "--cluster-name", "my-organisation",
			"vpc-0123456789", "production"} {
			if strings.Contains(string(content), left) {
				t.Errorf("%s contains %q", name, left)
			}
		}
	}
}

// TestReasonsAreKept: the chart says of every RBAC rule why it is there.
func TestReasonsAreKept(t *testing.T) {
	role := string(files(t)["kustomize/base/self-managed/clusterrole.yaml"])
	if got, want := strings.Count(role, "controller:")+strings.Count(role, "port:"), 7; got < want {
		t.Errorf("%d reasons, want at least %d:\n%s", got, want, role)
	}
}

// TestSurplusIsMarked: the component with the specification's permissions has the rules and the reasons of the chart.
func TestSurplusIsMarked(t *testing.T) {
	objects, err := newMaker(sources(t)).render(t.Context(), Profile{"self-managed"}, "spec-rbac")
	if err != nil {
		t.Fatal(err)
	}
	role := objects[slices.IndexFunc(objects, func(o object) bool { return o.GetKind() == "ClusterRole" })]
	_, want, _ := strings.Cut(role.MustString(), "\nrules:\n")
	component, err := os.ReadFile(checkout.Path(t, "kustomize/components/spec-rbac/kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(string(component), "- op: replace\n      path: /rules\n      value:\n")
	if diff := cmp.Diff(want, strings.ReplaceAll("\n"+got, "\n      ", "\n")[1:]); want == "" || diff != "" {
		t.Errorf("rules (-chart +component):\n%s", diff)
	}
}

// TestKustomizationListsEveryFile, each once.
func TestKustomizationListsEveryFile(t *testing.T) {
	all := files(t)
	for _, p := range Profiles() {
		var content struct {
			Resources          []string `json:"resources"`
			ConfigMapGenerator []struct {
				Files []string `json:"files"`
			} `json:"configMapGenerator"`
		}
		if err := yaml.Unmarshal(all[p.baseDir()+"/kustomization.yaml"], &content); err != nil {
			t.Fatal(err)
		}
		listed := map[string]bool{"kustomization.yaml": true}
		for _, name := range content.Resources {
			listed[name] = true
		}
		for _, g := range content.ConfigMapGenerator {
			for _, name := range g.Files {
				listed[name] = true
			}
		}
		have := map[string]bool{}
		for name := range all {
			if dir, file := filepath.Split(name); dir == p.baseDir()+"/" {
				have[file] = true
			}
		}
		if diff := cmp.Diff(have, listed); diff != "" {
			t.Errorf("%s (-files +listed):\n%s", p.Name, diff)
		}
	}
}

// TestFilesFollowTheChart: a base is made from the chart and the values there are, not from those of some other time.
func TestFilesFollowTheChart(t *testing.T) {
	dir := t.TempDir()
	for _, part := range []string{"charts", valuesDir} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(checkout.Path(t, part))); err != nil {
			t.Fatal(err)
		}
	}
	repotest.Replace(t, filepath.Join(dir, valuesDir, "self-managed.yaml"), "thalassa-credentials", "cloud-credentials")
	repotest.Replace(t, filepath.Join(dir, "charts/thalassa-ccm/values.yaml"), "securePort: 10258", "securePort: 10999")
	made, err := Files(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	daemonSet := string(made["kustomize/base/self-managed/daemonset.yaml"])
	for _, want := range []string{"secretName: \"cloud-credentials\"\n", "--secure-port=10999"} {
		if !strings.Contains(daemonSet, want) {
			t.Errorf("the DaemonSet lacks %q:\n%s", want, daemonSet)
		}
	}
}

func TestFilesErrors(t *testing.T) {
	if _, err := Files(t.Context(), t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "profile self-managed: reading values") {
		t.Errorf("without values: %v", err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, valuesDir), os.DirFS(checkout.Path(t, valuesDir))); err != nil {
		t.Fatal(err)
	}
	if _, err := Files(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "loading chart") {
		t.Errorf("without a chart: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Files(ctx, sources(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// TestUnsaid: what an installation says itself is empty, and nothing else changes.
func TestUnsaid(t *testing.T) {
	got, err := unsaid("cluster: a\nendpoint: https://b\norganisation: c\nvpcIdentity: d\n")
	if want := "cluster: \"\"\nendpoint: https://b\norganisation: \"\"\nvpcIdentity: \"\"\n"; got != want ||
		err != nil {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
}

// TestComponentsForSeveralProfilesAreOne: a folder cannot hold two.
func TestComponentsForSeveralProfilesAreOne(t *testing.T) {
	m := newMaker(sources(t))
	c := Component{"monitoring-managed-tenant", map[string][]string{"self-managed": nil, "managed-tenant": nil}}
	if files, err := m.componentFiles(t.Context(), c); err != nil || len(files) != 2 {
		t.Errorf("the same in both: %d files, %v", len(files), err)
	}
	c = Component{"monitoring", map[string][]string{"self-managed": nil, "managed-tenant": nil}}
	if _, err := m.componentFiles(t.Context(), c); err == nil ||
		!strings.Contains(err.Error(), "make two components of it") {
		t.Errorf("another in each: %v", err)
	}
}
