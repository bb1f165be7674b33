package command

import (
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
)

// openNamespaces starts the netns data plane.
func (o *options) openNamespaces(log *slog.Logger) (emulator.DataPlane, places, error) {
	var networks []netip.Prefix
	for _, text := range o.netnsNetworks {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, places{}, fmt.Errorf("--netns-client-networks: %w", err)
		}
		networks = append(networks, network)
	}
	plane, err := netns.New(netns.Options{Name: o.netnsName, Client: o.netnsClient, ClientNetworks: networks,
		Proxy: proxy.Options{Logger: log}})
	if err != nil {
		return nil, places{}, err
	}
	return plane, places{prefix: plane.Name() + "-", client: plane.Client().Path()}, nil
}

// newClean makes the command that removes what killed emulators left.
func newClean() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove the network namespaces and volumes of emulators that were killed; those of running ones stay",
		Args:  cobra.NoArgs,
		// An error while running is not a misuse of the flags.
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			removed, err := netns.Clean()
			for _, name := range removed {
				fmt.Fprintln(cmd.OutOrStdout(), "Removed", name)
			}
			return err
		},
	}
}
