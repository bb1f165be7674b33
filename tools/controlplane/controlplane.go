// Package controlplane runs a real Kubernetes control plane (etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler) on this machine, as an ordinary user, for tests and
// the demo. The components come from tools/lab, compiled from source by Build.
//
// It is real where it matters to a cloud controller manager: RBAC, ServiceAccount tokens, client
// certificates, the aggregation layer's request-header authority, admission, an audit log. It is
// small where it does not: one etcd that never syncs to disk, no leader election, everything on
// loopback addresses, all state in one folder. Several may run side by side.
//
//	cp, err := controlplane.Start(ctx, controlplane.Options{Dir: t.TempDir()})
//	if err != nil {
//		t.Fatal(err)
//	}
//	defer cp.Stop()
//	client, err := kubernetes.NewForConfig(cp.Config())
package controlplane

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane/internal/port"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// startLimit is how long a start may take before it counts as hanging. On two idle cores it
	// takes some seconds; a machine that also compiles needs many times that.
	startLimit = 3 * time.Minute

	// stopGrace is how long each component may take to end by itself.
	stopGrace = 5 * time.Second
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// ControlPlane is a running control plane. All methods may be called from any goroutine.
type ControlPlane struct {
	options     Options
	layout      layout
	credentials *credentials
	ports       []*port.Reservation
	admin       *rest.Config
	stop        func() error

	mu         sync.Mutex
	components []*component // in the order of their start
}

// component is a process and the name it has here.
type component struct {
	*process.Process
	name string
}

// Start starts a control plane and waits until it is ready: the API server says so, and the
// controller manager has given the namespaces default and kube-system their ServiceAccount and
// root certificate. When a component ends early, the error shows the end of its log. ctx bounds
// the start only; afterwards the control plane runs until Stop, or until this process ends in
// whatever way.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	o, err := o.complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("starting a control plane: %w", err)
	}
	c := &ControlPlane{options: o}
	c.stop = sync.OnceValue(c.stopAll)
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for _, step := range []func(context.Context) error{c.prepare, c.startComponents} {
		if err := step(ctx); err != nil {
			_ = c.Stop() // what went wrong is known already
			return nil, fmt.Errorf("starting a control plane in %q: %w", o.Dir, err)
		}
	}
	return c, nil
}

// Attach returns a control plane that another process has started in a folder and that is ready. Stop has no effect
// on it, and Err is always nil: both are that process' business.
func Attach(dir string) (*ControlPlane, error) {
	c := &ControlPlane{layout: newLayout(dir), stop: func() error { return nil }}
	admin, err := clientcmd.BuildConfigFromFlags("", c.layout.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("attaching to the control plane in %q: %w", dir, err)
	}
	admin.QPS = -1 // as for a control plane of this process
	c.admin = admin
	if c.layout.server, err = netip.ParseAddrPort(strings.TrimPrefix(admin.Host, "https://")); err != nil {
		return nil, fmt.Errorf("attaching to the control plane in %q: %w", dir, err)
	}
	c.credentials, err = readCredentials(c.layout.certs)
	return c, err
}

// newLayout is where a control plane in a folder keeps its files.
func newLayout(dir string) layout {
	return layout{
		dir: dir, certs: filepath.Join(dir, "certs"), etcd: filepath.Join(dir, "etcd"),
		logs:        filepath.Join(dir, "logs"),
		auditPolicy: filepath.Join(dir, "audit-policy.yaml"),
		auditLog:    filepath.Join(dir, "logs", "audit.log"),
		kubeconfig:  filepath.Join(dir, "kubeconfig"),
	}
}

// prepare writes every file the components read and chooses where the API server listens.
func (c *ControlPlane) prepare(context.Context) error {
	c.layout = newLayout(c.options.Dir)
	for _, folder := range []string{c.layout.certs, c.layout.etcd, c.layout.logs} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return fmt.Errorf("making its folders: %w; a folder serves one control plane only", err)
		}
	}
	if err := c.choosePort(); err != nil {
		return err
	}
	if err := os.WriteFile(c.layout.auditPolicy, auditPolicy, 0o600); err != nil {
		return fmt.Errorf("writing the audit policy: %w", err)
	}
	return c.makeCredentials()
}

// choosePort finds out where the API server listens. A port that was given is not checked: it may be one of another
// network namespace.
func (c *ControlPlane) choosePort() (err error) {
	if c.options.Port != 0 {
		c.layout.server = netip.AddrPortFrom(c.options.Address, c.options.Port)
		return nil
	}
	c.layout.server, err = c.reserve()
	return err
}

