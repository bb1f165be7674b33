// Command thalassa-cloud-controller-manager connects a Kubernetes cluster to its
// cloud: it initialises nodes, removes those whose machine is gone, and runs
// load balancers and routes.
//
// With the name kubectl-thalassa, it is the plug-in of kubectl instead: see src/plugin.
//
// It ends in good order on SIGTERM or an interrupt, and at once on a second one.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // public CAs for an image that has none of its own

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cmd/clouds"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
)

func main() {
	if plugin.IsName(os.Args[0]) {
		os.Exit(plugin.Main(os.Args, clouds.Providers))
	}
	os.Exit(run(clouds.Providers(build.Current().Agent())))
}

// run returns the exit code of the process.
func run(providers []manager.Provider) int {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- manager.NewCommand(build.Current(), providers...).ExecuteContext(ctx) }()
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
