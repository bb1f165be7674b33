//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/realnode"
)

// roleControlPlane is both the label and the taint of the node of the control plane.
const roleControlPlane = "node-role.kubernetes.io/control-plane"

// machines makes nodes of the cloud's machines: what happens to the one happens to the other.
type machines struct {
	cluster *Cluster

	mu      sync.Mutex
	changed chan struct{}       // closed and replaced when something has changed
	present map[string]*machine // by identity
	control *controlplane.ControlPlane
	left    []error // what of machines could not be ended or removed
}

// machine is one of the cloud. Its node is started and stopped by one goroutine at a time: work
// is the present one.
type machine struct {
	last   netns.Event
	node   *realnode.Node
	lost   func() error // of the node: whether it has lost a program
	work   *work
	failed error // why its node does not run, although the machine does: the next boot tries again
}

// work is what a goroutine does for a machine.
type work struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func newMachines(c *Cluster) *machines {
	return &machines{cluster: c, changed: make(chan struct{}), present: map[string]*machine{}}
}

// change changes the state, and wakes those who wait.
func (m *machines) change(how func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	how()
	close(m.changed)
	m.changed = make(chan struct{})
}

// happened handles events, one after another. It returns when what had to end has ended: a namespace
// must not outlive its name because something still runs in it.
func (m *machines) happened(e netns.Event) {
	one := m.find(e)
	m.halt(one)
	switch e.Kind {
	case netns.Booted, netns.Moved:
		ctx, cancel := context.WithCancel(context.Background())
		w := &work{cancel, make(chan struct{})}
		m.change(func() { one.last, one.work, one.failed = e, w, nil })
		go func() {
			defer close(w.done)
			defer cancel()
			m.fail(one, m.run(ctx, one, e))
		}()
	case netns.Stopped:
		m.change(func() { one.last = e })
	case netns.Deleted:
		m.change(func() { delete(m.present, e.Identity) })
		m.leave(m.discard(one))
	}
}

func (m *machines) find(e netns.Event) (one *machine) {
	m.change(func() {
		if m.present[e.Identity] == nil {
			m.present[e.Identity] = &machine{}
		}
		one = m.present[e.Identity]
	})
	return one
}

// halt switches a machine's node off.
func (m *machines) halt(one *machine) {
	m.mu.Lock()
	w := one.work
	m.mu.Unlock()
	if w == nil {
		return
	}
	w.cancel()
	<-w.done
	m.mu.Lock()
	node := one.node
	one.work = nil
	m.mu.Unlock()
	if node != nil {
		m.leave(node.Stop())
	}
}

// discard removes the files of a machine that is gone.
func (m *machines) discard(one *machine) error {
	if one.node == nil {
		return nil
	}
	return one.node.Remove()
}

// fail records why a machine has no node, for waits for that one. Others have theirs nevertheless.
func (m *machines) fail(one *machine, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	m.cluster.say("%v", err)
	m.change(func() { one.failed = err })
}

// leave records what could not be ended or removed, for the end.
func (m *machines) leave(err error) {
	if err == nil {
		return
	}
	m.cluster.say("%v", err)
	m.change(func() { m.left = append(m.left, err) })
}

// wait waits until got says true, or why that will not come. got is called with the lock.
func (m *machines) wait(ctx context.Context, got func() (bool, error)) error {
	for {
		m.mu.Lock()
		done, err := got()
		changed := m.changed
		m.mu.Unlock()
		if done || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// await waits for a machine to have been booted.
func (m *machines) await(ctx context.Context, name string) (at netns.Event, err error) {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	err = m.wait(ctx, func() (bool, error) {
		for _, one := range m.present {
			if one.last.Name == name && one.last.Kind == netns.Booted {
				at = one.last
				return true, one.failed
			}
		}
		return false, nil
	})
	if err != nil {
		return at, fmt.Errorf("waiting for machine %s: %w", name, err)
	}
	return at, nil
}

// open says that there is a cluster that nodes can join.
func (m *machines) open(control *controlplane.ControlPlane) { m.change(func() { m.control = control }) }

// broken is why machines have no node, or that a node has lost one of its programs: nothing starts that again.
func (m *machines) broken() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lost []error
	for _, one := range m.present {
		if one.work == nil {
			continue
		}
		lost = append(lost, one.failed)
		if one.lost != nil {
			lost = append(lost, one.lost())
		}
	}
	return errors.Join(lost...)
}

func (m *machines) node(name string) (found *realnode.Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.present {
		if one.node != nil && one.work != nil && one.node.Name() == name {
			found = one.node
		}
	}
	return found
}

// close is called when all machines have been deleted. The error has what is left of those that were ever there.
func (m *machines) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := m.left
	if len(m.present) > 0 {
		left = append(left, fmt.Errorf("%d machines are still there", len(m.present)))
	}
	return errors.Join(left...)
}

