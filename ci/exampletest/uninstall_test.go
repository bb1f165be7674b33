package exampletest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// kubectlMain runs kubectl when the test program was started under that name.
func kubectlMain() (code int, is bool) {
	if filepath.Base(os.Args[0]) != "kubectl" {
		return 0, false
	}
	if err := kubectl.Command(os.Stdout, os.Stderr).Execute(); err != nil {
		return 1, true
	}
	return 0, true
}

// section returns the shell script under a heading of a page.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	content, err := os.ReadFile(checkout.Path(t, page))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(content), "\n## "+heading+"\n")
	_, after, fenced := strings.Cut(after, "```sh\n")
	script, _, closed := strings.Cut(after, "```\n")
	if !found || !fenced || !closed {
		t.Fatalf("%s has no script under %q", page, heading)
	}
	return script
}

// documentedConditions are the types in the table of conditions.
func documentedConditions(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(checkout.Path(t, "docs/reference/events.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(content), "\n## Conditions\n")
	var types []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(LoadBalancer[A-Za-z]+)` \\|").FindAllStringSubmatch(after, -1) {
		types = append(types, row[1])
	}
	if len(types) < 5 {
		t.Fatalf("conditions %q, want at least 5", types)
	}
	return types
}

// TestDocumentedRemoval runs the documented command against a real API server: no condition, annotation or label of the
// program is left, and those of others are as they were.
func TestDocumentedRemoval(t *testing.T) {
	tier.NeedFull(t)
	plane, namespace := controlplanetest.Get(t), controlplanetest.Namespace(t)
	client, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	others := metav1.Condition{Type: "example.com/Approved", Status: metav1.ConditionTrue, Reason: "Approved",
		Message: "it's \"fine\": $(echo $HOME) `id`\n\\n; rm", LastTransitionTime: metav1.Now()}
	services := client.CoreV1().Services(namespace)
	for name, has := range map[string][]string{"both": documentedConditions(t), "only-others": nil} {
		service, err := services.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		service.Status.Conditions = []metav1.Condition{others}
		for _, kind := range has {
			service.Status.Conditions = append(service.Status.Conditions,
				metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "AsWanted", Message: "it's",
					LastTransitionTime: metav1.Now()})
		}
		if _, err := services.UpdateStatus(t.Context(), service, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const annotation, label = "k8s.thalassa.cloud/applied", "node-restriction.kubernetes.io/k8s-thalassa-cloud-applied"
	nodes := client.CoreV1().Nodes()
	for name, meta := range map[string]metav1.ObjectMeta{
		"recorded": {Annotations: map[string]string{annotation: "{}", "mine": "x"},
			Labels: map[string]string{label: "abc", "pool": "a"}}, "plain": {},
	} {
		meta.Name = namespace + "-" + name
		if _, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nodes.Delete(context.WithoutCancel(t.Context()), meta.Name, metav1.DeleteOptions{}) })
	}

	runDocumented(t, plane.Kubeconfig(), section(t, "docs/guides/uninstall.md",
		"Remove conditions and annotations"))

	for _, name := range []string{"both", "only-others"} {
		service, err := services.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := service.Status.Conditions; len(got) != 1 || got[0].Type != others.Type ||
			got[0].Message != others.Message {
			t.Errorf("Service %s has the conditions %+v, want only that of another program", name, got)
		}
	}
	node, err := nodes.Get(t.Context(), namespace+"-recorded", metav1.GetOptions{})
	if err != nil || len(node.Annotations[annotation]) > 0 || len(node.Labels[label]) > 0 ||
		node.Annotations["mine"] != "x" || node.Labels["pool"] != "a" {
		t.Errorf("the Node has annotations %v and labels %v, error %v; want only those of others", node.Annotations,
			node.Labels, err)
	}
}

// runDocumented runs a script of the docs with this program as its kubectl.
func runDocumented(t *testing.T, kubeconfig, script string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "kubectl")); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	command.Env = append(slices.Clone(os.Environ()), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+kubeconfig)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, output)
	}
}
