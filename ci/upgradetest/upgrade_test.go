package upgradetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/ci/fixture"
	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sidecar"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// exceptions are the breaks that are meant. One that nothing needs has to go.
func exceptions() []Exception {
	return []Exception{{
		Chart: "thalassa-ccm", Values: "full", Refused: "nodeSecurityGroup",
		Instead: "cloudConfig: {loadBalancer: {nodeSecurityGroup: null}}",
		Reason:  "no version with it was released; one rule for the range of node ports takes its place",
	}}
}

// upgrades are the ways from all old charts to those of today.
func upgrades(t *testing.T) []Upgrade {
	t.Helper()
	folder, today := fixture.OldCharts(t), checkout.Path(t, "charts")
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d old charts, error %v", len(entries), err)
	}
	var all []Upgrade
	for _, entry := range entries {
		name := entry.Name()
		all = append(all, Upgrade{Chart: name, Old: filepath.Join(folder, name), New: filepath.Join(today, name),
			Namespace: "kube-system"})
	}
	return all
}

// define installs the custom resource definitions that objects of the charts need.
func define(t *testing.T) {
	t.Helper()
	plane := controlplanetest.Get(t)
	if err := kubectl.New(plane.Kubeconfig()).DefineMonitors(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := sidecar.InstallDefinitions(t.Context(), plane.Config()); err != nil {
		t.Fatal(err)
	}
}

// TestOldValuesRender: the old values work with the charts of today, or are refused with the name of their successor,
// and no object loses its name, its selector or what cannot be changed. The quick tier takes the fewest values and the
// most, the full one all values files.
func TestOldValuesRender(t *testing.T) {
	var used []Exception
	for _, u := range upgrades(t) {
		t.Run(u.Chart, func(t *testing.T) {
			if !tier.Full() {
				u = u.only(t, "minimal", "full")
			}
			needed, problems := u.check(t, exceptions())
			used = append(used, needed...)
			for _, problem := range problems {
				t.Error(problem)
			}
		})
	}
	for _, e := range exceptions() {
		if tier.Full() && !slices.Contains(used, e) {
			t.Errorf("nothing needs the exception %+v: remove it", e)
		}
	}
}

// TestAPIServerTakesTheNewObjects in place of the old ones.
func TestAPIServerTakesTheNewObjects(t *testing.T) {
	tier.NeedFull(t)
	for _, u := range upgrades(t) {
		t.Run(u.Chart, func(t *testing.T) {
			u.Namespace = controlplanetest.Namespace(t)
			for _, problem := range u.apply(t) {
				t.Error(problem)
			}
		})
	}
}

// check compares what is rendered.
func (u Upgrade) check(t *testing.T, exceptions []Exception) (used []Exception, problems []string) {
	t.Helper()
	steps, used, problems, err := u.Steps(t.Context(), exceptions)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		needed, found, err := u.Compare(step, exceptions)
		if err != nil {
			t.Fatal(err)
		}
		used, problems = append(used, needed...), append(problems, found...)
	}
	return used, problems
}

// apply lets an API server that holds the old objects take the new ones.
func (u Upgrade) apply(t *testing.T) (problems []string) {
	t.Helper()
	define(t)
	kube := kubectl.New(controlplanetest.Get(t).Kubeconfig())
	// The one that the values files for permissions in IronCore name.
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: production}\n"
	if _, err := kube.Apply(namespace, "--server-side"); err != nil {
		t.Fatal(err)
	}
	steps, _, _, err := u.Steps(t.Context(), exceptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		for _, manifest := range []string{step.Old, step.New} {
			// As Helm 4 does.
			if _, err := kube.Apply(manifest, "--server-side", "--field-manager=helm"); err != nil {
				problems = append(problems, step.Values+": "+err.Error())
			}
		}
		if _, err := kube.Delete(step.Old + "\n---\n" + step.New); err != nil {
			t.Error(err)
		}
	}
	return problems
}

// pair makes two copies of the chart thalassa-ccm of today, the first of which plays the old one, and changes files of
// the second.
func pair(t *testing.T, change func(t *testing.T, dir string)) Upgrade {
	t.Helper()
	return pairOf(t, "thalassa-ccm", change)
}

// pairOf does the same with a chart.
func pairOf(t *testing.T, name string, change func(t *testing.T, dir string)) Upgrade {
	t.Helper()
	u := Upgrade{Chart: name, Old: filepath.Join(t.TempDir(), "old"), New: filepath.Join(t.TempDir(), "new"),
		Namespace: "kube-system"}
	for _, dir := range []string{u.Old, u.New} {
		if err := os.CopyFS(dir, os.DirFS(checkout.Path(t, "charts/"+name))); err != nil {
			t.Fatal(err)
		}
	}
	change(t, u.New)
	return u
}