// run starts the node of a machine, once there is a cluster to join, and gives it what the cluster has
// for it.
func (m *machines) run(ctx context.Context, one *machine, e netns.Event) error {
	if err := m.wait(ctx, func() (bool, error) { return m.control != nil, nil }); err != nil {
		return context.Canceled // no machine joins a cluster that does not come
	}
	options, err := m.options(e)
	if err != nil {
		return fmt.Errorf("preparing node %s: %w", e.Name, err)
	}
	node, err := realnode.Start(ctx, options)
	if err != nil {
		if ctx.Err() != nil {
			return context.Canceled
		}
		return err
	}
	m.change(func() { one.node, one.lost = node, node.Err })
	m.cluster.say("Node %s has been started", e.Name)
	return m.cluster.connect(ctx, node, e)
}

// options are what a node is made of.
func (m *machines) options(e netns.Event) (realnode.Options, error) {
	c := m.cluster
	o := realnode.Options{
		Name: e.Name, Namespace: e.Path, Addresses: c.options.registered(e.Addresses), Disks: e.Disks,
		Dir: c.folder.File(filepath.Join("machines", e.Name)), Logs: c.folder.File(filepath.Join("logs", e.Name)),
		Cgroup: c.folder.Cgroup(e.Name), Agents: c.programs.agents, Guest: c.programs.guest, ClientCA: m.control.CA(),
		SandboxImage: GuestImage, PodCIDR: PodCIDR,
	}
	var err error
	if o.Images, err = c.images(); err != nil {
		return o, err
	}
	if c.options.DNS {
		o.DNS, o.Domain = dnsAddress(), Domain
	}
	if e.Name == ControlPlane {
		o.Taints = []corev1.Taint{{Key: roleControlPlane, Effect: corev1.TaintEffectNoSchedule}}
	}
	if o.Kubelet, err = m.kubeconfig("kubelet-"+e.Name, "system:node:"+e.Name, "system:nodes"); err != nil {
		return o, err
	}
	o.Proxy, err = m.kubeconfig("kube-proxy", "system:kube-proxy")
	return o, err
}

// registered are those of a machine's addresses with which its node registers.
func (o Options) registered(addresses []netip.Addr) []netip.Addr {
	if o.OneAddress {
		return addresses[:1]
	}
	return addresses
}

// images are the archives with what every node has to have: ours, and those that were loaded later.
func (c *Cluster) images() ([]string, error) {
	folders := []string{c.programs.images, c.folder.File("images")}
	if c.options.DNS {
		folders = append(folders, c.programs.dns)
	}
	if c.options.Volumes {
		folders = append(folders, c.programs.volumes)
	}
	var all []string
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join(folder, "*.tar"))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (m *machines) kubeconfig(file, user string, groups ...string) (string, error) {
	config, err := m.control.User(user, groups...)
	if err != nil {
		return "", err
	}
	path := m.cluster.folder.File(file + ".kubeconfig")
	return path, controlplane.WriteKubeconfig(path, config)
}

// connect gives the node the networks of its pods once they have been chosen, which may be long after it has
// registered.
func (c *Cluster) connect(ctx context.Context, node *realnode.Node, e netns.Event) error {
	var cidrs []string
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		cidrs = c.networks(ctx, e.Name)
		return len(cidrs) > 0, nil
	})
	if err != nil {
		return context.Cause(ctx)
	}
	if err := node.SetPodCIDRs(cidrs...); err != nil || c.options.Networks != OwnNetworks {
		return err
	}
	return c.cloud.route(ctx, e, cidrs)
}

// networks are those of a node's pods: none while it has not registered or was given none, and while the API server
// does not answer.
func (c *Cluster) networks(ctx context.Context, name string) []string {
	node, err := c.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil || name == ControlPlane && !hasLabel(node) && c.labelControlPlane(ctx) != nil {
		return nil
	}
	return node.Spec.PodCIDRs
}

func hasLabel(node *corev1.Node) bool {
	_, has := node.Labels[roleControlPlane]
	return has
}

// labelControlPlane does what a kubelet may not.
func (c *Cluster) labelControlPlane(ctx context.Context) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:""}}}`, roleControlPlane)
	_, err := c.api.CoreV1().Nodes().Patch(ctx, ControlPlane, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
