// Command cut keeps a copy of a chart that is released, for the tests of upgrades; it is what `make cut` calls.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/released"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func main() {
	os.Exit(program.Run("cut", os.Stderr, run))
}

// run copies the chart that the command line names.
func run(context.Context) error {
	if len(os.Args) != 2 {
		return fmt.Errorf("got %d arguments: give the name of one chart, for example cut thalassa-ccm", len(os.Args)-1)
	}
	root, err := repo.Root()
	if err != nil {
		return err
	}
	c, err := released.Cut(root, os.Args[1])
	if err != nil {
		return err
	}
	fmt.Printf("kept %s %s in %s\n", c.Name, c.Version, c.Dir)
	return nil
}
