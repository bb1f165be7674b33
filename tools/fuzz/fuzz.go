// Package fuzz lets every fuzz target of the repository try new inputs for a while. `go test` alone runs them with the inputs
// that are kept beside them, and `go test -fuzz` takes one target at a time.
package fuzz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// grace is what the go command gets to end after an interrupt.
const grace = 20 * time.Second

// Target is one fuzz function.
type Target struct {
	Package string // its folder, relative to the root, as in "./src/config"
	Name    string // "FuzzDecode"
}

// String is how a person would name it.
func (t Target) String() string { return t.Package + " " + t.Name }

// Targets finds the fuzz targets below the folders of root, in order.
func Targets(root string, folders ...string) ([]Target, error) {
	var targets []Target
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "testdata":
				return filepath.SkipDir
			case !strings.HasSuffix(path, "_test.go"):
				return nil
			}
			found, err := targetsIn(root, path)
			targets = append(targets, found...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("looking for fuzz targets: %w", err)
		}
	}
	return targets, nil
}

func targetsIn(root, path string) ([]Target, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var targets []Target
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if ok && function.Recv == nil && strings.HasPrefix(function.Name.Name, "Fuzz") {
			targets = append(targets, Target{Package: "./" + filepath.ToSlash(folder), Name: function.Name.Name})
		}
	}
	return targets, nil
}

// run runs one target and returns what it printed.
func run(ctx context.Context, root string, target Target, o Options) ([]byte, error) {
	if o.Guided {
		return command(ctx, root, "go", "test", "-run=^$", "-fuzz=^"+target.Name+"$", "-fuzztime="+o.Each, target.Package)
	}
	folder, err := os.MkdirTemp("", "fuzz")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "fuzz.test")
	if output, err := command(ctx, root, "go", "test", "-c", "-o", binary, target.Package); err != nil {
		return output, err
	}
	return command(ctx, filepath.Join(root, target.Package), binary, "-test.run=^$", "-test.fuzz=^"+target.Name+"$",
		"-test.fuzztime="+o.Each, "-test.fuzzcachedir="+filepath.Join(folder, "inputs"))
}

// timeUp says that a target only did not notice the end of its time in time, which Go takes for a failure of the target.
func timeUp(output []byte) bool {
	return bytes.Contains(output, []byte("\n    context deadline exceeded\n")) && !bytes.Contains(output, []byte("Failing input"))
}

// command runs a program in a folder and returns what it printed.
func command(ctx context.Context, folder, name string, arguments ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Dir, cmd.WaitDelay = folder, grace
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.CombinedOutput()
}

// ErrFailed says that an input was found that makes a target fail; go wrote it below the package's testdata/fuzz.
var ErrFailed = errors.New("fuzzing found failures")

// Options say how targets are run.
type Options struct {
	// Each is how long one target tries inputs ("10s"), or how many ("500x"), as `go test -fuzztime` takes it.
	Each string
	// Guided builds everything a target needs for it anew, which for Kubernetes' libraries takes minutes, so that inputs are
	// chosen by the code they reach; without it they are chosen by chance.
	Guided bool
}

// Run lets one target after the other try inputs, in the workspace at root, and reports each to out. Its
// error is ErrFailed, or why there was nothing to run.
func Run(ctx context.Context, root string, targets []Target, o Options, out io.Writer) error {
	if len(targets) == 0 {
		return errors.New("there are no fuzz targets")
	}
	var failed []string
	for _, target := range targets {
		began := time.Now()
		output, err := run(ctx, root, target, o)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && !timeUp(output) {
			failed = append(failed, target.String())
			fmt.Fprintf(out, "FAIL  %s: %v\n%s\n", target, err, output)
			continue
		}
		fmt.Fprintf(out, "ok    %s  %.1fs\n", target, time.Since(began).Seconds())
	}
	if len(failed) > 0 {
		return fmt.Errorf("%w: %s", ErrFailed, strings.Join(failed, ", "))
	}
	return nil
}
