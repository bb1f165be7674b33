//go:build linux

// Command cluster runs a real cluster in an emulated cloud until Ctrl-C, and changes one that runs; see `make cluster`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/reaper"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

const usage = `usage: cluster [flags]              run a cluster until Ctrl-C
       cluster [--cloud=ironcore] build
                                    build what it is made of, which needs no root, and run nothing
       cluster add-node NAME        make a machine in Thalassa Cloud, whose node joins the cluster that runs
       cluster remove-node NAME     delete a machine in Thalassa Cloud
       cluster load-image ARCHIVE   make the images of an archive known to all nodes
       cluster clean                remove the files of clusters that were killed
flags:
`

func main() {
	var o cluster.Options
	folder := flag.String("state", "", "`folder` for the kubeconfig, and where commands find the cluster that runs "+
		"(default: dist/cluster of the repository)")
	flag.IntVar(&o.Workers, "workers", 2, "`number` of nodes beside the one of the control plane")
	flag.StringVar(&o.Client, "client", "",
		"network `namespace` that reaches load balancers, or host for this machine (default: one of its own)")
	flag.BoolVar(&o.Built, "built", false,
		"build nothing: cluster build has just done that, as a user who has a compiler")
	flag.BoolVar(&o.Bare, "bare", false,
		"leave out the cloud controller manager and the CSI driver: nodes then stay tainted, and without networks "+
			"for their pods")
	flag.BoolFunc("own-networks",
		"have the cluster itself give nodes networks for their pods, and make the routes to them", func(string) error {
			o.Networks = cluster.OwnNetworks
			return nil
		})
	flag.Func("cloud", "`cloud` that it is in: thalassa or ironcore (default: thalassa)", func(name string) error {
		if name != "thalassa" && name != "ironcore" {
			return errors.New("use thalassa or ironcore")
		}
		o.IronCore = name == "ironcore"
		return nil
	})
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	// What is printed is the cluster's; log lines of libraries are not.
	klog.SetLogger(logr.Discard())
	os.Exit(program.Run("cluster", os.Stderr, func(ctx context.Context) error {
		return run(ctx, o, *folder, flag.Args())
	}))
}

func run(ctx context.Context, o cluster.Options, folder string, args []string) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	if folder == "" {
		folder = cluster.StateFolder(root)
	}
	o.Root, o.Progress = root, func(line string) { fmt.Println(" ", line) }
	if len(args) == 0 {
		return serve(ctx, o, folder)
	}
	switch strings.Join(args, " ") {
	case "build":
		return build(ctx, o)
	case "clean":
		return clean()
	}
	return change(ctx, folder, args)
}

// build builds what all clusters need, and IronCore only for one in it, because it takes minutes the first time.
func build(ctx context.Context, o cluster.Options) error {
	err := errors.Join(cluster.Build(ctx, o.Root, o.Progress), cluster.BuildDNS(ctx, o.Root, o.Progress),
		cluster.BuildVolumes(ctx, o.Root, o.Progress))
	if err == nil && o.IronCore {
		_, err = controlplane.BuildIronCore(ctx, o.Root, o.Progress)
	}
	return err
}

func serve(ctx context.Context, o cluster.Options, folder string) error {
	o.DNS, o.Volumes = true, !o.IronCore && !o.Bare
	c, err := cluster.Start(ctx, o)
	if err != nil {
		return err
	}
	remote, err := c.Announce(folder)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	fmt.Printf(`
  export KUBECONFIG=%s
  kubectl get nodes -o wide
  names in pods:              SERVICE.NAMESPACE.svc.%s
  what load balancers serve:  nsenter --net=%s curl http://ADDRESS/
  the cloud:                  %s
%s  more:                       %s
  logs:                       %s

Everything runs until Ctrl-C.
`, remote.Kubeconfig, cluster.Domain, c.Client().Path(), c.CloudCommand(),
		volumeCommands(o), commands(o), c.Dir()+"/logs")
	<-ctx.Done()
	fmt.Println("\n  Removing everything")
	return c.Close()
}

// volumeCommands are those of an example with a volume.
func volumeCommands(o cluster.Options) string {
	if !o.Volumes {
		return ""
	}
	return `  a pod with a volume:        kubectl apply -f examples/volume.yaml
                              kubectl exec volume -- /guest file write /data/content 1000000
                              kubectl get persistentvolumeclaims,pods -o wide
`
}

// commands are those that change a cluster that runs.
func commands(o cluster.Options) string {
	if o.IronCore {
		return "bin/cluster load-image ARCHIVE"
	}
	return "bin/cluster add-node worker-9; bin/cluster load-image ARCHIVE"
}

func clean() error {
	removed, err := reaper.Clean()
	for _, path := range removed {
		fmt.Println("Removed", path)
	}
	return err
}

// change changes the cluster whose state file is in the folder, and says what it did.
func change(ctx context.Context, folder string, args []string) error {
	var remote cluster.Remote
	does := map[string]func(name string) (done string, err error){
		"add-node": func(name string) (string, error) {
			return "Node " + name + " has joined the cluster", remote.AddNode(ctx, name)
		},
		"remove-node": func(name string) (string, error) {
			return "Machine " + name + " is deleted", remote.RemoveNode(ctx, name)
		},
		"load-image": func(archive string) (string, error) {
			machines, err := remote.LoadImage(ctx, archive)
			return archive + " is loaded on " + strings.Join(machines, ", ") + ", and on each new node", err
		},
	}
	do := does[args[0]]
	if do == nil || len(args) != 2 {
		return fmt.Errorf("unknown command %q\n%s", strings.Join(args, " "), usage)
	}
	var err error
	if remote, err = cluster.Find(folder); err != nil {
		return err
	}
	done, err := do(args[1])
	if err != nil {
		return err
	}
	fmt.Println(done)
	return nil
}
