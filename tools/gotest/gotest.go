// Package gotest runs `go test` for people: one line per package while it runs, the whole output of what
// failed and of nothing else, a line of progress while a long build prints nothing, and a count at the end.
//
//	result, err := gotest.Run(ctx, gotest.Options{Dir: root, Packages: []string{"./..."}, Out: os.Stdout})
package gotest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

const (
	// packageTimeout is for one test binary. The slowest takes minutes on two idle cores, and several times that on a
	// busy machine.
	packageTimeout = 40 * time.Minute
	// quiet is how long nothing may be printed before a line says that the run goes on.
	quiet = 30 * time.Second
	// grace is what the go command gets to end its tests after an interrupt: those in a real cluster collect for 30 s
	// what there is to read. ci/run.sh ends a part by force after a minute.
	grace = 50 * time.Second
)

// Options say what to test and where to report.
type Options struct {
	// Dir is the folder to run in: the root of a module or workspace.
	Dir string
	// Packages are patterns as the go command takes them.
	Packages []string
	// Race says what is tested with the race detector; it needs a C compiler.
	Race Detector
	// Root makes tests fail that need root or programs of the distribution where these are missing. Without it they are
	// skipped.
	Root bool
	// Args are further flags of `go test`; they win over ours.
	Args []string
	// Out receives the report.
	Out io.Writer
}

// Tally counts tests, each subtest as one of its own. A package that fails without a failing test (it does not
// build, panics, exceeds its time) counts as one failed test.
// NeedRoot counts the tests that roottest.Need skipped, Skipped all others that were skipped.
type Tally struct{ Passed, Failed, Skipped, NeedRoot int }

// String is the closing line of a run.
func (t Tally) String() string {
	line := fmt.Sprintf("%d passed, %d failed", t.Passed, t.Failed)
	if t.Skipped > 0 {
		line += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	if t.NeedRoot > 0 {
		line += fmt.Sprintf(", %d need root (make test-root)", t.NeedRoot)
	}
	return line
}

// ErrFailed says that the tests ran and some failed; the report says which.
var ErrFailed = errors.New("tests failed")

// Result is what a run counted, and how long its packages took.
type Result struct {
	Tally
	// Times are those of the packages that have tests, slowest first.
	Times []PackageTime
}

// PackageTime is how long the tests of one package took, without building them.
type PackageTime struct {
	Package string
	Race    bool
	Seconds float64
}

// String is the line of a table.
func (p PackageTime) String() string {
	line := fmt.Sprintf("%7.1fs  %s", p.Seconds, p.Package)
	if p.Race {
		line += " (race detector)"
	}
	return line
}

// Run tests the packages and reports while it does. Its error is ErrFailed, or why the tests could not run.
func Run(ctx context.Context, o Options) (Result, error) {
	groups, err := o.groups(ctx)
	if err != nil {
		return Result{}, err
	}
	r := newReport(o.Out)
	var failed bool
	for _, g := range groups {
		if len(groups) > 1 {
			r.printf("%s\n", g)
		}
		r.race = g.race
		err := o.run(ctx, r, g)
		var exit *exec.ExitError
		failed = failed || errors.As(err, &exit)
		if err != nil && (exit == nil || ctx.Err() != nil) {
			return r.finish(failed), err
		}
	}
	result := r.finish(failed)
	if result.Failed > 0 {
		return result, ErrFailed
	}
	return result, nil
}

// run runs one go command to its end. An *exec.ExitError is about tests, or about what the report shows already.
func (o Options) run(ctx context.Context, r *report, g group) error {
	cmd := exec.CommandContext(ctx, "go", o.arguments(g)...)
	cmd.Dir, cmd.Stderr = o.Dir, o.Out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	cmd.Env = o.environment(g)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting go test: %w", err)
	}
	readErr := r.follow(stdout, quiet)
	waitErr := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("testing: %w", context.Cause(ctx))
	case readErr != nil:
		return fmt.Errorf("reading the results of go test: %w", readErr)
	}
	return waitErr
}

// environment is that of the go command and of the tests.
func (o Options) environment(g group) []string {
	env := os.Environ()
	if g.race {
		env = append(env, "CGO_ENABLED=1")
	}
	if o.Root {
		env = append(env, roottest.Variable+"=1")
	}
	return env
}

// arguments is the command line of the go command.
func (o Options) arguments(g group) []string {
	// One package more at a time than there are cores: many wait for a control plane most of the time.
	parallel := "-p=" + strconv.Itoa(runtime.NumCPU()+1)
	args := append([]string{"test", "-json"}, repo.TestFlags()...)
	args = append(args, parallel, "-timeout="+packageTimeout.String())
	if g.race {
		args = append(args, "-race")
	}
	return append(append(args, o.Args...), g.packages...)
}
