package controlplane

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// goMod is what a build reads of the lab's module.
const goMod = "module lab\n\nrequire (\n\tk8s.io/api v0.1.2\n\tk8s.io/kubernetes v1.99.3-rc.1\n)\n"

// fakeRepo is a repository whose go tool is a shell script.
func fakeRepo(t *testing.T, mod, script string) string {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{"tools/lab/go.mod": mod, "tools/lab/k8s-1.98.mod": "require k8s.io/kubernetes v1.98.7\n",
		"tools/sidecars/go.mod": "module sidecars\n", "tools/kustomize/go.mod": "module kustomize\n",
		"tools/coredns/go.mod": "module coredns\n", "tools/conformance/suite/go.mod": "module suite\n",
		"tools/lab/ironcore/go.mod": "module ironcore\n",
		"path/go":                   "#!/bin/sh\n" + script}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(root, "path")+":"+os.Getenv("PATH"))
	return root
}

func TestBuildCallsTheGoTool(t *testing.T) {
	t.Setenv("GOOS", "plan9")
	root := fakeRepo(t, goMod, `for a; do echo "$a"; done >args; env >env; pwd >dir`)
	const version = "-X k8s.io/component-base/version.gitVersion=v1.99.3-rc.1 "
	for program, tt := range map[string]struct {
		build               func(context.Context, string, func(string)) (string, error)
		module, pkg, linked string
	}{
		"lab":       {Build, "lab", ".", version},
		"agents":    {BuildAgents, "lab", "./agents", "version.gitMinor=99 "},
		"sidecars/": {BuildSidecars, "sidecars", "tool", "-ldflags\n-s -w\n"},
		"suite/":    {BuildSuite, "conformance/suite", "tool", "-ldflags\n-s -w\n"},
		"ironcore/": {BuildIronCore, "lab/ironcore", "tool", "-ldflags\n-s -w\n"},
		"coredns":   {BuildCoreDNS, "coredns", ".", "-ldflags\n-s -w\n"},
		"kustomize": {BuildKustomize, "kustomize", "tool", "-ldflags\n-s -w\n"},
	} {
		path, err := tt.build(t.Context(), root, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := root + "/bin/" + program; path != want {
			t.Errorf("got path %q, want %q", path, want)
		}
		calledTheGoTool(t, filepath.Join(root, "tools", tt.module), "-o\n"+path+"\n"+tt.pkg+"\n", tt.linked)
	}
}

// TestBuildOfAnotherMinor: the environment names the minor version of Kubernetes.
func TestBuildOfAnotherMinor(t *testing.T) {
	root := fakeRepo(t, goMod, `for a; do echo "$a"; done >args; env >env; pwd >dir`)
	for _, tt := range []struct{ minor, program, option, version string }{
		{"1.98", "lab-1.98", "-modfile=k8s-1.98.mod\n", "v1.98.7"},
		{"1.99", "lab", "build\n", "v1.99.3-rc.1"},
	} {
		t.Setenv(repo.KubernetesEnv, tt.minor)
		path, err := Build(t.Context(), root, nil)
		if want := root + "/bin/" + tt.program; path != want || err != nil {
			t.Errorf("%s: path %q and error %v, want %q", tt.minor, path, err, want)
		}
		calledTheGoTool(t, filepath.Join(root, "tools/lab"), tt.option, "-o\n"+path+"\n.\n",
			"-X k8s.io/component-base/version.gitVersion="+tt.version+" ")
	}
	agents, err := BuildAgents(t.Context(), root, nil)
	if agents != root+"/bin/agents" || err != nil {
		t.Errorf("the agents: %q and %v", agents, err)
	}
	t.Setenv(repo.KubernetesEnv, "1.2")
	path, err := Build(t.Context(), root, nil)
	if err == nil || !strings.Contains(err.Error(), `LAB_KUBERNETES is "1.2": use a `) {
		t.Errorf("a minor version that there is no file of: %q and %v", path, err)
	}
}

// calledTheGoTool checks how the fake go tool was called in the folder of a module, beside these arguments.
func calledTheGoTool(t *testing.T, module string, arguments ...string) {
	t.Helper()
	for file, wants := range map[string][]string{
		"args": append(arguments, "build\n", "-trimpath\n", repo.CompilerFlags()[0]+"\n"),
		"env":  {"GOWORK=off\n", "CGO_ENABLED=0\n", "GOOS=\n", "GOARCH=\n"},
		"dir":  {module + "\n"},
	} {
		got, err := os.ReadFile(filepath.Join(module, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(got), want) {
				t.Errorf("%s lacks %q:\n%s", file, want, got)
			}
		}
	}
}

func TestBuildErrors(t *testing.T) {
	noisy := `echo k8s.io/kubernetes/pkg; echo "# lab"; echo "./main.go:3:1: syntax error"; for i in 1 2 3 4 5 6 7 8 9; do echo "pkg/$i"; done; exit 1`
	tests := []struct {
		name, mod, script string
		want, unwanted    string
	}{
		{"compiler message", goMod, noisy, "the go tool says:\n  # lab\n  ./main.go:3:1: syntax error", "pkg/9"},
		{"no message", goMod, "exit 7", "go build (pid ", "the go tool says"},
		{"no Kubernetes", "module lab\n", "exit 0", "requires no k8s.io/kubernetes", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path, err := Build(t.Context(), fakeRepo(t, tt.mod, tt.script), nil)
			if err == nil || path != "" {
				t.Fatalf("got path %q and error %v, want an error alone", path, err)
			}
			if !strings.HasPrefix(err.Error(), "building the lab: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error lacks %q: %v", tt.want, err)
			}
			if tt.unwanted != "" && strings.Contains(err.Error(), tt.unwanted) {
				t.Errorf("the error has %q: %v", tt.unwanted, err)
			}
		})
	}
}

