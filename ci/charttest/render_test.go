package charttest

import (
	"os"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// chartDir is the folder of thalassa-ccm.
func chartDir(t *testing.T) string {
	t.Helper()
	return CCM.Dir(t)
}

// release is the installation the README describes.
func release(values map[string]any) chart.Release { return CCM.Release(values) }

// readValues returns what a values file says.
func readValues(t *testing.T, path string) map[string]any {
	t.Helper()
	return ReadValues(t, path)
}

// minimal returns the values every installation needs, and on top of them what
// each of sets says in the syntax of `helm install --set`.
func minimal(t *testing.T, sets ...string) map[string]any {
	t.Helper()
	return CCM.Minimal(t, sets...)
}

// render renders the chart in a folder, and returns the objects as text and the notes.
func render(t *testing.T, dir string, r chart.Release) (text, notes string, err error) {
	t.Helper()
	return Render(t, dir, r)
}

// manifest renders the chart as text.
func manifest(t *testing.T, r chart.Release) string {
	t.Helper()
	text, _, err := render(t, chartDir(t), r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// manifestAndNotes renders the chart as text, and its notes for the user.
func manifestAndNotes(t *testing.T, values map[string]any) (text, notes string) {
	t.Helper()
	text, notes, err := render(t, chartDir(t), release(values))
	if err != nil {
		t.Fatal(err)
	}
	return text, notes
}

// objects renders the chart into typed objects.
func objects(t *testing.T, values map[string]any) []runtime.Object {
	t.Helper()
	return CCM.Objects(t, values)
}

// refusal renders the chart with values it has to refuse and returns the error.
func refusal(t *testing.T, values map[string]any) string {
	t.Helper()
	_, _, err := render(t, chartDir(t), release(values))
	if err == nil {
		t.Fatalf("the chart accepts %v", values)
	}
	return err.Error()
}

// find returns the object of type T with that name.
func find[T runtime.Object](t *testing.T, objects []runtime.Object, name string) T {
	t.Helper()
	return Find[T](t, objects, name)
}

func accessor(t *testing.T, object runtime.Object) interface{ GetName() string } {
	t.Helper()
	got, err := meta.Accessor(object)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func daemonSet(t *testing.T, sets ...string) *appsv1.DaemonSet {
	t.Helper()
	return find[*appsv1.DaemonSet](t, objects(t, minimal(t, sets...)), "thalassa-ccm")
}

// podTemplate returns the pod template of the workload, of whatever kind; nil without one.
func podTemplate(objects []runtime.Object) *corev1.PodTemplateSpec {
	for _, object := range objects {
		switch workload := object.(type) {
		case *appsv1.DaemonSet:
			return &workload.Spec.Template
		case *appsv1.Deployment:
			return &workload.Spec.Template
		}
	}
	return nil
}

// pod renders the minimal values and what sets say on top, and returns the pod template.
func pod(t *testing.T, sets ...string) *corev1.PodTemplateSpec {
	t.Helper()
	template := podTemplate(objects(t, minimal(t, sets...)))
	if template == nil {
		t.Fatal("there is no workload")
	}
	return template
}

func container(t *testing.T, sets ...string) corev1.Container {
	t.Helper()
	containers := pod(t, sets...).Spec.Containers
	if len(containers) != 1 {
		t.Fatalf("%d containers, want 1", len(containers))
	}
	return containers[0]
}

// valuesFiles are the values files of the ci folder of thalassa-ccm, by their short names.
func valuesFiles(t *testing.T) map[string]string {
	t.Helper()
	return CCM.ValuesFiles(t)
}

// readCheckout reads a file of the repository, named from its root.
func readCheckout(t *testing.T, name string) string {
	t.Helper()
	return readFile(t, checkout.Path(t, name))
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
