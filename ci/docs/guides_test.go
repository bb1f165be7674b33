package docs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/ci/docs"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// waitTimeout bounds every wait, and the commands of one document.
const waitTimeout = 2 * time.Minute

func TestMain(m *testing.M) {
	if code, is := docs.Main(); is {
		os.Exit(code)
	}
	m.Run()
}

// guide is what an install guide needs besides a cluster.
type guide struct {
	// before are commands for what the guide takes for granted.
	before string
	// effect are commands that fail unless those of the guide have had their effect.
	effect string
}

// guides are the install guides, by path. docs/guides/gitops.md has no commands.
func guides() map[string]guide {
	const daemonSet = "kubectl get daemonset thalassa-ccm --namespace kube-system\n"
	return map[string]guide{
		"README.md":                     {effect: daemonSet},
		"charts/thalassa-ccm/README.md": {effect: daemonSet},
		"charts/thalassa-csi/README.md": {
			effect: "kubectl get deployment thalassa-csi-controller --namespace thalassa-system"},
		"docs/guides/ironcore.md": {
			before: `kubectl create namespace production
sed -i -e 's/name: ""/name: cloud-controller-manager/' -e 's/SET_NAMESPACE/production/' \
  kustomize/overlays/ironcore-permissions/subject.yaml`,
			effect: daemonSet + "kubectl get role,rolebinding thalassa-ccm --namespace production"},
		"docs/guides/kustomize.md": {
			before: `kubectl create namespace tenant-a
sed -i 's/name: ""/name: cloud-controller-manager/' kustomize/overlays/managed-tenant/subject.yaml`,
			effect: daemonSet + "kubectl get deployment thalassa-ccm --namespace tenant-a"},
		"docs/guides/managed.md": {
			before: "kubectl create namespace cluster-production",
			effect: `kubectl get deployment thalassa-ccm --namespace cluster-production
kubectl get clusterrolebinding thalassa-ccm`},
	}
}

// render has the commands of guides show what they would install, without a cluster. Helm needs the version of one.
const render = `helm() {
	[[ $1 == install ]]
	command helm template --kube-version=1.99 "${@:2}"
}
kubectl() {
	case $1 in
	create) command kubectl "$@" --dry-run=client --output=name ;;
	*) cat >/dev/null ;;
	esac
}
`

// TestInstallGuidesRender: the charts and overlays accept what the commands of the install guides say.
func TestInstallGuidesRender(t *testing.T) {
	for path, g := range guides() {
		t.Run(path, func(t *testing.T) {
			shell := newShell(t)
			shell.Before = render
			follow(t, shell, g.before, script(t, path))
		})
	}
}

// TestInstallGuides: the commands of the install guides work in an empty cluster.
func TestInstallGuides(t *testing.T) {
	tier.NeedFull(t)
	for path, g := range guides() {
		t.Run(path, func(t *testing.T) {
			shell := newShell(t)
			shell.Env = append(shell.Env, "KUBECONFIG="+controlplanetest.Start(t, nil).Kubeconfig())
			follow(t, shell, g.before, script(t, path), g.effect)
		})
	}
}

// newShell is a shell in a folder with the charts, the overlays and the files that guides name. It reaches this machine
// only.
func newShell(t *testing.T) docs.Shell {
	t.Helper()
	dir, bin, network := t.TempDir(), t.TempDir(), docs.NewNetwork(t, nil)
	t.Cleanup(func() {
		for _, address := range network.Refused() {
			t.Errorf("a command connects to %s", address)
		}
	})
	for _, folder := range []string{"charts", "kustomize"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(checkout.Path(t, folder))); err != nil {
			t.Fatal(err)
		}
	}
	values, err := os.ReadFile(checkout.Path(t, "charts/thalassa-ccm/ci/minimal-values.yaml"))
	if err := errors.Join(err, docs.Install(bin)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"token", "ca.crt", "kubeconfig", "tenant.kubeconfig", "my-values.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), values, 0o600); err != nil { // which only Helm reads
			t.Fatal(err)
		}
	}
	return docs.Shell{Dir: dir, Env: append(docs.Environment(t, bin), network.Env()...)}
}

// script is the commands of a guide, except those of make, which are not about a cluster.
func script(t *testing.T, path string) string {
	t.Helper()
	var all strings.Builder
	for _, block := range blocks(t, path) {
		all.WriteString(block.Without("make"))
	}
	if all.Len() == 0 {
		t.Fatalf("%s has no commands", path)
	}
	return all.String()
}

// blocks are the blocks of commands in a document.
func blocks(t *testing.T, path string) []docs.Block {
	t.Helper()
	text, err := os.ReadFile(checkout.Path(t, path))
	if err != nil {
		t.Fatal(err)
	}
	found, err := docs.Blocks(string(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return found
}

// follow runs scripts one after the other, and returns what they print.
func follow(t *testing.T, shell docs.Shell, scripts ...string) (printed string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	for _, script := range scripts {
		output, log, err := shell.Run(ctx, script)
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		t.Log(log)
		printed += output
	}
	return printed
}