// only leaves some values files in the old chart, by their short names.
func (u Upgrade) only(t *testing.T, names ...string) Upgrade {
	t.Helper()
	for _, name := range valuesFiles(t, u) {
		if !slices.Contains(names, name) {
			drop("ci/"+name+"-values.yaml")(t, u.Old)
		}
	}
	return u
}

// edit replaces a text that has to be in a file of the chart.
func edit(file, from, to string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		repotest.Replace(t, filepath.Join(dir, file), from, to)
	}
}

func drop(file string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBreaksAreFound breaks a copy of the chart on purpose.
func TestBreaksAreFound(t *testing.T) {
	tier.NeedFull(t)
	for name, test := range map[string]struct {
		change func(*testing.T, string)
		want   string
	}{
		"selector": {
			edit("templates/_names_shared.tpl", "app.kubernetes.io/instance: {{ .Release.Name | quote }}",
				"app.kubernetes.io/instance: new"),
			"minimal: spec.selector of DaemonSet kube-system/thalassa-ccm was map[",
		},
		"name": {
			edit("templates/configmap.yaml", "fullname\" . | quote }}\n", "fullname\" . }}-config\n"),
			"minimal: ConfigMap kube-system/thalassa-ccm is dropped",
		},
		"a dropped object": {
			drop("templates/serviceaccount.yaml"), "minimal: ServiceAccount kube-system/thalassa-ccm is dropped",
		},
		"role of a binding": {
			edit("templates/clusterrolebinding.yaml", "kind: ClusterRole\n", "kind: Role\n"),
			"minimal: roleRef of ClusterRoleBinding /thalassa-ccm was map[",
		},
		"namespace": {
			edit("templates/role.yaml", "namespace: kube-system", "namespace: default"),
			"minimal: Role kube-system/thalassa-ccm is dropped",
		},
		"a value that is gone": {
			edit("values.schema.json", `"vpcIdentity"`, `"vpc"`), "the old values minimal are refused",
		},
		"a monitor that selects nothing": {
			edit("templates/service.yaml", `"labels" (include "thalassa-ccm.metricsLabels" . | fromYaml) `, ""),
			"managed-hosting: ServiceMonitor kube-system/thalassa-ccm selected the Services [",
		},
		"a monitor's other selector of the same Service": {
			edit("templates/servicemonitor.yaml", "thalassa-ccm.metricsLabels", "thalassa-ccm.selectorLabels"), "",
		},
		"nothing":     {func(*testing.T, string) {}, ""},
		"a new value": {edit("values.yaml", "logVerbosity: 2\n", "logVerbosity: 3\n"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := pair(t, test.change).check(t, nil)
			found := slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, test.want) })
			if test.want == "" && len(problems) > 0 || test.want != "" && !found {
				t.Errorf("problems %q, want %q", problems, test.want)
			}
		})
	}
}

// TestBreaksOfVolumesAreFound breaks a copy of the chart thalassa-csi, in fields that other kinds do not have.
func TestBreaksOfVolumesAreFound(t *testing.T) {
	tier.NeedFull(t)
	for name, test := range map[string]struct {
		change func(*testing.T, string)
		want   string
	}{
		"parameters": {
			edit("templates/storageclass.yaml", `default "block"`, `default "fast"`),
			"full: parameters of StorageClass /plain was map[volume-type:block] and is map[volume-type:fast]",
		},
		"binding": {
			edit("templates/storageclass.yaml", `default "WaitForFirstConsumer"`, `default "Immediate"`),
			"minimal: volumeBindingMode of StorageClass /tc-block was ",
		},
		"snapshots": {
			edit("templates/volumesnapshotclass.yaml", `default "Delete"`, `default "Retain"`),
			"snapshots: deletionPolicy of VolumeSnapshotClass /",
		},
		"attachments": {
			edit("templates/csidriver.yaml", "attachRequired: true", "attachRequired: false"),
			"minimal: spec.attachRequired of CSIDriver /csi.k8s.thalassa.cloud was true and is false",
		},
		"name of the driver": {
			edit("templates/_names.tpl", "csi.k8s.thalassa.cloud", "csi.example.com"),
			"minimal: CSIDriver /csi.k8s.thalassa.cloud is dropped",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := pairOf(t, "thalassa-csi", test.change).check(t, nil)
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, test.want) }) {
				t.Errorf("problems %q, want %q", problems, test.want)
			}
		})
	}
}

