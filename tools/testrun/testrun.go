// Package testrun runs `go test` for people: one line per package while it runs, the output of what failed and of
// nothing else, and a count at the end.
//
//	result, err := testrun.Run(ctx, testrun.Options{Root: root, Packages: []string{"./..."}, Out: os.Stdout})
//
// A result of an earlier run is reused if nothing has changed that the test depends on: Go compares the code, and
// files below the module. Hashes of all other files are variables of the environment (package checkout). Tests share
// one control plane and the programs that they start (Server, Make, Borrow).
package testrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gotest.tools/gotestsum/testjson"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

const (
	// packageTimeout is for one test binary. It is the same in both tiers: a result is reused only with the same
	// flags.
	packageTimeout = 40 * time.Minute
	// grace is what the go command gets to end its tests after an interrupt: those in a real cluster collect for 30 s
	// what there is to read. ci/run.sh ends a stage by force after a minute.
	grace = 50 * time.Second
)

// ErrNothing is the error of a run whose packages are none, or are such that only another run tests.
var ErrNothing = errors.New("there is nothing to test: set PACKAGES to packages of this tier")

// ErrFailed is the error of a run in which tests failed, or were skipped for another reason than a permitted one. The
// report names them.
var ErrFailed = errors.New("tests failed")

// Options say what to test and where to report.
type Options struct {
	// Root is the root of the repository.
	Root string
	// Packages are patterns as the go command takes them.
	Packages []string
	// Race says what is tested with the race detector; it needs a C compiler.
	Race Detector
	// NeedRoot makes tests fail that need root or programs of the distribution where these are missing. Otherwise
	// they are skipped.
	NeedRoot bool
	// Args are further flags of `go test`; they win over ours.
	Args []string
	// Out receives the report.
	Out io.Writer
}

// Run tests the packages. The error is ErrFailed, ErrNothing, or why the tests could not run.
func Run(ctx context.Context, o Options) (result Result, err error) {
	server, err := Serve(ctx, o.Root, o.Out) // waits for another run, in which files may change
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if err := settle(ctx, o.Root); err != nil {
		_, _ = fmt.Fprintln(o.Out, "times of files stay as they are, so fewer results are reused:", err)
	}
	begin, err := hashes(o.Root, false)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, server.noteChanges(begin)) }()
	variables, err := server.distrust(begin)
	if err != nil {
		return Result{}, err
	}
	variables = append(variables, fmt.Sprintf("%s=%d", roottest.UserVariable, os.Geteuid()))
	if o.NeedRoot {
		variables = append(variables, roottest.Variable+"=1")
	}
	parts, err := o.plan(ctx)
	if err != nil {
		return Result{}, err
	}
	if len(parts.running)+len(parts.waiting) == 0 {
		return Result{}, ErrNothing
	}
	variables = append(variables, server.Env())
	progress := newProgress(o.Out)
	var all []tested
	var failed bool
	var mu sync.Mutex
	run := func(groups []group) error {
		for _, g := range groups {
			execution, err := o.test(ctx, g, variables, progress)
			if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
				return err
			}
			mu.Lock()
			all, failed = append(all, tested{execution, g}), failed || err != nil
			mu.Unlock()
		}
		return nil
	}
	waiting := make(chan error)
	go func() { waiting <- run(parts.waiting) }()
	if err := errors.Join(run(parts.running), <-waiting); err != nil {
		return Result{}, err
	}
	return o.report(all, failed)
}

// tested is what a group's tests said.
type tested struct {
	*testjson.Execution
	group group
}

// test runs one go command to its end. An *exec.ExitError is about tests, or about what the report has already.
func (o Options) test(ctx context.Context, g group, variables []string, progress *progress) (
	*testjson.Execution, error,
) {
	command := exec.CommandContext(ctx, "go", o.arguments(g)...)
	command.Dir, command.Env = o.Root, append(os.Environ(), variables...)
	if g.race {
		command.Env = append(command.Env, "CGO_ENABLED=1", tier.Variable+"=")
	}
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = grace
	stdout, outErr := command.StdoutPipe()
	stderr, errErr := command.StderrPipe()
	if err := cmp.Or(outErr, errErr); err != nil {
		return nil, fmt.Errorf("starting go test: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting go test: %w", err)
	}
	execution, scanErr := testjson.ScanTestOutput(testjson.ScanConfig{Stdout: stdout, Stderr: stderr, Handler: progress,
		IgnoreNonJSONOutputLines: true})
	waitErr := command.Wait()
	switch {
	case ctx.Err() != nil:
		return execution, fmt.Errorf("testing: %w", context.Cause(ctx))
	case scanErr != nil:
		return execution, fmt.Errorf("reading the results of go test: %w", scanErr)
	}
	return execution, waitErr
}

