package overlay_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// TestEditing is what a user does with an editor.
func TestEditing(t *testing.T) {
	tree := overlay.New(t)
	before := tree.Build(t, overlay.Dir("self-managed"))
	tree.Say(t, "self-managed", map[string]string{"organisation": "mine"})
	tree.Use(t, "self-managed", "deployment", "high-availability")
	tree.Change(t, "kustomize/base/self-managed/daemonset.yaml", "--secure-port=10258", "--secure-port=10999")
	after := tree.Build(t, overlay.Dir("self-managed"))
	for _, text := range []string{"organisation: mine\n", "kind: Deployment\n", "kind: PodDisruptionBudget\n",
		"--secure-port=10999"} {
		if strings.Contains(before, text) || !strings.Contains(after, text) {
			t.Errorf("%q is there before it is said, or not after", text)
		}
	}
	if again := overlay.New(t).Build(t, overlay.Dir("self-managed")); again != before {
		t.Error("another tree has the changes, too")
	}
}

func TestPermit(t *testing.T) {
	tree := overlay.New(t)
	tree.Permit(t, "managed-tenant", "somebody")
	if got := strings.Count(tree.Build(t, overlay.Dir("managed-tenant")), "name: somebody\n"); got != 2 {
		t.Errorf("somebody is in %d bindings, want 2", got)
	}
}

func TestConfigures(t *testing.T) {
	for name, want := range map[string]bool{"self-managed": true, "managed": true, "managed-tenant": false,
		"ironcore": true, "ironcore-managed": true, "ironcore-permissions": false} {
		if got := overlay.New(t).Configures(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
		if _, err := os.Stat(checkout.Path(t, overlay.ConfigFile(name))); (err == nil) != want {
			t.Errorf("%s: its file gives %v", name, err)
		}
	}
}

func TestTryBuild(t *testing.T) {
	_, err := overlay.New(t).TryBuild("kustomize/nowhere")
	if err == nil || !strings.HasPrefix(err.Error(), "kustomize build kustomize/nowhere: ") {
		t.Errorf("got %v, want an error that names the folder", err)
	}
}

// refusing is a test that says why it failed instead of ending.
type refusing struct {
	testing.TB
	why string
}

// Fatalf implements testing.TB.
func (r *refusing) Fatalf(format string, values ...any) { r.why = fmt.Sprintf(format, values...) }

// TestNothingToChange: an edit that finds nothing would prove nothing.
func TestNothingToChange(t *testing.T) {
	r := &refusing{TB: t}
	overlay.New(t).Change(r, overlay.ConfigFile("managed"), "no such text", "")
	if !strings.Contains(r.why, `does not contain "no such text"`) {
		t.Errorf("it fails with %q", r.why)
	}
}
