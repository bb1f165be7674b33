//go:build linux

// Package cluster runs a real Kubernetes cluster in an emulated cloud on this machine: every machine
// of the cloud's network is a network namespace with a kubelet in it, packets go through the network's
// routes, filters and load balancers, and the cloud controller manager is the image that `make image`
// makes, installed by the chart. What happens to a machine in the cloud happens to the node.
//
//	c, err := cluster.Start(ctx, cluster.Options{Root: root})
//	...
//	defer c.Close()
//	client, err := kubernetes.NewForConfig(c.Config())
//	conn, err := c.Client().DialContext(ctx, "tcp", "203.0.113.1:80")
//
// It needs root and Linux. Everything ends with the calling process, in whatever way that ends, and a
// reaper removes what is left of one that was killed.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/forward"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
	"github.com/thalassa-cloud/thalassa-ccm/tools/realnode"
	"github.com/thalassa-cloud/thalassa-ccm/tools/reaper"
)

const (
	// ControlPlane is the name of the machine with the control plane.
	ControlPlane = "control-plane"
	// waitTimeout bounds the wait for what takes seconds on an idle machine.
	waitTimeout = 3 * time.Minute
	pollEvery   = 250 * time.Millisecond

	// PodCIDR are the networks of all pods.
	PodCIDR     = "10.244.0.0/16,fd00:244::/48"
	serviceCIDR = "10.96.0.0/16,fd00:96::/112"
	apiPort     = 6443
)

// Networks says who gives nodes the networks of their pods, and who makes the routes to them.
type Networks int

const (
	// ManagerNetworks are given and routed by the cloud controller manager: before it is installed there are none, and
	// no node is ready.
	ManagerNetworks Networks = iota
	// ManagerRoutes are made by the cloud controller manager to networks that kube-controller-manager gives, as kubeadm
	// sets it up.
	ManagerRoutes
	// OwnNetworks need no cloud controller manager: kube-controller-manager gives them, and the cluster makes the
	// routes.
	OwnNetworks
)

// Options are what a cluster is made of. Only Root is required.
type Options struct {
	// Root is the folder of the repository.
	Root string
	// IronCore makes the cloud IronCore, instead of Thalassa Cloud. It does not make routes without the cloud
	// controller manager, and has no load balancers with health checks or connections of their own: Networks may not be
	// OwnNetworks, HealthSecond and OnCut have no effect.
	IronCore bool
	// Built says that Build has been called since anything has changed: then nothing is built.
	Built bool
	// Workers is how many machines there are beside that of the control plane. Default: 2.
	Workers int
	// OneAddress makes each node register with the first address of its machine alone, which is of IPv4. Otherwise
	// nodes have an address of each family.
	OneAddress bool
	// Client is from where load balancers are reached: a network namespace, or netns.Host. Empty is one of the
	// cluster's own.
	Client string
	// Progress gets messages about what happens. It may be nil.
	Progress func(string)
	// Bare leaves out the cloud controller manager: nodes then stay tainted until Install.
	Bare bool
	// DNS installs CoreDNS, which resolves the names of Services and pods, in Domain. It starts when the nodes are
	// initialised. Without it, pods resolve no names.
	DNS bool
	// Volumes installs the CSI driver after the cloud controller manager; with Bare, it gives nodes only the images. It
	// is not possible in IronCore.
	Volumes bool
	// Chart is the folder of the chart that is installed. Default: charts/thalassa-ccm.
	Chart string
	// Networks says where the networks of pods and the routes to them come from. Default: from the cloud controller
	// manager.
	Networks Networks
	// Values are values of the chart beside those it needs.
	Values map[string]any
	// FailureLogs is a folder that gets the logs when the start fails, which removes everything else. Empty: they are
	// lost.
	FailureLogs string
	// HealthSecond is how long a second between two health checks of a load balancer takes. Default: a second.
	HealthSecond time.Duration
	// OnCut is called for every connection that a load balancer ends because its target was taken away: the client's
	// address and port. It may be nil, and must not block.
	OnCut func(client netip.AddrPort)
	// Middleware is what every request to Thalassa Cloud passes through, as in emulator.Config. It may be nil, and has
	// no effect in IronCore.
	Middleware func(http.Handler) http.Handler
	// NodeMonitorGracePeriod is how long a node may be silent before it counts as not ready. Default: that of
	// Kubernetes.
	NodeMonitorGracePeriod time.Duration
}

