package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
	"github.com/thalassa-cloud/thalassa-ccm/tools/testrun/share"
)

const (
	// firstReport is how long a build may take in silence: one that has nothing to do is faster.
	firstReport = 3 * time.Second
	// reportEvery is how often a build says how far it is.
	reportEvery = 10 * time.Second
)

// Build compiles tools/lab of the repository at root, the control plane, into bin/lab there and returns the path. With
// another minor version of Kubernetes in the environment ([repo.KubernetesEnv]), that is bin/lab-1.34. The first build
// on a machine compiles Kubernetes, which takes minutes, and reports to progress at least every 15 seconds; a current
// binary takes about a second. Processes that build at the same time wait for each other. The error shows what the go
// tool said. progress may be nil.
func Build(ctx context.Context, root string, progress func(string)) (path string, err error) {
	return builder{name: "Kubernetes", module: "lab", program: "lab", pkg: ".", made: true}.run(ctx, root, progress)
}

// BuildAgents does the same for what runs on nodes, kubelet and kube-proxy: it compiles tools/lab/agents into
// bin/agents.
func BuildAgents(ctx context.Context, root string, progress func(string)) (path string, err error) {
	return builder{name: "the kubelet and kube-proxy", module: "lab", program: "agents", pkg: "./agents"}.
		run(ctx, root, progress)
}

// BuildSidecars does the same for the programs that drive CSI drivers: it compiles those that tools/sidecars pins into
// the folder bin/sidecars, whose path it returns.
func BuildSidecars(ctx context.Context, root string, progress func(string)) (path string, err error) {
	return builder{name: "the CSI sidecars", module: "sidecars", program: "sidecars/", pkg: "tool", made: true}.
		run(ctx, root, progress)
}

// BuildSuite does the same for Kubernetes' own tests: it compiles what tools/conformance/suite pins, which is the tests
// and what they need, into the folder bin/suite, whose path it returns.
func BuildSuite(ctx context.Context, root string, progress func(string)) (path string, err error) {
	return builder{name: "Kubernetes' own tests", module: "conformance/suite", program: "suite/", pkg: "tool"}.
		run(ctx, root, progress)
}

// BuildCoreDNS does the same for the DNS of clusters: it compiles tools/coredns into bin/coredns.
func BuildCoreDNS(ctx context.Context, root string, progress func(string)) (path string, err error) {
	return builder{name: "CoreDNS", module: "coredns", program: "coredns", pkg: "."}.run(ctx, root, progress)
}

// BuildIronCore does the same for the API server and the controller manager of IronCore: it compiles those that
// tools/lab/ironcore pins into the folder bin/ironcore, whose path it returns.
func BuildIronCore(ctx context.Context, root string, progress func(string)) (path string, err error) {
	return builder{name: "IronCore", module: "lab/ironcore", program: "ironcore/", pkg: "tool", made: true}.
		run(ctx, root, progress)
}

// BuildKustomize does the same for the oldest kustomize that overlays support: it compiles the one that tools/kustomize
// pins into bin/kustomize.
func BuildKustomize(ctx context.Context, root string, progress func(string)) (path string, err error) {
	return builder{name: "kustomize", module: "kustomize", program: "kustomize", pkg: "tool"}.run(ctx, root, progress)
}

// run builds in the repository at root, and says in an error what was being built.
func (b builder) run(ctx context.Context, root string, progress func(string)) (path string, err error) {
	b.root, b.progress, b.first, b.every = root, progress, firstReport, reportEvery
	if b.progress == nil {
		b.progress = func(string) {}
	}
	if b.module == "lab" {
		err = b.chooseKubernetes()
	}
	switch {
	case err != nil:
	case b.made && share.InRun(root):
		_, err = share.Make(ctx, "bin/"+strings.TrimSuffix(b.program, "/")) // once in a run
		path = b.target()
	default:
		path, err = b.build(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("building the %s: %w", b.module, err)
	}
	return path, nil
}

// builder is one build; the intervals are fields for the sake of tests.
type builder struct {
	root, name string // name is what is built, for people
	// program is what is built into bin, of the package pkg of a module in tools. With a slash at the end, it is a
	// folder of programs. The package "tool" means all packages in the tool lines of go.mod.
	module, program, pkg string
	options              []string // of go build, beside those of every build
	stamp                string   // flags of the linker
	made                 bool     // by make, too, and so by the run of tests
	progress             func(string)
	first, every         time.Duration
}

// target is the path of what is built.
func (b builder) target() string { return filepath.Join(b.root, "bin") + "/" + b.program }

func (b builder) build(ctx context.Context) (string, error) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("%w; install Go from https://go.dev/doc/install", err)
	}
	bin := filepath.Join(b.root, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", fmt.Errorf("making the folder for the binary: %w", err)
	}
	unlock, err := b.lock(ctx, filepath.Join(bin, "."+path.Base(b.module)+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	target := b.target()
	return target, b.compile(ctx, process.Spec{
		Name: "go build",
		Path: goTool,
		Args: slices.Concat([]string{"build", "-v", "-trimpath", "-buildvcs=false"}, b.options, repo.CompilerFlags(),
			[]string{"-ldflags", "-s -w" + b.stamp, "-o", target, b.pkg}),
		Dir: filepath.Join(b.root, "tools", b.module),
		// Whatever the caller builds for, the lab runs here.
		Env: append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS=", "GOARCH="),
	})
}

// compile runs the go tool and reports its progress until it ends.
func (b builder) compile(ctx context.Context, s process.Spec) error {
	seen := buildLog{name: b.name}
	s.Log = &seen
	p, err := process.Start(ctx, s)
	if err != nil {
		return err
	}
	b.reportUntil(p.Done(), seen.summary)
	if err := p.Err(); err != nil {
		return seen.explain(ctx, err)
	}
	return nil
}

// reportUntil hands what summary says and the time it took to progress until done.
func (b builder) reportUntil(done <-chan struct{}, summary func(time.Duration) string) {
	began := time.Now()
	timer := time.NewTimer(b.first)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
			b.progress(summary(time.Since(began)))
			timer.Reset(b.every)
		}
	}
}
