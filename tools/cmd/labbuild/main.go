// Command labbuild builds Kubernetes itself for tests and the demo, and says how far it is: the first time
// takes minutes. `make` calls it before whatever needs a control plane, or drives a CSI driver.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func main() {
	os.Exit(program.Run("labbuild", os.Stderr, run))
}

// run builds into bin/lab, or with the argument "sidecars" into bin/sidecars.
func run(ctx context.Context) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	build := controlplane.Build
	if slices.Equal(os.Args[1:], []string{"sidecars"}) {
		build = controlplane.BuildSidecars
	}
	_, err = build(ctx, root, func(progress string) { fmt.Println(progress) })
	return err
}