// Cluster is a running cluster. Its methods may be called from any goroutine.
type Cluster struct {
	options  Options
	folder   *reaper.Dir
	programs programs
	plane    *netns.Plane
	cloud    cloud
	thalassa *thalassa // the cloud, if it is this one
	ironcore *ironcore // the cloud, if it is this one
	control  *controlplane.ControlPlane
	config   *rest.Config
	api      kubernetes.Interface
	machines *machines
	undo     []undo
}

// undo ends something that was started.
type undo struct {
	what string
	do   func() error
}

// limits bound the waits for nodes.
func limits() poll.Limits { return poll.Limits{Every: pollEvery, For: waitTimeout} }

// errOwnNetworks is the error of options that are for Thalassa Cloud only.
var errOwnNetworks = errors.New("own networks are not possible in IronCore: leave them to the cloud controller manager")

// Start starts a cluster and waits until its nodes are initialised and ready. ctx bounds the start only;
// afterwards the cluster runs until Close, or until this process ends in whatever way.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if o.Workers == 0 {
		o.Workers = 2
	}
	if o.Chart == "" {
		o.Chart = filepath.Join(o.Root, "charts", "thalassa-ccm")
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("starting a cluster: %w", err)
	}
	c := &Cluster{options: o}
	for _, step := range []func(context.Context) error{
		c.prepare, c.startCloud, c.startControlPlane, c.addWorkers, c.complete,
	} {
		err := step(ctx)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("starting a cluster: %w", err), c.keepLogs(), c.Close())
		}
	}
	return c, nil
}

// check returns an error for options that do not go together.
func (o Options) check() error {
	switch {
	case o.IronCore && o.Networks == OwnNetworks:
		return errOwnNetworks
	case o.IronCore && o.Volumes:
		return errNoVolumes
	}
	return nil
}

