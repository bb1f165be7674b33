// Command thalassa-cloud-controller-manager connects a Kubernetes cluster to its
// cloud: it initialises nodes, removes those whose machine is gone, and runs
// load balancers and routes.
//
// It ends in good order on SIGTERM or an interrupt, and at once on a second one.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
)

// version is set by the linker: -X main.version=v1.2.3.
var version = "devel"

func main() {
	os.Exit(run(providers()))
}

// providers lists the clouds this binary serves, one line each.
func providers() []manager.Provider {
	return []manager.Provider{
		{Name: thalassa.ProviderName, New: thalassa.New(version)},
	}
}

// run returns the exit code of the process.
func run(providers []manager.Provider) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // from then on a signal ends the process at once
	if err := manager.NewCommand(version, providers...).ExecuteContext(ctx); err != nil {
		return 1
	}
	return 0
}
