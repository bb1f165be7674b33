package kustomizetest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	ironcore "github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"github.com/thalassa-cloud/thalassa-ccm/tools/bases"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// exception is a difference between chart and overlay that is meant. Its functions undo it on one object of the chart
// or of the overlay, and say whether there was anything to undo.
type exception struct {
	why            string
	chart, overlay undoing
}

// undoing changes an object, and reports whether there was anything to change.
type undoing func(t *testing.T, o runtime.Object) bool

// exceptions are the only differences. One that undoes nothing has to go.
func exceptions() []exception {
	return []exception{
		{why: "Helm is not who installs it: helm.sh/chart", chart: relabel("helm.sh/chart", "")},
		{why: "Helm is not who installs it: managed-by", chart: relabel("app.kubernetes.io/managed-by", "kustomize")},
		{why: "pods follow the ConfigMap by its name, not by a checksum", chart: dropChecksum},
		{why: "the ConfigMap's name ends with a hash of its content", overlay: dropHash},
		{why: "the cluster's name is written once, in cloud-config.yaml; the program does not use the flag",
			chart: dropClusterFlag},
		{why: "who applies the hosting side says in which namespace", overlay: putIntoNamespace},
		{why: "a component appends to lists, which have no order", chart: sortLists, overlay: sortLists},
		{why: "the overlay's file says only what differs from the program's defaults", chart: showConfig,
			overlay: showConfig},
	}
}

// TestOverlaysEqualTheChart compares every object of each overlay with those of the chart, without components, with
// each of those that are meant for it, and with every two of them, in either order.
func TestOverlaysEqualTheChart(t *testing.T) {
	used := map[string]bool{}
	for _, p := range bases.Profiles() {
		opened := open(t, p)
		for _, components := range orders(p) {
			name := strings.Join(append([]string{p.Name}, components...), "+")
			if len(components) > 1 && !tier.Has(name, 12) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				want := undo(t, decode(t, render(t, opened, p, components...)), used, func(e exception) undoing {
					return e.chart
				})
				got := undo(t, decode(t, built(t, p.Name, components...)), used, func(e exception) undoing {
					return e.overlay
				})
				if slices.Contains(components, "controller-accounts") &&
					slices.Contains(components, "workload-identity") {
					dropCloudAccount(t, got)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-chart +overlay:\n%s", diff)
				}
			})
		}
	}
	for _, e := range exceptions() {
		if !used[e.why] {
			t.Errorf("nothing differs any more because %q: remove the exception", e.why)
		}
	}
}

