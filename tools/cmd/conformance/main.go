//go:build linux

// Command conformance runs Kubernetes' own tests of load balancers in a real cluster; see `make conformance`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/tools/conformance"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

const usage = `usage: conformance [flags]   run the tests, and compare their results with those in the documentation
       conformance build     build what is needed, which needs no root, and run nothing
flags:
`

func main() {
	o := conformance.Options{Progress: func(line string) { fmt.Println(" ", line) }}
	flag.BoolVar(&o.Built, "built", false, "build nothing: conformance build has just done that")
	flag.StringVar(&o.Focus, "focus", "", "run only tests whose name this regular `expression` matches")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	// What is printed is ours; log lines of libraries are not.
	klog.SetLogger(logr.Discard())
	os.Exit(program.Run("conformance", os.Stderr, func(ctx context.Context) error { return run(ctx, o, flag.Args()) }))
}

func run(ctx context.Context, o conformance.Options, args []string) (err error) {
	if o.Root, err = repo.Root(); err != nil {
		return err
	}
	if slices.Equal(args, []string{"build"}) {
		return conformance.Build(ctx, o.Root, o.Progress)
	}
	if len(args) != 0 {
		return fmt.Errorf("unknown command %q\n%s", args, usage)
	}
	table, err := conformance.Run(ctx, o)
	fmt.Print(table)
	return err
}
