// Command bench measures how long things take on this machine, and what they cost; it is what `make bench` calls.
package main

import (
	"context"
	"flag"
	"os"

	"github.com/thalassa-cloud/thalassa-ccm/tools/bench"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func main() {
	each := flag.String("time", "", "how long each benchmark runs, or how often: 1x")
	large := flag.Bool("large", false, "run also the benchmarks of the largest clusters, which take many minutes")
	flag.Parse()
	os.Exit(program.Run("bench", os.Stderr, func(ctx context.Context) error {
		root, err := repo.Root()
		if err != nil {
			return err
		}
		return bench.Run(ctx, root, *each, *large, os.Stdout)
	}))
}
