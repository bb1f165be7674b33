// Command thalassa-csi-driver provides volumes of Thalassa Cloud to Kubernetes, by the Container Storage Interface.
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
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
)

func main() { os.Exit(run()) }

// run returns the exit code of the process.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	cmd := driver.NewCommand(driver.Environment{Build: build.Current(), Getenv: os.Getenv})
	if err := cmd.ExecuteContext(ctx); err != nil {
		return 1
	}
	return 0
}
