//go:build !linux

package command

import (
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// openNamespaces refuses a data plane that this system cannot have.
func (o *options) openNamespaces(*slog.Logger) (emulator.DataPlane, places, error) {
	return nil, places{}, errors.New("--data-plane=netns needs Linux: only there are network namespaces")
}

// newClean makes a command that has nothing to do on this system.
func newClean() *cobra.Command {
	return &cobra.Command{Use: "clean",
		Short: "Remove the network namespaces and volumes of emulators that were killed (Linux)",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return nil }}
}
