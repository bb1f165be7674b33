//go:build linux

// Package realnode runs real Kubernetes nodes on machines that are network namespaces: containerd
// and runc of the distribution, and the kubelet and kube-proxy of the lab.
//
//	node, err := realnode.Start(ctx, realnode.Options{Name: "worker-1", Namespace: "/run/netns/…", …})
//	...
//	node.SetPodCIDRs("10.244.1.0/24")
//
// A machine is also a PID, a mount and a host name namespace. Its first process is ours, and ends
// with us: the kernel then ends everything that runs on the machine, pods included, and removes
// its mounts. What is left then are the files below Options.Dir, and cgroups that are named after
// Options.Cgroup.
//
// It needs root and Linux; Check says what else is missing.
package realnode

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/cgroup"
	"github.com/thalassa-cloud/thalassa-ccm/tools/machine"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

const (
	// startTimeout bounds the wait for each part of a node; on an idle machine none takes a second.
	startTimeout = 2 * time.Minute
	// stopTimeout bounds the end of a machine, whose processes are killed. The kernel takes its time when the disk is
	// busy.
	stopTimeout = 3 * time.Minute
	pollEvery   = 50 * time.Millisecond
)

// Options are what a node is made of. All are required unless they say otherwise.
type Options struct {
	// Name is the host name of the machine, and so the name of the Node.
	Name string
	// Namespace is the file of the machine's network namespace.
	Namespace string
	// Addresses are the machine's, at most one of each family. The first is what the kubelet listens on.
	Addresses []netip.Addr
	// Dir keeps the machine's files, as the disk of a machine does: starting a node again in the same
	// folder is switching it on again. It must not be below /run, /var/lib or /var/log, and its path
	// must be short (maxDir).
	Dir string
	// Disks is the folder with links to the machine's disks. Optional.
	Disks string
	// Logs is a folder for one log file per program. Those of pods are below Dir/log/pods.
	Logs string
	// Cgroup is the name of the cgroup of all pods of the machine, in every hierarchy. No other machine's may begin
	// with it.
	Cgroup string
	// Agents and Guest are executables: tools/lab/agents, and tools/cmd/guest.
	Agents, Guest string
	// Kubelet and Proxy are kubeconfigs, ClientCA the certificate of the authority of the kubelet's clients.
	Kubelet, Proxy, ClientCA string
	// Images are archives that are imported before the kubelet starts; SandboxImage is the name of one in them.
	Images       []string
	SandboxImage string
	// Taints are registered beside the one of uninitialized nodes. Optional.
	Taints []corev1.Taint
	// PodCIDR are the networks of all pods of the cluster.
	PodCIDR string
	// DNS is the address of the cluster's name server, and Domain that of the cluster's names. Optional: without them,
	// pods resolve no names.
	DNS    netip.Addr
	Domain string
}

// Node is a node whose machine runs, until Stop.
type Node struct {
	options Options
	machine *process.Process

	mu         sync.Mutex
	components []*process.Process
	kubelet    *process.Process // one of components
}

// maxDir is how long the path of a machine's folder may be: sockets are below it, whose paths have
// at most 107 bytes.
const maxDir = 107 - len("/run/containerd/containerd.sock")

// Start boots a machine and starts the node on it. It returns when the kubelet runs; the Node is
// not Ready before SetPodCIDRs. When ctx ends while it starts, everything is ended again; afterwards
// ctx means nothing. When the calling process ends, in whatever way, so does the machine.
func Start(ctx context.Context, o Options) (*Node, error) {
	n := &Node{options: o}
	steps := []func(context.Context) error{
		n.prepare, n.boot, n.masquerade, n.startContainerd, n.importImages, n.startKubelet, n.startProxy,
	}
	for _, step := range steps {
		err := step(ctx)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("starting node %s: %w", o.Name, err), n.Stop())
		}
	}
	return n, nil
}

// prepare makes the machine's folders and files.
func (n *Node) prepare(context.Context) error {
	if len(n.options.Dir) > maxDir {
		return fmt.Errorf("its folder %s has a path of more than %d bytes, too long for the sockets in it; choose a "+
			"shorter one", n.options.Dir, maxDir)
	}
	err := errors.Join(machine.Make(n.options.Dir), os.MkdirAll(n.options.Logs, 0o755))
	if err != nil {
		return err
	}
	if err := n.writeFiles(); err != nil {
		return err
	}
	return cgroup.Make(n.options.Cgroup)
}

