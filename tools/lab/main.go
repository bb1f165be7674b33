// Command lab is a Kubernetes cluster in one executable: the control plane and the node agents,
// compiled from their Go modules, so that tests, the demo and end-to-end runs need neither
// containers nor downloads of binaries. The first argument chooses the component, the others are
// that component's own flags:
//
//	lab etcd --data-dir=/tmp/etcd
//	lab kube-apiserver --help
//
// The lab is a module of its own, outside the workspace, because it needs the Kubernetes staging
// modules in exactly the versions that belong together, which no other module should be tied to.
// Package controlplane in the tools module builds and runs it.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // makes --logging-format=json known
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// usageError is the exit status for a call that names no known component, as shells use it.
const usageError = 2

func main() {
	os.Exit(run(os.Args, os.Stderr))
}

// run runs the component that args[1] names until it ends and returns its exit status.
func run(args []string, stderr io.Writer) int {
	known := components()
	if len(args) < 2 {
		fmt.Fprintf(stderr, "usage: lab component [flags]\ncomponents: %s\n", names(known))
		return usageError
	}
	component, ok := known[args[1]]
	if !ok {
		fmt.Fprintf(stderr, "lab: unknown component %q; one of: %s\n", args[1], names(known))
		return usageError
	}
	// The components read their flags from os.Args and take their own name from its first element.
	os.Args = args[1:]
	return component()
}

// components lists what the executable can be. They are functions because building a command has
// side effects, such as registering feature gates, that another component would trip over.
func components() map[string]func() int {
	return map[string]func() int{
		"etcd":                    etcd,
		"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
		"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
		"kube-proxy":              func() int { return cli.Run(proxy.NewProxyCommand()) },
		"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
		"kubelet":                 func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	}
}

// walSegment is how much disk etcd takes in advance for its log, twice. Its own 64 MB are meant
// for servers; a lab may live in memory-backed temporary folders.
const walSegment = 8 << 20

// etcd exits the process itself when it fails.
func etcd() int {
	wal.SegmentSizeBytes = walSegment
	etcdmain.Main(os.Args)
	return 0
}

func names(known map[string]func() int) string {
	return strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}
