package docs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/ci/docs"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

// tutorial is a document whose first and seventh block start a demo that keeps running. The others use it.
const tutorial = "docs/tutorials/demo.md"

// TestTutorial: the commands of the tutorial work, with both clouds.
func TestTutorial(t *testing.T) {
	tier.NeedFull(t)
	all := blocks(t, tutorial)
	if len(all) != 8 || !strings.HasPrefix(all[0].Script, "make ") || !strings.HasPrefix(all[6].Script, "make ") {
		t.Fatalf("%s has another order: %v", tutorial, all)
	}
	bin := t.TempDir()
	if err := docs.Install(bin); err != nil {
		t.Fatal(err)
	}
	shell := docs.Shell{Dir: checkout.Path(t, checkout.Everything), Env: docs.Environment(t, bin)}
	creation := all[3].Script
	t.Run("Thalassa Cloud", func(t *testing.T) {
		d := startDemo(t, shell, all[0].Script)
		wants(t, follow(t, d.shell, all[1].Script, all[2].Script), `^demo-worker-1 .* nl-01b +pgp-small$`,
			`^thalassacloud://`, `^thalassa-ccm-\w+ +[01]/1 +Running`)
		// As the tutorial says, the port is 80 if the demo may use it.
		request := strings.TrimSpace(all[4].Script) + " || " + strings.ReplaceAll(all[4].Script, ":20080/", ":80/")
		wants(t, follow(t, d.shell, creation, request, all[5].Script), `^web +LoadBalancer .* 127\.`, `^pod: web-`,
			`^service "web" deleted`)
	})
	t.Run("IronCore", func(t *testing.T) {
		d := startDemo(t, shell, all[6].Script)
		destinations := strings.ReplaceAll(all[7].Script, "<printed path>", d.find(t, `kubectl --kubeconfig=(\S+)`))
		wants(t, follow(t, d.shell, creation, destinations), `^web +LoadBalancer .* 127\.`,
			`^ *kind: LoadBalancerRouting$`, `^ *destinations:$`)
	})
}

// demo is one that runs in a terminal of its own, which is a file. Another shell uses its cluster.
type demo struct {
	process  *process.Process
	terminal string
	shell    docs.Shell
}

// startDemo runs a command that starts a demo, until that keeps running. It is interrupted when the test ends.
func startDemo(t *testing.T, shell docs.Shell, script string) *demo {
	t.Helper()
	d := &demo{terminal: filepath.Join(t.TempDir(), "terminal"), shell: shell}
	var err error
	d.process, err = process.Start(context.WithoutCancel(t.Context()), process.Spec{Path: "sh",
		Args: []string{"-ec", "exec " + script}, Dir: shell.Dir, Env: shell.Env, LogPath: d.terminal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.interrupt(t) })
	// The first run compiles Kubernetes.
	limits := poll.Limits{Every: 100 * time.Millisecond, For: 10 * waitTimeout, Needs: d.process}
	if err := limits.Until(t.Context(), "the demo keeps running", func(context.Context) error {
		if !strings.Contains(d.printed(t), "  logs: ") {
			return errors.New("it has not printed where its logs are")
		}
		return nil
	}); err != nil {
		t.Fatalf("%v\n%s", err, d.printed(t))
	}
	d.shell.Env = append(slices.Clone(shell.Env), "KUBECONFIG="+d.find(t, `export KUBECONFIG=(\S+)`))
	return d
}

// interrupt presses Ctrl-C, and wants that nothing remains.
func (d *demo) interrupt(t *testing.T) {
	t.Helper()
	_ = d.process.Signal(syscall.SIGINT) // it may have ended
	_ = d.process.Wait()                 // make fails if it is interrupted
	if !strings.Contains(d.printed(t), "Nothing is left running") {
		t.Errorf("the demo does not say that nothing remains:\n%s", d.printed(t))
	}
}

func (d *demo) printed(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(d.terminal)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// find returns what a pattern matches in the output of the demo.
func (d *demo) find(t *testing.T, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(d.printed(t))
	if found == nil {
		t.Fatalf("the demo does not print %q:\n%s", pattern, d.printed(t))
	}
	return found[1]
}

// wants checks that output has lines with these patterns.
func wants(t *testing.T, output string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		if !regexp.MustCompile("(?m)" + pattern).MatchString(output) {
			t.Errorf("the commands do not print %q:\n%s", pattern, output)
		}
	}
}
