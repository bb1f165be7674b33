// Package program runs containers that are executables of this machine, as ordinary child
// processes.
//
// Such a process sees the file system of this machine, so its volumes lie in private directories
// and every mention of their mount paths is rewritten (see package volume and package paths).
//
// In-cluster configuration is the one thing that reads a fixed path which it then cannot have:
// client-go looks for the ServiceAccount token in /var/run/secrets/kubernetes.io/serviceaccount.
// When a volume is mounted there, the program therefore gets --kubeconfig=<file> appended, unless
// it has that flag already. The file says nothing but what in-cluster configuration would have
// found: the token file, the CA file and KUBERNETES_SERVICE_HOST and _PORT of the container.
package program

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/container"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/environ"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/paths"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/volume"
)

const (
	// accountMount is where every pod finds its ServiceAccount token.
	accountMount = "/var/run/secrets/kubernetes.io/serviceaccount"

	// searchPath is the PATH that container runtimes set when the image has none.
	searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// Runtime runs an executable.
type Runtime struct {
	// Path is the executable.
	Path string
	// KubeconfigFlags are the flags, without dashes, that get the generated kubeconfig.
	KubeconfigFlags []string
}

// Start starts the executable with exactly the command line and environment of the container.
func (r Runtime) Start(ctx context.Context, l image.Launch) (container.Instance, error) {
	dir := filepath.Join(l.Dir, "containers", l.Container.Name)
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, fmt.Errorf("making a home directory: %w", err)
	}
	volumes, err := volume.Prepare(ctx, volume.Options{
		Client: l.Machine.Client, Pod: l.Pod, Container: l.Container, Dir: filepath.Join(dir, "volumes"),
	})
	if err != nil {
		return nil, &container.WaitError{Reason: container.ReasonCreating, Event: "FailedMount", Err: err}
	}
	values, err := environ.Of(l.Pod(), l.Container, base(l, home))
	if err != nil {
		return nil, &container.WaitError{Reason: container.ReasonConfig, Err: err}
	}
	words := environ.CommandLine(r.Path, l.Container, values)
	table := volumes.Table()
	for i, word := range words {
		words[i] = table.Rewrite(word)
	}
	if words, err = r.addKubeconfig(words[1:], table, values, filepath.Join(dir, "kubeconfig")); err != nil {
		return nil, err
	}
	child, err := process.Start(context.WithoutCancel(ctx), process.Spec{
		Name: l.Container.Name, Path: r.Path, Args: words, Env: environment(table, values), Dir: home, LogPath: l.Log,
	})
	if err != nil {
		return nil, err
	}
	return attach(child, volumes, l), nil
}

// base is what every container has in its environment.
func base(l image.Launch, home string) map[string]string {
	pod := l.Pod()
	host := pod.Name
	if pod.Spec.HostNetwork {
		host = l.Machine.Name
	}
	port := strconv.Itoa(l.Machine.APIServerPort)
	return map[string]string{
		"PATH":                          searchPath,
		"HOME":                          home,
		"HOSTNAME":                      host,
		"KUBERNETES_SERVICE_HOST":       l.Machine.APIServerHost,
		"KUBERNETES_SERVICE_PORT":       port,
		"KUBERNETES_SERVICE_PORT_HTTPS": port,
	}
}

// environment is the form in which processes are given their environment.
func environment(table paths.Table, values map[string]string) []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, name+"="+table.Rewrite(values[name]))
	}
	return env
}

// addKubeconfig appends the flags that stand in for in-cluster configuration; see the package.
func (r Runtime) addKubeconfig(arguments []string, table paths.Table, values map[string]string,
	file string) ([]string, error) {
	account, ok := table[accountMount]
	if !ok {
		return arguments, nil
	}
	if err := clientcmd.WriteToFile(kubeconfig(account, values), file); err != nil {
		return nil, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	for _, flag := range r.KubeconfigFlags {
		if !hasFlag(arguments, flag) {
			arguments = append(arguments, "--"+flag+"="+file)
		}
	}
	return arguments, nil
}

func kubeconfig(account string, values map[string]string) clientcmdapi.Config {
	const name = "in-cluster"
	return clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: "https://" + net.JoinHostPort(values["KUBERNETES_SERVICE_HOST"],
				values["KUBERNETES_SERVICE_PORT"]),
			CertificateAuthority: filepath.Join(account, corev1.ServiceAccountRootCAKey),
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {TokenFile: filepath.Join(account,
			corev1.ServiceAccountTokenKey)}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
}

func hasFlag(arguments []string, flag string) bool {
	return slices.ContainsFunc(arguments, func(argument string) bool {
		name, _, _ := strings.Cut(argument, "=")
		return strings.HasPrefix(argument, "-") && strings.TrimLeft(name, "-") == flag
	})
}

// instance is one run.
type instance struct {
	child *process.Process
	done  chan struct{}
}

// attach keeps the volumes and the address of a process while it runs.
func attach(child *process.Process, volumes *volume.Set, l image.Launch) *instance {
	i := &instance{child: child, done: make(chan struct{})}
	release := alias(l)
	ctx, cancel := context.WithCancel(context.Background())
	var keeping sync.WaitGroup
	keeping.Go(func() {
		volumes.Keep(ctx, func(err error) { l.Event(corev1.EventTypeWarning, "FailedMount", err.Error()) })
	})
	go func() {
		<-child.Done()
		cancel()
		keeping.Wait()
		release()
		close(i.done)
	}()
	return i
}

// alias makes the pod's own address lead to the machine's, where the process listens.
func alias(l image.Launch) (release func()) {
	pod, err := netip.ParseAddr(l.Pod().Status.PodIP)
	if err != nil || pod == l.Machine.Address {
		return func() {}
	}
	return l.Machine.Fabric.Alias(pod, l.Machine.Address)
}

// Done is closed when the process has ended and nothing of it is left.
func (i *instance) Done() <-chan struct{} { return i.done }

// Exit says how the process ended.
func (i *instance) Exit() container.Exit {
	var exit *process.ExitError
	if !errors.As(i.child.Err(), &exit) {
		return container.Exit{Log: i.child.Tail()}
	}
	e := container.Exit{Code: int32(exit.Code), Signal: int32(exit.Signal), Log: exit.Tail}
	if e.Signal != 0 {
		e.Code = 128 + e.Signal
	}
	return e
}

// Stop sends SIGTERM and, after the grace period, SIGKILL.
func (i *instance) Stop(grace time.Duration) {
	// That it had to be killed shows in its exit status.
	_ = i.child.Stop(grace)
	<-i.done
}
