package kustomizetest

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// TestOverlayInAnotherRepository builds the kustomization that an example and a guide show, for people who do not fork
// this repository. It gives what the overlay here does, but for the label that says who installed it.
func TestOverlayInAnotherRepository(t *testing.T) {
	guide := shown(t, "docs/guides/kustomize.md", "```yaml\n", "```\n", "")
	example := shown(t, "examples/argocd/kustomize.yaml", "#   apiVersion", "apiVersion: argoproj.io", "#   ")
	if diff := cmp.Diff(guide, example); diff != "" {
		t.Errorf("the kustomizations differ (-guide +example):\n%s", diff)
	}
	k := overlay.New(t)
	edit(t, k, "self-managed")
	config, err := k.ReadFile(overlay.ConfigFile("self-managed"))
	if err != nil {
		t.Fatal(err)
	}
	const remote = "https://github.com/thalassa-cloud/thalassa-ccm//kustomize/base/self-managed?ref=v0.1.0"
	if !strings.Contains(guide, remote) {
		t.Fatalf("the kustomization does not refer to %s:\n%s", remote, guide)
	}
	for file, content := range map[string]string{
		"mine/kustomization.yaml": strings.Replace(guide, remote, "../kustomize/base/self-managed", 1), "mine/" +
			overlay.ConfigKey: string(config),
	} {
		if err := k.WriteFile(file, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.ReplaceAll(built(t, "self-managed"), "    app.kubernetes.io/managed-by: kustomize\n", "")
	if diff := cmp.Diff(want, k.Build(t, "mine")); diff != "" {
		t.Errorf("-overlay +mine:\n%s", diff)
	}
}

// TestPatchWithoutControlPlane applies the guide's patch: the pods then run on the nodes that it names, and on no
// others.
func TestPatchWithoutControlPlane(t *testing.T) {
	for name, component := range map[string]string{"DaemonSet": "",
		"Deployment": "components: [../../components/deployment]\n"} {
		k := overlay.New(t)
		edit(t, k, "self-managed")
		patch := shown(t, "docs/guides/kustomize.md",
			"without the second operation they run on every node:\n\n```yaml\n", "```\n", "")
		patch = strings.Replace(patch, "kind: DaemonSet", "kind: "+name, 1)
		const file = "kustomize/overlays/self-managed/kustomization.yaml"
		content, err := k.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.WriteFile(file, []byte(string(content)+component+patch)); err != nil {
			t.Fatal(err)
		}
		text := k.Build(t, "kustomize/overlays/self-managed")
		if strings.Contains(text, "control-plane") ||
			!strings.Contains(text, "      nodeSelector:\n        pool: system\n") ||
			!strings.Contains(text, "kind: "+name+"\n") {
			t.Errorf("the patched %s:\n%s", name, text)
		}
	}
}

// TestRoutesOnIronCore applies the guide's patch: the flags at the end, which take precedence, are those of routes.
func TestRoutesOnIronCore(t *testing.T) {
	patch := shown(t, "docs/guides/ironcore.md", "take precedence:\n\n```yaml\n", "```\n", "")
	for _, component := range []string{"", "components: [../../components/deployment]\n"} {
		k := overlay.New(t)
		edit(t, k, "ironcore")
		const file = "kustomize/overlays/ironcore/kustomization.yaml"
		content, err := k.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.WriteFile(file, []byte(string(content)+component+patch)); err != nil {
			t.Fatal(err)
		}
		text := k.Build(t, "kustomize/overlays/ironcore")
		const flags = "        - --v=2\n        - --configure-cloud-routes=true\n        - " +
			"--cluster-cidr=10.244.0.0/16\n"
		if !strings.Contains(text, flags) {
			t.Errorf("the arguments do not end with\n%s:\n%s", flags, text)
		}
	}
}

// shown is the first kustomization in a file, between two texts, without a prefix of its lines.
func shown(t *testing.T, file, begin, end, prefix string) string {
	t.Helper()
	content, err := os.ReadFile(checkout.Path(t, file))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(content), begin)
	text, _, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s shows no kustomization", file)
	}
	if prefix != "" {
		text = begin + text
	}
	var lines strings.Builder
	for line := range strings.Lines(text) {
		lines.WriteString(strings.TrimPrefix(line, prefix))
	}
	return lines.String()
}
