// Command labbuild builds Kubernetes itself for tests and the demo, and says how far it is: the first time
// takes minutes. `make` calls it before whatever needs a control plane.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "labbuild:", err)
		os.Exit(1)
	}
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
