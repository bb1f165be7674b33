// Package host gives a test a node of its cluster that runs the cloud controller manager: from the pods that the API
// server holds, with their arguments, files and tokens, as a process of this machine.
package host

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/testrun/share"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

const (
	// Image is that of the cloud controller manager, without tag and digest.
	Image = "ghcr.io/thalassa-cloud/thalassa-ccm/cloud-controller-manager"
	// program is what the image contains, below the root of the repository.
	program = "bin/thalassa-cloud-controller-manager"
	// removal bounds the end of the pods and the deletion of the Node.
	removal = 2 * time.Minute
)

// Program builds the cloud controller manager, once in a run of tests, and returns its path.
func Program(tb testing.TB) string {
	tb.Helper()
	path, err := share.Make(tb.Context(), program)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// FreeAddress is an address of this machine, host:port, where nothing listens at the moment.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// Start starts a node for each of the options, which say its name, its address and what else is special, and returns
// when all are registered. They are removed when the test ends; pods that are still there then are ended.
func Start(tb testing.TB, plane *controlplane.ControlPlane, nodes ...virtualnode.Options) {
	tb.Helper()
	network, err := virtualnode.NewNetwork(plane.Config(), slog.New(slog.NewTextHandler(tb.Output(), nil)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(network.Close)
	image := virtualnode.Program(Program(tb), "kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
	for _, o := range nodes {
		o.Network, o.Dir, o.Images = network, tb.TempDir(), map[string]virtualnode.Image{Image: image}
		node, err := virtualnode.Start(tb.Context(), o)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), removal) // the test's own has ended
			defer cancel()
			if err := node.Remove(ctx); err != nil {
				tb.Error(err)
			}
		})
	}
}