func TestBuildWithoutGo(t *testing.T) {
	root := fakeRepo(t, goMod, "")
	t.Setenv("PATH", t.TempDir())
	_, err := Build(t.Context(), root, nil)
	if err == nil || !strings.Contains(err.Error(), "go.dev") {
		t.Errorf("got %v, want an error that says where to get Go", err)
	}
}

func TestBuildOutsideTheRepository(t *testing.T) {
	_, err := Build(t.Context(), t.TempDir(), nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want an error about the missing go.mod", err)
	}
}

// listener closes found when a line of the progress contains words.
type listener struct {
	words string
	once  sync.Once
	found chan struct{}
}

func listenFor(words string) *listener {
	return &listener{words: words, found: make(chan struct{})}
}

func (l *listener) check(line string) {
	if strings.Contains(line, l.words) {
		l.once.Do(func() { close(l.found) })
	}
}

// A build that takes long says so; the fake one ends after its progress was reported.
func TestBuildReportsProgress(t *testing.T) {
	root := fakeRepo(t, goMod, "echo k8s.io/a; echo k8s.io/b; read line <../../fifo")
	fifo := filepath.Join(root, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	l := listenFor("building Kubernetes, once: 2 packages so far, ")
	b := builder{root: root, name: "Kubernetes", module: "lab", program: "lab", pkg: ".", progress: l.check,
		first: 10 * time.Millisecond, every: 10 * time.Millisecond}
	go func() {
		<-l.found
		_ = os.WriteFile(fifo, []byte("go on\n"), 0) // blocks until the build reads
	}()
	if _, err := b.build(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestQuickBuildIsSilent(t *testing.T) {
	root := fakeRepo(t, goMod, "echo k8s.io/a")
	_, err := Build(t.Context(), root, func(line string) { t.Errorf("it said %q", line) })
	if err != nil {
		t.Fatal(err)
	}
}

func TestBuildIsInterrupted(t *testing.T) {
	root := fakeRepo(t, goMod, "echo started; read line <../../fifo")
	if err := unix.Mkfifo(filepath.Join(root, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := builder{root: root, module: "lab", program: "lab", pkg: ".", progress: func(string) {
		cancel()
	}, first: 50 * time.Millisecond, every: time.Hour}
	if _, err := b.build(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// Two builds at once: the second waits and says so until the first has ended.
func TestBuildsWaitForEachOther(t *testing.T) {
	root := fakeRepo(t, goMod, "exit 0")
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := listenFor("waiting for another build of the lab")
	b := builder{root: root, name: "Kubernetes", module: "lab", program: "lab", pkg: ".", progress: l.check,
		first: 20 * time.Millisecond, every: 20 * time.Millisecond}
	unlock, err := b.lock(t.Context(), filepath.Join(root, "bin", ".lab.lock"))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-l.found
		unlock()
	}()
	if _, err := b.build(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestLockOfAnotherUser locks a file that this user may only read.
func TestLockOfAnotherUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, nil, 0o444); err != nil {
		t.Fatal(err)
	}
	b := builder{progress: func(string) {}, first: time.Hour, every: time.Hour}
	unlock, err := b.lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestLockEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	b := builder{progress: func(string) {}, first: time.Hour, every: time.Hour}
	unlock, err := b.lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
}

func TestBuildLog(t *testing.T) {
	tests := []struct {
		name   string
		writes []string
		want   string
	}{
		{"nothing yet", nil, "preparing Kubernetes, 1m5s"},
		{"packages", []string{"k8s.io/api/core/v1\nfmt\n"}, ": 2 packages so far"},
		{"a line in pieces", []string{"k8s.io/", "api", "\nf", "mt\n"}, ": 2 packages so far"},
		{"messages are no packages", []string{"# fmt\nx.go:1: bad\n\nfmt\n"}, ": 1 packages so far"},
		{"downloads", []string{"go: downloading k8s.io/api v0.1.0\n"},
			"downloading Kubernetes, once: 1 modules so far"},
		{"downloads are over", []string{"go: downloading k8s.io/api v0.1.0\nfmt\n"}, ": 1 packages so far"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := buildLog{name: "Kubernetes"}
			for _, w := range tt.writes {
				if n, err := l.Write([]byte(w)); n != len(w) || err != nil {
					t.Errorf("Write(%q) = %d, %v", w, n, err)
				}
			}
			if got := l.summary(65*time.Second + 300*time.Millisecond); !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestBuildLogIsBounded(t *testing.T) {
	var l buildLog
	for range 10 * messageLimit {
		_, _ = l.Write([]byte("x.go:1: bad\n"))
	}
	if got := strings.Count(l.explain(t.Context(), nil).Error(), "bad"); got != messageLimit {
		t.Errorf("the error repeats %d messages, want %d", got, messageLimit)
	}
}