// arguments is the command line of the go command. Symbols for debuggers are left out: they take a quarter of the time
// of linking, which takes longer than most tests.
func (o Options) arguments(g group) []string {
	arguments := []string{"test", "-json", "-trimpath", "-buildvcs=false", "-vet=off", "-ldflags=-s",
		"-p=" + strconv.Itoa(runtime.NumCPU()), "-timeout=" + packageTimeout.String()}
	if g.race {
		arguments = append(arguments, "-race")
	}
	return slices.Concat(arguments, o.Args, g.packages)
}

// report prints what failed, and counts.
func (o Options) report(all []tested, failed bool) (Result, error) {
	var result Result
	for _, one := range all {
		result.add(one)
		if len(one.Failed()) > 0 || len(one.Errors()) > 0 {
			testjson.PrintSummary(o.Out, one.Execution,
				testjson.SummarizeFailed|testjson.SummarizeErrors|testjson.SummarizeOutput)
		}
	}
	slices.SortStableFunc(result.Times, func(a, b PackageTime) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	for _, skip := range result.unexpected {
		_, _ = fmt.Fprintln(o.Out, "skipped, and not by roottest.Need or tier.NeedFull:", skip)
	}
	if failed && result.Failed == 0 {
		result.Failed = 1 // what the go command could not build
	}
	_, _ = fmt.Fprintln(o.Out, result.String())
	if failed || result.Failed > 0 || len(result.unexpected) > 0 {
		return result, ErrFailed
	}
	return result, nil
}

// Result is what a run counted. Each subtest counts as a test of its own. A package that fails without a failing test
// counts as one failed test.
type Result struct {
	Passed, Failed int
	// NeedRoot and NeedFull are the tests that roottest.Need and tier.NeedFull skipped.
	NeedRoot, NeedFull int
	// Times are those of the packages that ran, slowest first.
	Times []PackageTime

	unexpected []string // tests that were skipped for another reason
}

// PackageTime is how long the tests of one package took, without building them.
type PackageTime struct {
	Package string
	Elapsed time.Duration
}

// String is the line of a table.
func (p PackageTime) String() string {
	return fmt.Sprintf("%7.1fs  %s", p.Elapsed.Seconds(), p.Package)
}

// String is the closing line of a run.
func (r Result) String() string {
	counts := []string{fmt.Sprintf("%d passed", r.Passed), fmt.Sprintf("%d failed", r.Failed)}
	for _, reason := range []struct {
		count int
		text  string
	}{
		{len(r.unexpected), "skipped"}, {r.NeedRoot, "need root (make test-root)"},
		{r.NeedFull, "need the full tier (make test-full)"},
	} {
		if reason.count > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", reason.count, reason.text))
		}
	}
	return strings.Join(counts, ", ")
}

// add counts tests by their results, and skipped ones by their reasons. With the race detector, the full tier skips
// what it tests without it.
func (r *Result) add(t tested) {
	r.Failed += len(t.Failed())
	for _, name := range t.Packages() {
		in := t.Package(name)
		r.Passed += len(in.Passed)
		if in.Total > 0 {
			r.Times = append(r.Times, PackageTime{name, in.Elapsed()})
		}
		for _, one := range in.Skipped {
			switch output := strings.Join(in.OutputLines(one), ""); {
			case strings.Contains(output, ": "+tier.Reason) && t.group.race && tier.Full():
			case strings.Contains(output, ": "+roottest.Reason):
				r.NeedRoot++
			case strings.Contains(output, ": "+tier.Reason):
				r.NeedFull++
			default:
				r.unexpected = append(r.unexpected, name+" "+one.Test.Name())
			}
		}
	}
}