// open opens the chart of a profile.
func open(t *testing.T, p bases.Profile) *chart.Opened {
	t.Helper()
	opened, err := chart.Open(checkout.Path(t, "charts/"+p.Chart()))
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// render renders the chart with the values files of a profile and of components.
func render(t *testing.T, opened *chart.Opened, p bases.Profile, components ...string) string {
	t.Helper()
	release, err := p.Release(repotest.Root(t, "kustomize"), components...)
	if err != nil {
		t.Fatal(err)
	}
	manifest, _, err := opened.Render(t.Context(), release)
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

// undo applies one side of the exceptions to all objects and returns these by their names.
func undo(t *testing.T, objects []runtime.Object, used map[string]bool,
	side func(exception) undoing) map[string]runtime.Object {
	t.Helper()
	named := map[string]runtime.Object{}
	for _, o := range objects {
		for _, e := range exceptions() {
			if f := side(e); f != nil && f(t, o) {
				used[e.why] = true
			}
		}
		if _, twice := named[key(t, o)]; twice {
			t.Errorf("there are two %s", key(t, o))
		}
		named[key(t, o)] = o
	}
	return named
}

// relabel changes a label that is there; an empty value removes it.
func relabel(label, value string) undoing {
	return func(t *testing.T, o runtime.Object) bool {
		t.Helper()
		labels := metadata(t, o).GetLabels()
		_, has := labels[label]
		delete(labels, label)
		if has && value != "" {
			labels[label] = value
		}
		return has
	}
}

// podTemplate returns the pods of a workload, or nil.
func podTemplate(o runtime.Object) *corev1.PodTemplateSpec {
	switch o := o.(type) {
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *appsv1.Deployment:
		return &o.Spec.Template
	}
	return nil
}

func dropChecksum(_ *testing.T, o runtime.Object) bool {
	template := podTemplate(o)
	if template == nil {
		return false
	}
	_, has := template.Annotations["checksum/config"]
	delete(template.Annotations, "checksum/config")
	return has
}

// hashed matches the name that kustomize gives the ConfigMap.
func hashed() *regexp.Regexp {
	return regexp.MustCompile(`^(thalassa-ccm|thalassa-csi-controller)-[0-9a-z]{10}$`)
}

func dropHash(_ *testing.T, o runtime.Object) bool {
	if config, ok := o.(*corev1.ConfigMap); ok {
		before := config.Name
		config.Name = hashed().ReplaceAllString(before, "$1")
		return config.Name != before
	}
	if template := podTemplate(o); template != nil {
		for _, volume := range template.Spec.Volumes {
			if volume.ConfigMap != nil {
				volume.ConfigMap.Name = hashed().ReplaceAllString(volume.ConfigMap.Name, "$1")
			}
		}
	}
	return false
}

func dropClusterFlag(_ *testing.T, o runtime.Object) bool {
	template := podTemplate(o)
	if template == nil {
		return false
	}
	args := &template.Spec.Containers[0].Args
	before := len(*args)
	*args = slices.DeleteFunc(*args, func(arg string) bool { return strings.HasPrefix(arg, "--cluster-name=") })
	return len(*args) != before
}

// putIntoNamespace does what `kubectl apply --namespace` does.
func putIntoNamespace(t *testing.T, o runtime.Object) bool {
	t.Helper()
	kind := o.GetObjectKind().GroupVersionKind().Kind
	clusterwide := strings.HasPrefix(kind, "Cluster") || strings.HasPrefix(kind, "ValidatingAdmissionPolicy") ||
		slices.Contains([]string{"CSIDriver", "StorageClass", "VolumeSnapshotClass"}, kind)
	if clusterwide || metadata(t, o).GetNamespace() != "" {
		return false
	}
	metadata(t, o).SetNamespace(bases.Namespace)
	return true
}

// dropCloudAccount leaves out the account that only creates events about files with secrets. With a workload identity
// the chart has it only if there is such a file, which a component cannot know.
func dropCloudAccount(t *testing.T, objects map[string]runtime.Object) {
	t.Helper()
	const account = "cloud-provider-thalassa"
	role, ok := objects["Role/"+bases.Namespace+"/thalassa-ccm"].(*rbacv1.Role)
	if !ok || objects["ClusterRole/thalassa-ccm-"+account] == nil {
		t.Fatalf("no role names the account %s: remove this difference", account)
	}
	delete(objects, "ClusterRole/thalassa-ccm-"+account)
	delete(objects, "ClusterRoleBinding/thalassa-ccm-"+account)
	for i := range role.Rules {
		names := &role.Rules[i].ResourceNames
		*names = slices.DeleteFunc(*names, func(name string) bool { return name == account })
	}
}

// sortLists puts into one order what has none.
func sortLists(_ *testing.T, o runtime.Object) bool {
	template := podTemplate(o)
	if template == nil {
		return false
	}
	spec := &template.Spec
	container := &spec.Containers[0]
	sorted := slices.IsSorted(container.Args)
	slices.Sort(container.Args)
	slices.SortFunc(spec.Volumes, func(a, b corev1.Volume) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(container.VolumeMounts, func(a, b corev1.VolumeMount) int {
		return strings.Compare(a.Name, b.Name)
	})
	return !sorted
}

// showConfig replaces the configuration by what the program makes of it.
func showConfig(t *testing.T, o runtime.Object) bool {
	t.Helper()
	config, ok := o.(*corev1.ConfigMap)
	if !ok || config.Data[overlay.ConfigKey] == "" {
		return false
	}
	effective, problems := validate(t, config.Data[overlay.ConfigKey])
	if len(problems) > 0 {
		t.Errorf("the program refuses the configuration: %q", problems)
	}
	changed := config.Data[overlay.ConfigKey] != effective
	config.Data[overlay.ConfigKey] = effective
	return changed
}

// validate asks the program about a configuration, without the files it refers to.
func validate(t *testing.T, config string) (effective string, problems []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), overlay.ConfigKey)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	check := thalassa.Validate
	if strings.Contains(config, "networkName:") {
		check = ironcore.Validate
	}
	text, problems := check(file, cloud.Environment{}, false)
	return string(text), problems
}
