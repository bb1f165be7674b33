package document_test

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/ci/document"
	"github.com/thalassa-cloud/thalassa-ccm/ci/terminal"
)

// tutorial is the document whose commands use what its first one starts: docs/tutorials/demo.md.
const tutorial = "docs/tutorials/demo.md"

// demo is `make demo KEEP=1` in a terminal of its own.
type demo struct {
	command *exec.Cmd
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
	ended   chan error
}

func (d *demo) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case d.changed <- struct{}{}:
	default:
	}
	return d.text.Write(p)
}

func (d *demo) printed() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

// startDemo runs the command until it keeps everything running. It is interrupted when the test ends.
func startDemo(t *testing.T, shell document.Shell, script string) *demo {
	t.Helper()
	d := &demo{changed: make(chan struct{}, 1), ended: make(chan error, 1)}
	d.command = exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-ec", script)
	d.command.Dir, d.command.Env, d.command.Stdout, d.command.Stderr = shell.Dir, shell.Env, d, d
	d.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.interrupt(t) })
	go func() {
		d.ended <- d.command.Wait()
		close(d.ended)
	}()
	for !strings.Contains(d.printed(), "  logs: ") {
		select {
		case <-d.changed:
		case err := <-d.ended:
			t.Fatalf("%s ended with %v:\n%s", script, err, d.printed())
		case <-time.After(10 * waitTimeout): // the first run compiles Kubernetes
			t.Fatalf("%s does not keep running:\n%s", script, d.printed())
		}
	}
	return d
}

// interrupt presses Ctrl-C, and wants that nothing remains.
func (d *demo) interrupt(t *testing.T) {
	t.Helper()
	_ = syscall.Kill(-d.command.Process.Pid, syscall.SIGINT) // it may have ended
	for range d.ended {
	}
	if !strings.Contains(d.printed(), "Nothing is left running") {
		t.Errorf("the demo does not say that nothing remains:\n%s", d.printed())
	}
}

// find returns what a pattern matches in the output of the demo.
func (d *demo) find(t *testing.T, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(d.printed())
	if found == nil {
		t.Fatalf("the demo does not print %q:\n%s", pattern, d.printed())
	}
	return found[1]
}

// TestTutorial follows the tutorial: what starts the demo runs until the next command that does, and the others run
// meanwhile.
func TestTutorial(t *testing.T) {
	w := newWorld(t)
	shell := w.shell(t, w.root)
	all := blocks(t, w.root, tutorial)
	creation := all[3].Script
	if len(all) != 8 || !strings.Contains(creation, "kubectl apply ") ||
		!strings.Contains(all[6].Script, "CLOUD=ironcore") {
		t.Fatalf("%s has another order: %v", tutorial, all)
	}
	t.Run("Thalassa Cloud", func(t *testing.T) {
		d := startDemo(t, shell, all[0].Script)
		w.follow(t, shell, d, []document.Block{{Script: creation}})
		w.showPlugin(t, d)
		output := w.follow(t, shell, d, all[1:6])
		page{want: []string{`^demo-worker-1 .* nl-01b +pgp-small$`, `^thalassacloud://`,
			`^thalassa-ccm-\w+ +[01]/1 +Running`,
			`^web +LoadBalancer .* 127\.`, `^pod: web-`, `^service "web" deleted`}}.check(t, tutorial, output)
	})
	t.Run("IronCore", func(t *testing.T) {
		d := startDemo(t, shell, all[6].Script)
		after := all[7]
		after.Script = strings.ReplaceAll(after.Script, "<printed path>", d.find(t, `kubectl --kubeconfig=(\S+)`))
		output := w.follow(t, shell, d, []document.Block{{Script: creation}, after})
		page{want: []string{`^web +LoadBalancer .* 127\.`, `^ *kind: LoadBalancerRouting$`,
			`^ *destinations:$`}}.check(t, tutorial, output)
		w.showPlugin(t, d)
	})
}

// showPlugin checks what the plug-in of kubectl shows of the cluster of the demo on a terminal.
func (w *world) showPlugin(t *testing.T, d *demo) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	for arguments, want := range map[string]string{"doctor": "Configuration", "nodes": "demo-worker-1",
		"plan --all-namespaces": "No changes", "top --once --all-namespaces": "IN SYNC",
		"orphans": "Every object of this cluster", "migrate": "Ready: "} {
		terminal.Check(t, want, func() *exec.Cmd {
			cmd := exec.CommandContext(ctx, filepath.Join(w.bin, "kubectl-thalassa"), strings.Fields(arguments)...)
			cmd.Env = []string{"HOME=" + t.TempDir(), "KUBECONFIG=" + d.find(t, `export KUBECONFIG=(\S+)`)}
			return cmd
		})
	}
}

// follow runs blocks in the cluster of the demo.
func (w *world) follow(t *testing.T, shell document.Shell, d *demo, following []document.Block) (output string) {
	t.Helper()
	shell.Env = append(shell.Env, "KUBECONFIG="+d.find(t, `export KUBECONFIG=(\S+)`))
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	for _, block := range following {
		printed, log, err := shell.Run(ctx, block.Script)
		output += printed
		if err != nil {
			t.Fatalf("%s:%d: %v\n%s", tutorial, block.Line, err, log)
		}
		t.Log(log)
	}
	return output
}
