// Command generate writes every generated file of the repository anew; it is what `make generate` calls.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/thalassa-cloud/thalassa-ccm/tools/generate"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func main() {
	os.Exit(program.Run("generate", os.Stderr, run))
}

// run writes the files and says which changed.
func run(ctx context.Context) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	generators := generate.All()
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
