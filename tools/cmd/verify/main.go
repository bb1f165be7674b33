// Command verify checks that a change is fit to be merged; it is what `make verify` and `make lint` call.
package main

import (
	"context"
	"flag"
	"os"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
	"github.com/thalassa-cloud/thalassa-ccm/tools/verify"
)

func main() {
	only := flag.String("only", "", "names of the checks to run, separated by commas; all without it")
	flag.Parse()
	os.Exit(program.Run("verify", os.Stderr, func(ctx context.Context) error { return run(ctx, *only) }))
}

// run runs the named checks.
func run(ctx context.Context, only string) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	names := strings.FieldsFunc(only, func(r rune) bool { return r == ',' })
	checks, err := verify.Select(verify.All(), names)
	if err != nil {
		return err
	}
	return verify.Run(ctx, root, checks, os.Stdout)
}
