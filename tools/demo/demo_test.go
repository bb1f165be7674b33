package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// story is an Output that can be waited for.
type story struct {
	mu   sync.Mutex
	text bytes.Buffer
	// when is called once with the story so far contains its key.
	when map[string]func()
}

func (s *story) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.text.Write(p)
	for line, do := range s.when {
		if strings.Contains(s.text.String(), line) {
			delete(s.when, line)
			do()
		}
	}
	return n, err
}

func (s *story) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// ownTemp gives the test a folder for temporary files of its own: demos of other people are none of its business.
func ownTemp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return dir
}

// nothingLeft fails the test if a process or a file of a demo below dir is left.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	if left := processes(dir); len(left) > 0 {
		t.Errorf("processes left:\n%s", strings.Join(left, "\n"))
	}
	files, err := filepath.Glob(filepath.Join(dir, folderPrefix+"*"))
	if err != nil || len(files) > 0 {
		t.Errorf("files left: %v, error %v", files, err)
	}
}

// processes are the command lines of all processes that mention dir, our own aside.
func processes(dir string) []string {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, line := range lines {
		content, err := os.ReadFile(line)
		command := strings.ReplaceAll(string(content), "\x00", " ")
		if err == nil && strings.Contains(command, dir) && line != fmt.Sprintf("/proc/%d/cmdline", os.Getpid()) {
			found = append(found, command)
		}
	}
	return found
}

// inOrder fails the test unless all patterns occur in text one after the other.
func inOrder(t *testing.T, text string, patterns ...string) {
	t.Helper()
	rest := text
	for _, pattern := range patterns {
		at := regexp.MustCompile(pattern).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("the story lacks, at its place, %q:\n%s", pattern, text)
		}
		rest = rest[at[1]:]
	}
}

// sources returns the root of the repository, of which a demo reads these files and builds programs from them.
func sources(t *testing.T) string {
	t.Helper()
	return repotest.Root(t, "src", "tools/lab", "charts", "examples", "Makefile")
}

func TestStory(t *testing.T) {
	tier.NeedFull(t)
	dir := ownTemp(t)
	// A kubeconfig of the user's must not matter: this one leads nowhere.
	t.Setenv("KUBECONFIG", "/does/not/exist")
	out := &story{}
	if err := Run(t.Context(), Options{Root: sources(t), Output: out}); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inOrder(t, out.String(),
		`== Building the programs`,
		`Kubernetes v1\.\d+\.\d+ answers at https://127\.0\.0\.1:\d+`,
		`Thalassa Cloud \(emulated\) answers at http://127\.0\.0\.1:\d+`,
		`Server demo-control-plane \(127\.\d+\.\d+\.\d+, zone nl-01a\) .*tainted`,
		`Server demo-worker-1 `, `Server demo-worker-2 `,
		`== helm install thalassa-ccm`,
		`put pod kube-system/thalassa-ccm-\w+ on demo-control-plane, which runs /thalassa-cloud-controller-manager`,
		`providerID thalassacloud://\S+, zone nl-01\w, region nl-01, type pgp-small, addresses Hostname \S+, InternalIP 127\.\S+; the taint is gone`,
		`providerID thalassacloud://`, `providerID thalassacloud://`,
		`== kubectl apply -f examples/web.yaml`,
		`is "creating"`, `is "ready"`,
		`Service default/web has the address 127\.\d+\.\d+\.\d+ \(ipMode Proxy\)`,
		`GET http://127\.\d+\.\d+\.\d+:(80|20080)/ through the load balancer:`, `pod: web-`,
		`== A fourth server joins`,
		`demo-worker-3: providerID thalassacloud://`,
		`demo-worker-3 is a target of the load balancer now, which has 3`,
		`== kubectl delete -f examples/web.yaml`,
		`the cloud is empty: no load balancer, no target group`,
		`== Removing everything`, `Nothing is left running`,
		`make demo KEEP=1`,
	)
	nothingLeft(t, dir)
}

func TestKeepLeavesEverythingRunning(t *testing.T) {
	tier.NeedFull(t)
	dir := ownTemp(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &story{when: map[string]func(){"logs: ": func() {
		if len(processes(dir)) == 0 {
			t.Error("nothing runs although it should be kept")
		}
		cancel()
	}}}
	if err := Run(ctx, Options{Root: sources(t), Output: out, Keep: true}); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inOrder(t, out.String(), `keeps running until Ctrl-C`, `export KUBECONFIG=`+regexp.QuoteMeta(dir),
		`live in a browser:  http://127\.0\.0\.1:\d+/_emulator/\n`, `curl -s http://127`, `Nothing is left running`)
	nothingLeft(t, dir)
}

func TestInterruptedHalfWay(t *testing.T) {
	tier.NeedFull(t)
	for moment, cloud := range map[string]string{
		"Kubernetes v1": cloudThalassa, `is "creating"`: cloudThalassa,
		"IronCore (API server": cloudIronCore, `is "without an address"`: cloudIronCore,
	} {
		t.Run(moment, func(t *testing.T) {
			dir := ownTemp(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &story{when: map[string]func(){moment: cancel}}
			err := Run(ctx, Options{Root: sources(t), Output: out, Cloud: cloud})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want the interruption", err)
			}
			inOrder(t, out.String(), `== Stopped: interrupted`, `Nothing is left running`)
			nothingLeft(t, dir)
		})
	}
}

func TestKilledHalfWay(t *testing.T) {
	tier.NeedFull(t)
	dir := ownTemp(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	victim := exec.CommandContext(t.Context(), self)
	victim.Dir = sources(t)
	victim.Env = append(os.Environ(), roleVariable+"=demo")
	out := &story{when: map[string]func(){"initialises the nodes": func() {
		if err := victim.Process.Kill(); err != nil {
			t.Error(err)
		}
	}}}
	victim.Stdout, victim.Stderr = out, out
	if err := victim.Run(); err == nil {
		t.Fatalf("the demo ended well instead of being killed:\n%s", out)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) {
			return len(processes(dir)) == 0, nil
		})
	if err != nil {
		t.Errorf("its processes outlived it:\n%s", strings.Join(processes(dir), "\n"))
	}
	if removed, err := demos().Clean(); err != nil || len(removed) != 1 {
		t.Errorf("the next demo removes %v and %v, want the one folder of the killed one", removed, err)
	}
	nothingLeft(t, dir)
}

func TestFolder(t *testing.T) {
	dir := ownTemp(t)
	killed := filepath.Join(dir, folderPrefix+"killed")
	if err := errors.Join(os.Mkdir(killed, 0o700), os.WriteFile(filepath.Join(killed, "lock"), nil,
		0o600)); err != nil {
		t.Fatal(err)
	}
	out := &story{}
	own, err := openFolder("", newPrinter(out))
	if err != nil {
		t.Fatal(err)
	}
	inOrder(t, out.String(), "killed left behind: "+regexp.QuoteMeta(killed))
	named, err := openFolder(filepath.Join(dir, "named"), newPrinter(out))
	if err != nil || named.Path() != filepath.Join(dir, "named") {
		t.Fatalf("asked for a folder named, got %v and %v", named, err)
	}
	if err := errors.Join(own.Remove(), named.Remove()); err != nil {
		t.Error(err)
	}
	nothingLeft(t, dir)
}
