package policytest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// TestTwoInstallations share a cluster: neither takes the other's policy away.
func TestTwoInstallations(t *testing.T) {
	client, namespace := cluster(t)
	prefix := thalassa.Annotations().Prefix()
	one, two := rendered(t, "one"), rendered(t, "two")
	if one.Name == two.Name || one.binding.Name == two.binding.Name {
		t.Fatalf("both are named %s and %s", one.Name, one.binding.Name)
	}
	for _, p := range []policy{one, two} {
		if p.binding.Spec.PolicyName != p.Name {
			t.Errorf("the binding of %s is for %s", p.Name, p.binding.Spec.PolicyName)
		}
	}
	install(t, client, namespace, one, prefix)
	t.Run("the other comes and goes", func(t *testing.T) {
		install(t, client, controlplanetest.Namespace(t), two, prefix)
	})
	err := create(t.Context(), client, service(namespace, map[string]string{prefix + "typo": ""}))
	if err == nil || !strings.Contains(err.Error(), one.Name) {
		t.Errorf("without the other: %v, want a refusal by %s", err, one.Name)
	}
}

// TestComponentIsTheSamePolicy: who uses neither chart nor overlays applies the two files of the Kustomize component.
// Users who change from one to the other have the same policy by the same name.
func TestComponentIsTheSamePolicy(t *testing.T) {
	wantComponent(t, "admission-policy", rendered(t, "thalassa-ccm"), thalassa.Annotations().Prefix())
}

// wantComponent compares a Kustomize component with the policy of the chart, and installs it.
func wantComponent(t *testing.T, name string, ours policy, prefix string) {
	t.Helper()
	var manifest strings.Builder
	for _, file := range []string{"validatingadmissionpolicy.yaml", "validatingadmissionpolicybinding.yaml"} {
		content, err := os.ReadFile(checkout.Path(t, "kustomize/components/"+name+"/"+file))
		if err != nil {
			t.Fatal(err)
		}
		manifest.WriteString("---\n" + string(content))
	}
	component := decoded(t, manifest.String())
	if diff := cmp.Diff(ours.Spec, component.Spec); diff != "" {
		t.Errorf("policies (-chart +component):\n%s", diff)
	}
	if component.binding.Spec.PolicyName != component.Name || component.Name != ours.Name {
		t.Errorf("the component's binding is for %s; its policy is named %s, the chart's %s",
			component.binding.Spec.PolicyName, component.Name, ours.Name)
	}
	client, namespace := cluster(t)
	install(t, client, namespace, component, prefix)
}

// warnings collects the warnings that the API server sends with its answers.
type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

// wanted is an error until a warning contains text.
func (w *warnings) wanted(text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.ContainsFunc(w.said, func(said string) bool { return strings.Contains(said, text) }) {
		return nil
	}
	return fmt.Errorf("warnings %q, want one with %q", w.said, text)
}

// TestWarnRefusesNothing: with Warn the Service is stored, and the client gets a warning.
func TestWarnRefusesNothing(t *testing.T) {
	_, namespace := cluster(t)
	received := &warnings{}
	config := rest.CopyConfig(controlplanetest.Get(t).Config())
	config.WarningHandler = received
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	put(t, client, namespace, rendered(t, "thalassa-ccm", "Warn", "Audit"))
	name := thalassa.Annotations().Prefix() + "typo"
	controlplanetest.Eventually(t, waitTimeout, "there is a warning", func(ctx context.Context) error {
		if err := create(ctx, client, service(namespace, map[string]string{name: "x"})); err != nil {
			t.Fatalf("a policy that only warns gives %v", err)
		}
		return received.wanted("annotation " + name + ": is not known and has no effect")
	})
}

// TestDenyAndWarnExcludeEachOther as the API server has it; the chart says so first.
func TestDenyAndWarnExcludeEachOther(t *testing.T) {
	_, _, err := chart.Render(t.Context(), chartDir(t), release(t, "thalassa-ccm", "Deny", "Warn"))
	if err == nil ||
		!strings.Contains(err.Error(), "admissionPolicy.validationActions: Deny and Warn exclude each other") {
		t.Errorf("error %v, want one that says that Deny and Warn exclude each other", err)
	}
}
