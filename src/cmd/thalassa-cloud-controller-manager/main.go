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
		{Name: thalassa.ProviderName, New: thalassa.New(version, os.Getenv), Validate: thalassa.Validate(os.Getenv)},
	}
}

// run returns the exit code of the process.
func run(providers []manager.Provider) int {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- manager.NewCommand(version, providers...).ExecuteContext(ctx) }()
	select {
	case err := <-ended:
		return exitCode(err)
	case <-signals:
		stop()
	}
	select {
	case err := <-ended:
		return exitCode(err)
	case <-signals:
		return 1
	}
}

func exitCode(err error) int {
	if err != nil {
		return 1
	}
	return 0
}
