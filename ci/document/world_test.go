package document_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/ci/document"
	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sidecar"
)

// waitTimeout bounds every wait, and the commands of one document.
const waitTimeout = 2 * time.Minute

func TestMain(m *testing.M) {
	if code, is := document.Main(nil); is {
		os.Exit(code)
	}
	controlplanetest.Main(m)
}

// world is what the readers of documents have: a cluster, programs, and files in a copy of this repository.
type world struct {
	plane *controlplane.ControlPlane
	api   kubernetes.Interface
	// root is the repository, dir the copy of what commands name, bin the folder with programs.
	root, dir, bin string
	network        *document.Network
	// before are commands that come before those of every document.
	before string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{plane: controlplanetest.Get(t), root: repotest.Root(t), dir: t.TempDir(), bin: t.TempDir(),
		network: document.NewNetwork(t, nil)}
	w.api = controlplanetest.Client(t, w.plane)
	for _, folder := range []string{"charts", "examples", "kustomize"} {
		if err := os.CopyFS(filepath.Join(w.dir, folder), os.DirFS(filepath.Join(w.root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig, err := os.ReadFile(w.plane.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	values, err := os.ReadFile(filepath.Join(w.root, "charts/thalassa-ccm/ci/minimal-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"token": emulator.DefaultToken, "client-id": emulator.DefaultClientID, "ca.crt": "",
		"client-secret": emulator.DefaultClientSecret, "kubeconfig": string(kubeconfig),
		"tenant.kubeconfig": string(kubeconfig), "my-values.yaml": string(values),
	} {
		w.write(t, name, content)
	}
	definitions, err := sidecar.Definitions(t.Context(), w.root)
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, "snapshots.yaml", string(definitions))
	program := host.Program(t)
	if err := errors.Join(os.CopyFS(w.dir, os.DirFS("testdata")), document.Install(w.bin),
		os.Symlink(program, filepath.Join(w.bin, "thalassa-cloud-controller-manager")),
		os.Symlink(program, filepath.Join(w.bin, "kubectl-thalassa"))); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shell is a terminal in a folder.
func (w *world) shell(t *testing.T, dir string) document.Shell {
	t.Helper()
	environment := append(document.Environment(t, w.bin), "BIN="+w.bin, "KUBECONFIG="+w.plane.Kubeconfig())
	return document.Shell{Dir: dir, Env: append(environment, w.network.Env()...), Before: w.before}
}

// execute runs all commands of a document as its page says, and deletes what they created.
func (w *world) execute(t *testing.T, path string, p page) {
	t.Helper()
	if p.keep {
		w.run(t, path, p)
		return
	}
	began, err := objects(t.Context(), w.plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer w.reset(t, began)
	w.run(t, path, p)
}

func (w *world) run(t *testing.T, path string, p page) {
	t.Helper()
	script := p.script(t, w.root, path)
	w.reportEvents(t, script)
	shell, timeout := w.shell(t, w.dir), waitTimeout
	if p.checkout {
		shell.Dir, timeout = w.root, 10*waitTimeout // it may compile Kubernetes
	}
	before := len(w.network.Refused())
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if p.before != "" {
		if _, log, err := shell.Run(ctx, p.before); err != nil {
			t.Fatalf("what %s takes for granted: %v\n%s", path, err, log)
		}
	}
	printed, log, err := shell.Run(ctx, script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, log)
	}
	t.Logf("%s\n%s", path, log)
	for _, address := range w.network.Refused()[before:] {
		t.Errorf("%s: a command connects to %s", path, address)
	}
	p.check(t, path, printed)
}

// reportEvents reports the events whose reason a command selects by, on a Service and on a Node. The reasons are those
// of the program.
func (w *world) reportEvents(t *testing.T, script string) {
	t.Helper()
	for _, selected := range regexp.MustCompile(`reason=(\w+)`).FindAllStringSubmatch(script, -1) {
		reason := selected[1]
		if !w.inSources(t, `"`+reason+`"`) {
			t.Errorf("no event of the program has the reason %s", reason)
		}
		for kind, name := range map[string]string{"Service": "web", "Node": "worker-1"} {
			_, err := w.api.CoreV1().Events("default").Create(t.Context(), &corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{GenerateName: name + "."},
				InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, Namespace: "default"},
				Reason:         reason, Type: corev1.EventTypeWarning, Message: "for a test",
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// inSources reports whether a source of the program contains a text.
func (w *world) inSources(t *testing.T, text string) bool {
	t.Helper()
	return exec.CommandContext(t.Context(), "grep", "--recursive", "--quiet", "--fixed-strings", "--include=*.go",
		"--exclude=*_test.go", "--", text, filepath.Join(w.root, "src")).Run() == nil
}

// eventually waits for a state of the cluster.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	controlplanetest.Eventually(t, waitTimeout, what, check)
}

// last returns the address in a network with this number.
func last(network netip.Prefix, number byte) netip.Addr {
	bytes := network.Addr().As4()
	bytes[3] = number
	return netip.AddrFrom4(bytes)
}

// errNotYet is why something is waited for.
var errNotYet = fmt.Errorf("not yet")
