// Command fuzz lets every fuzz target try new inputs for a while; it is what `make fuzz` calls.
package main

import (
	"context"
	"flag"
	"os"

	"github.com/thalassa-cloud/thalassa-ccm/tools/fuzz"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func main() {
	var o fuzz.Options
	flag.StringVar(&o.Each, "time", "10s", "how long each target tries inputs, or how many: 500x")
	flag.BoolVar(&o.Guided, "guided", true, "choose inputs by the code they reach, which compiles everything anew")
	flag.Parse()
	os.Exit(program.Run("fuzz", os.Stderr, func(ctx context.Context) error { return run(ctx, o) }))
}

func run(ctx context.Context, o fuzz.Options) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	targets, err := fuzz.Targets(root, "src", "tools", "ci")
	if err != nil {
		return err
	}
	return fuzz.Run(ctx, root, targets, o, os.Stdout)
}
