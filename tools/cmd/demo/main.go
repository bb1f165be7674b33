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

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/tools/demo"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// interrupted is the exit code of a program that a signal ended, as shells count it: 128 and SIGINT.
const interrupted = 130

func main() {
	keep := flag.Bool("keep", false, "leave everything running until Ctrl-C")
	cloud := flag.String("cloud", "thalassa", "the cloud: thalassa or ironcore")
	cluster := flag.String("cluster", "", "use this context of your kubeconfig instead of a cluster of the demo's own")
	flag.Parse()
	// The story is what people read; the libraries' log lines, like a watch that ends at the end, are not part of it.
	klog.SetLogger(logr.Discard())
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: takes no argument, got %q\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, demo.Options{Output: os.Stdout, Input: os.Stdin, Keep: *keep, Cloud: *cloud, Cluster: *cluster})
	stop()
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		os.Exit(interrupted)
	default:
		os.Exit(1) // the story contains the reason
	}
}

func run(ctx context.Context, options demo.Options) (err error) {
	if options.Root, err = repo.Root(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		return err
	}
	return demo.Run(ctx, options)
}