// boot starts the first process of the machine, and waits until the machine has its folders.
func (n *Node) boot(ctx context.Context) (err error) {
	n.machine, err = process.Start(context.WithoutCancel(ctx), process.Spec{
		Name: "machine " + n.options.Name, Path: "nsenter", Isolate: true, LogPath: n.log("machine"),
		Args: []string{"--net=" + n.options.Namespace, n.options.Guest, "machine", n.options.Dir, n.options.Name,
			n.options.Disks},
	})
	if err != nil {
		return err
	}
	return n.await(ctx, "the machine has booted", n.machine, func(context.Context) error {
		_, err := os.Stat(filepath.Join(n.options.Dir, machine.ReadyFile))
		return err
	})
}

func (n *Node) log(name string) string { return filepath.Join(n.options.Logs, name+".log") }

// await waits until check is content, or a process has ended that must not.
func (n *Node) await(ctx context.Context, what string, p *process.Process, check func(context.Context) error) error {
	return poll.Limits{Every: pollEvery, For: startTimeout, Needs: p}.Until(ctx, what, check)
}

// command is a command line that runs another one on the machine, as root of it.
func (n *Node) command(command ...string) []string {
	enter := []string{"nsenter", fmt.Sprintf("--target=%d", n.machine.PID()), "--net", "--mount", "--uts", "--pid",
		"--"}
	return append(enter, command...)
}

// run starts a program on the machine. Its end is not the node's: a kubelet that crashes is what tests
// may be about, and Err returns it.
func (n *Node) run(ctx context.Context, name string, command ...string) (*process.Process, error) {
	line := n.command(command...)
	p, err := process.Start(context.WithoutCancel(ctx), process.Spec{
		Name: name + " of " + n.options.Name, Path: line[0], Args: line[1:], LogPath: n.log(name),
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"},
	})
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.components = append(n.components, p)
	return p, nil
}

// Name is the name of the Node.
func (n *Node) Name() string { return n.options.Name }

// Err is why the node is broken: an error when one of its programs has ended by itself.
func (n *Node) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.components {
		select {
		case <-p.Done():
			if err := p.Err(); err != nil {
				return fmt.Errorf("node %s has lost one of its programs: %w", n.options.Name, err)
			}
			return fmt.Errorf("node %s has lost one of its programs: it ended well", n.options.Name)
		default:
		}
	}
	return nil
}

// PID is the ID of the first process of the machine: below /proc/PID is what the machine has mounted.
func (n *Node) PID() int { return n.machine.PID() }

// Disks is the folder with links to the machine's disks.
func (n *Node) Disks() string { return n.options.Disks }

// RestartKubelet ends the kubelet and starts it again. It returns when the kubelet runs. Containers go on.
func (n *Node) RestartKubelet(ctx context.Context) error {
	n.mu.Lock()
	before := n.kubelet
	n.components = slices.DeleteFunc(n.components, func(p *process.Process) bool { return p == before })
	n.mu.Unlock()
	err := before.Stop(stopTimeout)
	if err == nil {
		err = n.startKubelet(ctx)
	}
	if err != nil {
		return fmt.Errorf("restarting the kubelet of node %s: %w", n.options.Name, err)
	}
	return nil
}

// Stop switches the machine off, as if its power had failed: everything on it is killed. Its files
// stay. Stopping again does nothing.
func (n *Node) Stop() error {
	n.mu.Lock()
	components := n.components
	n.components = nil
	n.mu.Unlock()
	if n.machine == nil {
		return cgroup.RemoveAll(n.options.Cgroup)
	}
	failed := []error{}
	if err := n.machine.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		failed = append(failed, err)
	}
	deadline := time.After(stopTimeout)
	for _, p := range append(components, n.machine) {
		select {
		case <-p.Done():
		case <-deadline:
			return fmt.Errorf(
				"switching off machine %s: a process of it (pid %d) is still there %s after it was killed",
				n.options.Name, p.PID(), stopTimeout)
		}
	}
	return errors.Join(append(failed, cgroup.RemoveAll(n.options.Cgroup))...)
}

// Remove removes the files of a machine that is switched off. Its logs stay.
func (n *Node) Remove() error {
	if err := os.RemoveAll(n.options.Dir); err != nil {
		return fmt.Errorf("removing the files of machine %s: %w", n.options.Name, err)
	}
	return nil
}