// reserve returns a free port at the address of the API server.
func (c *ControlPlane) reserve() (netip.AddrPort, error) {
	reserved, err := port.Reserve(c.options.Address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	c.ports = append(c.ports, reserved)
	return reserved.Addr(), nil
}

func (c *ControlPlane) makeCredentials() error {
	hosts, err := servingHosts(c.layout.server.Addr(), c.options.ServiceCIDR)
	if err != nil {
		return err
	}
	if c.credentials, err = newCredentials(c.layout.certs, hosts); err != nil {
		return err
	}
	if c.admin, err = c.User(adminUser, adminGroup); err != nil {
		return err
	}
	return WriteKubeconfig(c.layout.kubeconfig, c.admin)
}

// startComponents starts each component once what it needs answers.
func (c *ControlPlane) startComponents(ctx context.Context) error {
	client, closeIdle, err := newProbe(c.admin)
	if err != nil {
		return err
	}
	defer closeIdle()
	if err := c.run(ctx, Etcd, etcdFlags()); err != nil {
		return err
	}
	if err := c.await(ctx, "etcd", c.etcdListens); err != nil {
		return err
	}
	if err := c.run(ctx, APIServer, apiServerFlags(c.options, c.layout, c.credentials)); err != nil {
		return err
	}
	if err := c.await(ctx, "the API server", client.serverReady); err != nil {
		return err
	}
	if err := c.startClients(ctx); err != nil {
		return err
	}
	return c.await(ctx, "the controller manager", client.clusterReady)
}

// startClients starts the components that only talk to the API server.
func (c *ControlPlane) startClients(ctx context.Context) error {
	config, err := c.credentials.kubeconfig(c.layout.server, controllerUser)
	if err != nil {
		return err
	}
	if err := c.run(ctx, ControllerManager, controllerManagerFlags(c.options, c.credentials, config)); err != nil {
		return err
	}
	if config, err = c.credentials.kubeconfig(c.layout.server, schedulerUser); err != nil {
		return err
	}
	return c.run(ctx, Scheduler, clientFlags(config))
}

// run starts one component of the lab.
func (c *ControlPlane) run(ctx context.Context, name string, flags []string) error {
	return c.startProgram(ctx, name, []string{c.options.Binary, name}, flags)
}

// startProgram starts a component. It gets next to nothing of our environment, so that a proxy setting
// or a KUBECONFIG of the user changes nothing.
func (c *ControlPlane) startProgram(ctx context.Context, name string, program, flags []string) error {
	line := slices.Concat(c.options.Enter, program, flags, c.options.Flags[name])
	p, err := process.Start(context.WithoutCancel(ctx), process.Spec{
		Name:    name,
		Path:    line[0],
		Args:    line[1:],
		Env:     []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.layout.dir},
		Dir:     c.layout.etcd, // see etcdSocket
		LogPath: c.log(name),
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.components = append(c.components, &component{p, name})
	return nil
}

func (c *ControlPlane) log(name string) string { return filepath.Join(c.layout.logs, name+".log") }

// Config returns how to reach the API server as a member of system:masters. It is the caller's
// own copy, without a rate limit.
func (c *ControlPlane) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// User returns how to reach the API server as a user in the given groups, by a certificate.
func (c *ControlPlane) User(name string, groups ...string) (*rest.Config, error) {
	config, err := c.credentials.config(c.layout.server, name, groups...)
	if err != nil {
		return nil, err
	}
	config.Dial = c.options.Dial
	return config, nil
}

// CA returns the path of the certificate of the authority that signs servers' and users' certificates.
func (c *ControlPlane) CA() string { return c.credentials.cert(clusterCA) }

// Kubeconfig returns the path of a kubeconfig for the same user; it contains everything it needs.
func (c *ControlPlane) Kubeconfig() string { return c.layout.kubeconfig }

// Address returns where the API server listens.
func (c *ControlPlane) Address() (host string, port int) {
	return c.layout.server.Addr().String(), int(c.layout.server.Port())
}

// AuditLog returns the path of the audit log: one audit.k8s.io/v1 Event per line as JSON, at the
// level Metadata. Requests of the control plane itself, health checks and the renewals of node
// leases are not in it.
func (c *ControlPlane) AuditLog() string { return c.layout.auditLog }

// Logs returns the folder with the audit log and one log file per component.
func (c *ControlPlane) Logs() string { return c.layout.logs }

// Err returns why the control plane is broken: an error as soon as a component has ended by
// itself, with the end of its log. After Stop it returns nil.
func (c *ControlPlane) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.components {
		select {
		case <-p.Done():
			return p.ended()
		default:
		}
	}
	return nil
}

// ended describes an end that was not requested.
func (p *component) ended() error {
	if err := p.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%s (pid %d) ended by itself, without an error; its last lines:\n%s", p.name, p.PID(), p.Tail())
}

// Stop ends all components, the API server before etcd, and frees the ports. A component that does
// not end within a few seconds is killed; nothing here needs more time. The error is that
// of Err from before the stop, and of processes that cannot even be killed. The folder is left
// for the caller to read and remove. Further calls return the same error.
func (c *ControlPlane) Stop() error { return c.stop() }

func (c *ControlPlane) stopAll() error {
	errs := []error{c.Err()}
	c.mu.Lock()
	components := c.components
	c.components = nil
	c.mu.Unlock()
	for _, p := range slices.Backward(components) {
		if err := p.Stop(stopGrace); err != nil && !errors.Is(err, process.ErrKilled) {
			errs = append(errs, err)
		}
	}
	for _, reserved := range c.ports {
		errs = append(errs, reserved.Release())
	}
	return errors.Join(errs...)
}
