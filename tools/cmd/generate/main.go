// Command generate writes every generated file of the repository anew; it is what `make generate` calls. With -check it
// changes nothing and fails if a file would change.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/tools/generate"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func main() {
	check := flag.Bool("check", false, "change nothing, and fail if a file would change")
	flag.Parse()
	os.Exit(program.Run("generate", os.Stderr, func(ctx context.Context) error {
		root, err := repo.Root()
		if err != nil {
			return err
		}
		return run(ctx, root, *check)
	}))
}

// run writes or checks the files.
func run(ctx context.Context, root string, check bool) error {
	generators := generate.All()
	if check {
		stale, err := generate.Stale(ctx, root, generators)
		if err == nil && len(stale) > 0 {
			err = fmt.Errorf("these files are stale, make generate writes them:\n%s", strings.Join(stale, "\n"))
		}
		return err
	}
	changed, err := generate.Write(ctx, root, generators)
	if err != nil {
		return err
	}
	for _, p := range changed {
		fmt.Println("wrote", p)
	}
	fmt.Printf("generators: %d, files changed: %d\n", len(generators), len(changed))
	return nil
}
