// Command labbuild builds Kubernetes itself for tests and the demo, and says how far it is: the first time
// takes minutes. `make` calls it before whatever needs a control plane.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func main() {
	os.Exit(program.Run("labbuild", os.Stderr, run))
}

// run builds into bin/lab.
func run(ctx context.Context) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	_, err = controlplane.Build(ctx, root, func(progress string) { fmt.Println(progress) })
	return err
}
