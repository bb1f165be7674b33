// Command lab is the control plane of a Kubernetes cluster in one executable, compiled from its Go
// modules, so that tests, the demo and end-to-end runs need neither containers nor downloads of
// binaries. Command agents, in a folder of this one, is what runs on nodes. The first argument
// chooses the component, the others are that component's own flags:
//
//	lab etcd --data-dir=/tmp/etcd
//	lab kube-apiserver --help
//
// The lab is a module of its own, outside the workspace, because it needs the Kubernetes staging
// modules in exactly the versions that belong together, which no other module should be tied to.
// These are the versions that the cloud controller manager has, wherever both use a library: what
// is the same is compiled once.
// Package controlplane in the tools module builds and runs it.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // makes --logging-format=json known
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/thalassa-cloud/thalassa-ccm/tools/lab/multicall"
)

func main() {
	os.Exit(multicall.Run("lab", components(), os.Args, os.Stderr))
}

// components lists what the executable can be.
func components() map[string]func() int {
	return map[string]func() int{
		"etcd":                    etcd,
		"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
		"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
		"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
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
