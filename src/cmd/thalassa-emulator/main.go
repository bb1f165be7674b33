// Command thalassa-emulator serves Thalassa Cloud's API on one machine.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/command"
)

// version is set by the linker: -X main.version=v1.2.3.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command.New(version).ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1)
	}
}