// TestExceptions: a break that is meant is none, for what it is meant for and nothing else.
func TestExceptions(t *testing.T) {
	tier.NeedFull(t)
	u := pair(t, drop("templates/serviceaccount.yaml"))
	meant := Exception{Chart: u.Chart, Values: "minimal", Dropped: "ServiceAccount kube-system/thalassa-ccm",
		Reason: "a test"}
	other := meant
	other.Chart = "thalassa-csi"
	used, problems := u.check(t, []Exception{other, meant})
	if !slices.Equal(used, []Exception{meant}) {
		t.Errorf("used %+v", used)
	}
	for _, p := range problems {
		if strings.HasPrefix(p, "minimal: ServiceAccount") {
			t.Errorf("an exception is a problem: %s", p)
		}
	}
	if len(problems) == 0 {
		t.Error("the exception is meant for one values file, and for all of them nothing is a problem")
	}
}

func TestRefusalsNameTheSuccessor(t *testing.T) {
	tier.NeedFull(t)
	fails := "{{- if .Values.securePort }}{{ fail \"securePort has become port: use port\" }}{{ end }}"
	u := pair(t, edit("templates/validate.yaml", "{{- include \"thalassa-ccm.validate\" . -}}", fails))
	var meant []Exception
	for _, file := range valuesFiles(t, u) {
		meant = append(meant, Exception{Chart: u.Chart, Values: file, Refused: "use port", Reason: "a test"})
	}
	used, problems := u.check(t, meant)
	if len(problems) > 0 || !slices.Equal(used, meant) {
		t.Errorf("used %+v of %+v, problems %q", used, meant, problems)
	}
	if used, problems := u.check(t, meant[1:]); len(problems) != 1 || len(used) != len(meant)-1 {
		t.Errorf("without the first: used %+v, problems %q", used, problems)
	}
}

// TestWhatIsUsedInsteadWorks: a refusal names its successor, and that is tried.
func TestWhatIsUsedInsteadWorks(t *testing.T) {
	tier.NeedFull(t)
	for instead, want := range map[string]string{"logVerbosity: 5": "",
		"logVerbosity: 4": "are refused with what is used instead, too"} {
		fails := "{{- if lt (int .Values.logVerbosity) 5 }}{{ fail \"logVerbosity is too small\" }}{{ end }}"
		u := pair(t, edit("templates/validate.yaml", "{{- include \"thalassa-ccm.validate\" . -}}", fails))
		u = u.only(t, "minimal", "deployment")
		var meant []Exception
		for _, file := range valuesFiles(t, u) {
			meant = append(meant, Exception{Chart: u.Chart, Values: file, Refused: "logVerbosity", Instead: instead,
				Reason: "a test"})
		}
		steps, _, problems, err := u.Steps(t.Context(), meant)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range problems {
			if want == "" || !strings.Contains(problem, want) {
				t.Errorf("%s: %s", instead, problem)
			}
		}
		if tried := len(steps) == len(meant); tried != (want == "") {
			t.Errorf("%s: %d of %d upgrades are tried", instead, len(steps), len(meant))
		}
	}
}

func valuesFiles(t *testing.T, u Upgrade) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(u.Old, "ci", "*-values.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("values files %v, error %v", files, err)
	}
	names := make([]string, 0, len(files))
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), "-values.yaml"))
	}
	return names
}

// TestAPIServerTakesTheUpgrade of a chart to itself, and refuses one that is broken.
func TestAPIServerTakesTheUpgrade(t *testing.T) {
	tier.NeedFull(t)
	u := pair(t, func(*testing.T, string) {}).only(t, "minimal", "deployment")
	u.Namespace = controlplanetest.Namespace(t)
	if problems := u.apply(t); len(problems) > 0 {
		t.Errorf("an upgrade to the same: %q", problems)
	}
	u = pair(t, edit("templates/_names_shared.tpl", "app.kubernetes.io/instance: {{ .Release.Name | quote }}",
		"app.kubernetes.io/instance: new")).only(t, "minimal", "deployment")
	u.Namespace = controlplanetest.Namespace(t)
	immutable := func(p string) bool { return strings.Contains(p, "field is immutable") }
	if problems := u.apply(t); !slices.ContainsFunc(problems, immutable) {
		t.Errorf("a new selector: %q, want that it is immutable", problems)
	}
}

func TestStepsErrors(t *testing.T) {
	tier.NeedFull(t)
	u := pair(t, func(*testing.T, string) {})
	u.Old = t.TempDir()
	if _, _, _, err := u.Steps(t.Context(), nil); err == nil ||
		!strings.Contains(err.Error(), "has no values files below ci/") {
		t.Errorf("without values files: %v", err)
	}
	if _, _, err := u.Compare(Step{Old: "a: ["}, nil); err == nil ||
		!strings.Contains(err.Error(), "reading a rendered chart") {
		t.Errorf("what is no YAML: %v", err)
	}
}
