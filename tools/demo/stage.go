package demo

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/rundir"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

// Images that the demo's nodes know how to run.
const (
	imageCCM = "ghcr.io/thalassa-cloud/thalassa-ccm/cloud-controller-manager"
	imageWeb = "ghcr.io/thalassa-cloud/thalassa-ccm/web"
)

// stage is everything that runs during the demo.
type stage struct {
	options  Options
	printer  *printer
	folder   *rundir.Dir
	programs programs
	undo     []undo

	cloud   cloud
	cluster *cluster
	network *virtualnode.Network
	nodes   map[string]*virtualnode.Node // by name
	service *corev1.Service              // the example's, once it has an address
}

// undo removes something that was made.
type undo struct {
	what string
	do   func(context.Context) error
}

// later records how to remove what has just been made.
func (s *stage) later(what string, do func(context.Context) error) {
	s.undo = append(s.undo, undo{what, do})
}

// set starts the cloud and the cluster.
func (s *stage) set(ctx context.Context) (err error) {
	s.printer.chapter("Starting a cloud and a cluster on this machine")
	if s.options.Cluster != "" {
		err = s.enter(ctx)
	} else {
		s.cluster, err = s.ownCluster(ctx)
	}
	if err != nil {
		return err
	}
	s.network, err = virtualnode.NewNetwork(s.cluster.config, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("preparing the network of the nodes: %w", err)
	}
	s.later("the network of the nodes", func(context.Context) error {
		s.network.Close()
		return nil
	})
	return s.cloud.start(ctx, s)
}

// startControlPlane starts a control plane that only the demo uses.
func (s *stage) startControlPlane(ctx context.Context, what, dir string) (*controlplane.ControlPlane, error) {
	control, err := controlplane.Start(ctx, controlplane.Options{
		Dir: s.folder.File(dir), Binary: s.programs.lab, Progress: func(line string) {
			s.printer.say("%s", line)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", what, err)
	}
	s.later(what, func(context.Context) error { return control.Stop() })
	return control, nil
}

// ownCluster starts the cluster. KUBECONFIG and whatever it names play no part in it.
func (s *stage) ownCluster(ctx context.Context) (*cluster, error) {
	control, err := s.startControlPlane(ctx, "Kubernetes", "kubernetes")
	if err != nil {
		return nil, err
	}
	host, port := control.Address()
	c, err := newCluster(control.Config())
	if err != nil {
		return nil, err
	}
	c.kubeconfig = control.Kubeconfig()
	c.systemNamespace, c.webNamespace = "kube-system", "default"
	version, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking Kubernetes for its version: %w", err)
	}
	s.printer.say("Kubernetes %s answers at https://%s:%d: API server, scheduler, controller manager, etcd",
		version.GitVersion, host, port)
	return c, nil
}

// addNode creates a server in the cloud and starts a node on it, as a kubelet with --cloud-provider=external would.
func (s *stage) addNode(ctx context.Context, name, zone string, controlPlane bool) error {
	address, err := s.cloud.addServer(ctx, name, zone)
	if err != nil {
		return err
	}
	dir := s.folder.File("nodes/" + name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making a folder for node %s: %w", name, err)
	}
	// These flags have the place of in-cluster configuration, which a process without a mount namespace of its own
	// cannot read.
	ccm := virtualnode.Program(s.programs.path(ccmName), "kubeconfig", "authentication-kubeconfig",
		"authorization-kubeconfig")
	// Before the start: a registration that is interrupted may have happened.
	s.later("the Node object "+name, func(ctx context.Context) error {
		return ignoreNotFound(s.cluster.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}))
	})
	starting, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	node, err := virtualnode.Start(starting, virtualnode.Options{
		Name: name, Address: address, ControlPlane: controlPlane,
		Labels: s.cluster.nodeLabels(), Taints: s.cluster.nodeTaints(), Namespaces: s.cluster.podNamespaces(),
		Images:  map[string]virtualnode.Image{imageCCM: ccm, imageWeb: virtualnode.WebServer()},
		Network: s.network, Dir: dir,
	})
	if err != nil {
		return fmt.Errorf("starting node %s: %w", name, err)
	}
	s.later("node "+name, node.Remove)
	s.nodes[name] = node
	s.printer.say("Server %s (%s, zone %s) runs in the cloud; its node has registered and is tainted as uninitialized",
		name, address, zone)
	return nil
}

// printAccess prints how to reach what is running.
func (s *stage) printAccess() {
	if s.cluster.external {
		s.printer.plain("  kubectl --context=%s --namespace=%s get pods,events", s.options.Cluster, externalNamespace)
		s.printer.plain("  kubectl --context=%s get nodes --selector=%s -o wide", s.options.Cluster, externalKey)
	} else {
		s.printer.plain("  export KUBECONFIG=%s", s.cluster.kubeconfig)
		s.printer.plain("  kubectl get nodes -o wide")
		s.printer.plain("  kubectl apply -f %s/examples/web.yaml && kubectl get service web --watch", s.options.Root)
	}
	for _, line := range s.cloud.access() {
		s.printer.plain("  %s", line)
	}
	s.printer.plain("  logs: %s", s.folder.Path())
}

// explain helps to find out why the story stopped: the end of the cloud controller manager's log.
func (s *stage) explain() {
	if s.cluster == nil || s.cluster.ccmLog == "" {
		return
	}
	content, err := os.ReadFile(s.cluster.ccmLog)
	if err != nil {
		return
	}
	s.printer.plain("The end of the cloud controller manager's log:\n%s", tail(string(content), explainLines))
}
