package kubectl_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func configMap(namespace, data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: " + namespace + "}\n" + data
}

func TestApply(t *testing.T) {
	tier.NeedFull(t)
	plane, namespace := controlplanetest.Get(t), controlplanetest.Namespace(t)
	client, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	k := kubectl.New(plane.Kubeconfig())
	for _, step := range []struct{ data, flag, want, stored string }{
		{"data: {a: one}\n", "--server-side=false", "configmap/settings created\n", "one"},
		{"data: {a: one}\n", "--server-side=false", "configmap/settings unchanged\n", "one"},
		{"data: {a: two}\n", "--dry-run=server", "configmap/settings configured (server dry run)\n", "one"},
		{"data: {a: two}\n", "--server-side", "configmap/settings serverside-applied\n", "two"},
	} {
		got, err := k.Apply(configMap(namespace, step.data), step.flag)
		if err != nil || got != step.want {
			t.Fatalf("apply %s: %q and %v, want %q", step.flag, got, err, step.want)
		}
		stored, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "settings", metav1.GetOptions{})
		if err != nil || stored.Data["a"] != step.stored {
			t.Fatalf("after apply %s: %v and %v, want %q", step.flag, stored.Data, err, step.stored)
		}
	}
}

func TestDelete(t *testing.T) {
	tier.NeedFull(t)
	plane, namespace := controlplanetest.Get(t), controlplanetest.Namespace(t)
	k := kubectl.New(plane.Kubeconfig()).In(namespace)
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
	if _, err := k.Apply(manifest); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"configmap \"settings\" deleted from " + namespace + " namespace\n", ""} {
		if got, err := k.Delete(manifest); err != nil || got != want {
			t.Errorf("delete: %q and %v, want %q", got, err, want)
		}
	}
	if _, err := k.Delete("kind: x"); err == nil || !strings.Contains(err.Error(), "kubectl delete: ") {
		t.Errorf("what is no object: %v", err)
	}
}

func TestApplyRefuses(t *testing.T) {
	tier.NeedFull(t)
	plane, namespace := controlplanetest.Get(t), controlplanetest.Namespace(t)
	k := kubectl.New(plane.Kubeconfig())
	for name, test := range map[string]struct{ manifest, flag, want string }{
		"an unknown field":              {configMap(namespace, "dta: {a: b}\n"), "--server-side", "dta"},
		"an unknown field, client-side": {configMap(namespace, "dta: {a: b}\n"), "--server-side=false", "dta"},
		"an unknown kind": {"apiVersion: v1\nkind: Setting\nmetadata: {name: a}\n", "--server-side",
			`no matches for kind "Setting"`},
		"an unknown flag": {configMap(namespace, ""), "--sideways", "unknown flag: --sideways"},
		"a bad flag":      {configMap(namespace, ""), "--dry-run=often", "often"},
		"no object":       {"# nothing\n", "--server-side", "no objects passed to apply"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := k.Apply(test.manifest, test.flag); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// TestApplyWarns: a pod that violates the namespace's standard is stored, with a warning.
func TestApplyWarns(t *testing.T) {
	tier.NeedFull(t)
	plane, namespace := controlplanetest.Get(t), controlplanetest.Namespace(t)
	k := kubectl.New(plane.Kubeconfig())
	standard := "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + namespace +
		", labels: {pod-security.kubernetes.io/warn: restricted}}\n"
	if _, err := k.Apply(standard, "--server-side"); err != nil {
		t.Fatal(err)
	}
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: " + namespace +
		"}\nspec: {hostNetwork: true, containers: [{name: a, image: a}]}\n"
	output, err := k.Apply(pod, "--server-side", "--dry-run=server")
	if !errors.Is(err, kubectl.ErrWarned) || !strings.Contains(err.Error(), "hostNetwork=true") {
		t.Errorf("got %v, want a warning about the host network", err)
	}
	if output != "pod/p serverside-applied (server dry run)\n" {
		t.Errorf("output %q", output)
	}
}

func TestDefineMonitors(t *testing.T) {
	tier.NeedFull(t)
	plane, namespace := controlplanetest.Get(t), controlplanetest.Namespace(t)
	k := kubectl.New(plane.Kubeconfig()).In(namespace)
	for range 2 {
		if err := k.DefineMonitors(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const monitor = "apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\nmetadata: {name: a}\nspec: {selector: " +
		"{}}\n"
	got, err := k.Apply(monitor)
	if want := "podmonitor.monitoring.coreos.com/a created\n"; got != want || err != nil {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
	for change, want := range map[string]string{
		"podMetricsEndpoints: [{scheme: ftp}]":    "Unsupported value",
		"podMetricsEndpoints: [{interval: soon}]": "should match",
		"podMetricsEndpoint: []":                  "podMetricsEndpoint",
	} {
		_, err := k.Apply(strings.Replace(monitor, "spec: {", "spec: {"+change+", ", 1), "--server-side",
			"--dry-run=server")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a refusal with %q", change, err, want)
		}
	}
}