// complete installs CoreDNS, the cloud controller manager and the CSI driver, unless they are left out, and waits for
// the nodes.
func (c *Cluster) complete(ctx context.Context) error {
	if c.options.DNS {
		if err := c.installDNS(ctx); err != nil {
			return err
		}
	}
	if c.options.Bare {
		return c.awaitNodes(ctx, usableWith(true, c.options.Networks))
	}
	steps := []func(context.Context) error{c.Install}
	if c.options.Volumes {
		steps = append(steps, func(ctx context.Context) error {
			return c.InstallVolumes(ctx, volumesChart(c.options.Root))
		}, c.VolumesReady)
	}
	if c.options.DNS {
		steps = append(steps, c.DNSReady)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// keepLogs keeps the logs of a cluster whose start has failed.
func (c *Cluster) keepLogs() error {
	if c.options.FailureLogs == "" || c.folder == nil {
		return nil
	}
	return c.Logs(c.options.FailureLogs)
}

// say prints progress.
func (c *Cluster) say(format string, args ...any) { c.options.Progress(fmt.Sprintf(format, args...)) }

func (c *Cluster) later(what string, do func() error) { c.undo = append(c.undo, undo{what, do}) }

// prepare checks what there is, and builds what there is not.
func (c *Cluster) prepare(ctx context.Context) (err error) {
	if err := realnode.Check(); err != nil {
		return err
	}
	if c.programs, err = c.build(ctx); err != nil {
		return err
	}
	var stale []string
	c.folder, stale, err = reaper.Open()
	for _, path := range stale {
		c.say("Removed what a cluster that was killed left: %s", path)
	}
	if err != nil {
		return err
	}
	c.later("its files", c.folder.Remove)
	return c.folder.StartReaper(c.programs.guest)
}

// startControlPlane makes a machine in the cloud, and starts the control plane on it.
func (c *Cluster) startControlPlane(ctx context.Context) error {
	if err := c.AddNode(ctx, ControlPlane); err != nil {
		return err
	}
	at, err := c.machines.await(ctx, ControlPlane)
	if err != nil {
		return err
	}
	// These run on the machine as far as the network is concerned. They are not among its processes:
	// if it is switched off, they lose no data.
	c.control, err = controlplane.Start(ctx, controlplane.Options{
		Dir: c.folder.File("kubernetes"), Binary: c.programs.lab,
		Address: at.Addresses[0], Port: apiPort, Enter: []string{"nsenter", "--net=" + at.Path},
		Dial:    c.Client().DialContext,
		PodCIDR: PodCIDR, ServiceCIDR: serviceCIDR, NodeMonitorGracePeriod: c.options.NodeMonitorGracePeriod,
		Flags: map[string][]string{
			// A node counts as not ready after 20 s; its pods need not stay for 5 minutes more.
			controlplane.APIServer: {"--default-not-ready-toleration-seconds=30",
				"--default-unreachable-toleration-seconds=30"},
			controlplane.ControllerManager: {fmt.Sprintf("--allocate-node-cidrs=%t",
				c.options.Networks != ManagerNetworks)},
		},
	})
	if err != nil {
		return err
	}
	c.later("the control plane", c.control.Stop)
	if err := c.forwardPort(at.Addresses[0]); err != nil {
		return err
	}
	c.say("Kubernetes answers at %s", c.config.Host)
	c.machines.open(c.control)
	return nil
}

// forwardPort lets this machine, whose namespace is another one, reach the API server at a loopback address.
func (c *Cluster) forwardPort(server netip.Addr) error {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening for connections to the API server: %w", err)
	}
	dial, at := c.Client().DialContext, netip.AddrPortFrom(server, apiPort).String()
	forwarder := forward.Start(listener, func(ctx context.Context, _ net.Addr) (net.Conn, error) {
		return dial(ctx, "tcp", at)
	})
	c.later("the port forwarder to the API server", func() error {
		forwarder.Close()
		return nil
	})
	c.config = c.control.Config()
	c.config.Dial = nil
	c.config.Host = "https://" + listener.Addr().String()
	if err := controlplane.WriteKubeconfig(c.Kubeconfig(), c.config); err != nil {
		return err
	}
	c.api, err = kubernetes.NewForConfig(c.config)
	return err
}

func (c *Cluster) addWorkers(ctx context.Context) error {
	for i := range c.options.Workers {
		if err := c.AddNode(ctx, fmt.Sprintf("worker-%d", i+1)); err != nil {
			return err
		}
	}
	return nil
}

// AddNode makes a machine in the cloud, whose node then joins the cluster.
func (c *Cluster) AddNode(ctx context.Context, name string) error {
	if err := c.cloud.addMachine(ctx, name); err != nil {
		return fmt.Errorf("making machine %s: %w", name, err)
	}
	c.say("Machine %s runs in the cloud", name)
	return nil
}

// DeleteMachine deletes a machine in the cloud.
func (c *Cluster) DeleteMachine(ctx context.Context, name string) error {
	return c.cloud.deleteMachine(ctx, name)
}

// SetPower switches a machine on or off in the cloud.
func (c *Cluster) SetPower(ctx context.Context, name string, on bool) error {
	return c.cloud.setPower(ctx, name, on)
}

// Config is how to reach the API server from this machine, as a member of system:masters.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// API is a client of the API server.
func (c *Cluster) API() kubernetes.Interface { return c.api }

// Kubeconfig is the path of a kubeconfig for the same.
func (c *Cluster) Kubeconfig() string { return c.folder.File("kubeconfig") }

// Client is the network namespace from which load balancers and machines are reached.
func (c *Cluster) Client() *namespace.Namespace { return c.plane.Client() }

// ClientAddress is the client's. At it, machines find the cloud's API.
func (c *Cluster) ClientAddress() netip.Addr { return c.plane.ClientAddresses()[0] }

// Node is the node on a machine that runs; nil when there is none.
func (c *Cluster) Node(name string) *realnode.Node { return c.machines.node(name) }

// Dir is the folder with everything: kubeconfig, logs, and the files of machines.
func (c *Cluster) Dir() string { return c.folder.Path() }

// Logs copies what helps to find out what happened into a folder: the logs of the control plane, of the
// nodes' programs and of pods.
func (c *Cluster) Logs(to string) error {
	failed := []error{copyLogs(c.folder.File("kubernetes/logs"), filepath.Join(to, "control-plane"))}
	failed = append(failed, copyLogs(c.folder.File("logs"), filepath.Join(to, "nodes")))
	pods, _ := filepath.Glob(c.folder.File("machines/*/log/pods"))
	for _, folder := range pods {
		name := filepath.Base(filepath.Dir(filepath.Dir(folder)))
		failed = append(failed, copyLogs(folder, filepath.Join(to, "pods", name)))
	}
	return errors.Join(failed...)
}

// copyLogs copies files as they are at the moment; a folder that is not there has none.
func copyLogs(from, to string) error {
	if _, err := os.Stat(from); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("copying logs: %w", err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("copying the logs in %s: %w", from, err)
	}
	return nil
}

// Close ends everything, in the reverse order of its beginning, and removes its files.
func (c *Cluster) Close() error {
	var failed []error
	for _, u := range slices.Backward(c.undo) {
		if err := u.do(); err != nil {
			failed = append(failed, fmt.Errorf("removing %s: %w", u.what, err))
		}
	}
	c.undo = nil
	return errors.Join(failed...)
}
