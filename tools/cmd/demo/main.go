// Command demo shows a load balancer being made, used, changed and removed, on this machine alone; see `make demo`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/thalassa-cloud/thalassa-ccm/tools/demo"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// interrupted is the exit code of a program that a signal ended, as shells count it: 128 and SIGINT.
const interrupted = 130

func main() {
	keep := flag.Bool("keep", false, "leave everything running until Ctrl-C")
	cluster := flag.String("cluster", "", "use this context of your kubeconfig instead of a cluster of the demo's own")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: takes no argument, got %q\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, *keep, *cluster)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		os.Exit(interrupted)
	default:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, keep bool, cluster string) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	return demo.Run(ctx, demo.Options{Root: root, Output: os.Stdout, Input: os.Stdin, Keep: keep, Cluster: cluster})
}
