// Command lives runs random fault tests of clusters with new seeds. `make lives` calls it.
package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/lives"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func main() {
	var o lives.Options
	flag.DurationVar(&o.Time, "time", time.Minute, "how long new lives are begun")
	flag.Uint64Var(&o.Seed, "seed", 0, "the first seed; 0 draws one")
	flag.Parse()
	os.Exit(program.Run("lives", os.Stderr, func(ctx context.Context) error { return run(ctx, o) }))
}

func run(ctx context.Context, o lives.Options) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	o.Root, o.Package = root, "./"+filepath.Join("src", "thalassa")
	return lives.Run(ctx, o, os.Stdout)
}
