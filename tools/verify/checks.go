package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/tools/generate"
)

// lab is the module that links Kubernetes itself.
const lab = "tools/lab"

// linter is the program that the module tools/lint pins.
const linter = "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"

// Format checks that every Go file is as gofmt leaves it.
func Format(_ context.Context, root string) error {
	var wrong []string
	err := walk(root, func(p string) error {
		if filepath.Ext(p) != ".go" {
			return nil
		}
		have, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			return fmt.Errorf("reading source: %w", err)
		}
		want, err := format.Source(have)
		if err != nil {
			return fmt.Errorf("parsing %s: %w", p, err)
		}
		if !bytes.Equal(have, want) {
			wrong = append(wrong, p)
		}
		return nil
	})
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("not formatted, `make fmt` mends it:\n%s", strings.Join(wrong, "\n"))
	}
	return err
}

// Generated checks that `make generate` would change nothing.
func Generated(ctx context.Context, root string) error {
	stale, err := generate.Stale(ctx, root, generate.All())
	if err == nil && len(stale) > 0 {
		err = fmt.Errorf("stale, `make generate` mends it:\n%s", strings.Join(stale, "\n"))
	}
	return err
}

// Rules runs the tests that hold the repository's own rules.
func Rules(ctx context.Context, root string) error {
	_, err := command{root, nil, []string{"go", "test", "-trimpath", "-count=1", "./ci/repository/..."}}.run(ctx)
	return err
}

// Vet runs go vet over the workspace and over every module outside of it that has packages.
func Vet(ctx context.Context, root string) error {
	patterns, err := patterns(ctx, root)
	if err != nil {
		return err
	}
	vet := []string{"go", "vet", "-trimpath", "-tags=e2e"}
	_, err = command{root, nil, append(vet, patterns...)}.run(ctx)
	_, labErr := command{filepath.Join(root, lab), []string{alone}, append(vet, "./...")}.run(ctx)
	return errors.Join(err, labErr)
}

// patterns selects all packages of the workspace.
func patterns(ctx context.Context, root string) ([]string, error) {
	dirs, err := workspace(ctx, root)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		out = append(out, "./"+filepath.ToSlash(dir)+"/...")
	}
	return out, nil
}

// Lint builds the pinned linters and runs them over the workspace and the lab.
func Lint(ctx context.Context, root string) error {
	binary := filepath.Join(root, "bin", "golangci-lint")
	build := command{filepath.Join(root, "tools", "lint"), []string{alone}, []string{"go", "build", "-trimpath", "-buildvcs=false", "-o", binary, linter}}
	if _, err := build.run(ctx); err != nil {
		return err
	}
	patterns, err := patterns(ctx, root)
	if err != nil {
		return err
	}
	run := []string{binary, "run", "--allow-parallel-runners", "--show-stats=false", "--config=" + filepath.Join(root, ".golangci.yaml")}
	_, err = command{root, lintEnv(), append(slices.Clone(run), patterns...)}.run(ctx)
	// These two look into every dependency, and with all of Kubernetes below it that takes 10 GB for one small file.
	labRun := append(run, "--disable=staticcheck,exhaustive", "./...")
	_, labErr := command{filepath.Join(root, lab), append(lintEnv(), alone), labRun}.run(ctx)
	return errors.Join(err, labErr)
}

// lintEnv lets the linters share the build cache of `make build`, and bounds their memory: a first run takes more
// than 5 GB otherwise.
func lintEnv() []string {
	env := []string{"GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath")}
	if os.Getenv("GOMEMLIMIT") == "" {
		env = append(env, "GOMEMLIMIT=3GiB")
	}
	return env
}
