// Command thalassa-emulator serves Thalassa Cloud's API on one machine.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones of snapshot policies, for an image that has none of its own

	_ "golang.org/x/crypto/x509roots/fallback" // public CAs for an image that has none of its own

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command.New(build{version, revision, committed}.String()).ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1)
	}
}
