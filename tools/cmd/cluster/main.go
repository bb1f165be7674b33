//go:build linux

// Command cluster runs a real cluster in an emulated cloud until Ctrl-C; see `make cluster`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func main() {
	workers := flag.Int("workers", 2, "`number` of nodes beside the one of the control plane")
	client := flag.String("client", "", "network `namespace` that reaches load balancers, or host (default: one of its own)")
	flag.Parse()
	os.Exit(program.Run("cluster", os.Stderr, func(ctx context.Context) error {
		root, err := repo.Root()
		if err != nil {
			return err
		}
		c, err := cluster.Start(ctx, cluster.Options{
			Root: root, Workers: *workers, Client: *client, Progress: func(line string) { fmt.Println(" ", line) },
		})
		if err != nil {
			return err
		}
		fmt.Printf("\n  export KUBECONFIG=%s\n  logs: %s\n", c.Kubeconfig(), c.Dir())
		<-ctx.Done()
		return c.Close()
	}))
}
