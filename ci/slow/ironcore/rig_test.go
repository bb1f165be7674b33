package ironcore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/forward"
	"github.com/thalassa-cloud/thalassa-ccm/tools/ironcorelab"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

const (
	// user is the program's in IronCore.
	user = "cloud-controller-manager"
	// network and prefix are names in IronCore.
	network, prefix = "nodes", "internal"
	// waitLimit bounds every wait that is not measured. A Service whose deletion fails four times waits 75 seconds: the
	// pause before a retry is 5 seconds at first and doubles.
	waitLimit = 3 * time.Minute
	// provision is the time that IronCore needs for addresses.
	provision = time.Second
)

func TestMain(m *testing.M) { controlplanetest.Main(m, withoutWatchLists) }

// withoutWatchLists makes an API server that refuses watches that begin with all objects, as older ones do: the program
// needs the permission to list objects there. Tests in src/ironcore use both.
func withoutWatchLists(o *controlplane.Options) {
	old := []string{"--feature-gates=WatchList=false"}
	o.Flags = map[string][]string{controlplane.APIServer: old, ironcorelab.APIServer: old}
}

// rig is a program between a cluster and IronCore.
type rig struct {
	*testing.T
	cluster  kubernetes.Interface
	plane    *controlplane.ControlPlane // of IronCore
	lab      *ironcorelab.Lab
	road     *road
	folder   string
	listen   string  // the program's host:port
	faulty   bool    // requests to IronCore fail
	unrouted bool    // the program routes no pods
	faults   *faults // nil without
	// namespace is the one of the objects in IronCore, and of the Services in the cluster.
	namespace, services string
	nodes               []string
	counted             int // requests in the audit log that costs has counted
}

// newRig starts IronCore in a namespace of its own, and gives the program its permissions there.
func newRig(t *testing.T, plane *controlplane.ControlPlane) *rig {
	t.Helper()
	r := &rig{T: t, plane: plane, cluster: controlplanetest.Client(t, controlplanetest.Get(t)), folder: t.TempDir(),
		listen: host.FreeAddress(t), namespace: controlplanetest.NamespaceIn(t, plane),
		services: controlplanetest.Namespace(t)}
	r.permit()
	var err error
	r.lab, err = ironcorelab.Start(t.Context(), plane.Config(), ironcorelab.Options{Namespace: r.namespace,
		Network: network, Provision: provision, Deletion: provision, Report: func(err error) { t.Log(err) }})
	r.must(err)
	t.Cleanup(r.lab.Stop)
	r.must(r.lab.AddNetwork(t.Context()))
	r.must(r.lab.AddPrefix(t.Context(), prefix, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 9, 0, 0}), 24)))
	r.road = newRoad(t, plane)
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// road is between the program and IronCore, and can be closed.
type road struct {
	*testing.T
	address string
	target  string
	open    *forward.Forwarder
	closed  net.Listener // what refuses connections meanwhile
	refused atomic.Int64 // how many connections
}

func newRoad(t *testing.T, plane *controlplane.ControlPlane) *road {
	t.Helper()
	address, port := plane.Address()
	w := &road{T: t, address: host.FreeAddress(t), target: net.JoinHostPort(address, strconv.Itoa(port))}
	w.reopen()
	t.Cleanup(func() { w.open.Close() })
	return w
}

func (w *road) listener() net.Listener {
	w.Helper()
	listener, err := new(net.ListenConfig).Listen(w.Context(), "tcp", w.address)
	if err != nil {
		w.Fatal(err)
	}
	return listener
}

// reopen lets connections through.
func (w *road) reopen() {
	w.Helper()
	if w.closed != nil {
		_ = w.closed.Close()
	}
	w.open = forward.Start(w.listener(), func(ctx context.Context, _ net.Addr) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", w.target)
	})
}

// close ends all connections and refuses others.
func (w *road) close() {
	w.Helper()
	w.open.Close()
	w.closed = w.listener()
	w.refused.Store(0)
	go func(l net.Listener) {
		for {
			connection, err := l.Accept()
			if err != nil {
				return
			}
			_ = connection.Close()
			w.refused.Add(1)
		}
	}(w.closed)
}

// start runs the program, with or without the selector.
func (r *rig) start(selector bool) (stop func()) {
	r.Helper()
	config, err := r.plane.User(user)
	r.must(err)
	r.writeKubeconfig(config)
	r.write("cloud-config", fmt.Sprintf(`{"networkName": %q, "clusterName": "blue", "prefixName": %q, "namespace": %q,
"instancesV2": {"removalGracePeriod": 1, "maxRemovals": 100}, "loadBalancer": {"removeOrphans": true}}`,
		network, prefix, r.namespace))
	kubeconfig := controlplanetest.Get(r).Kubeconfig()
	address, port, err := net.SplitHostPort(r.listen)
	r.must(err)
	running, err := process.Start(r.Context(), process.Spec{Name: "the program", Path: host.Program(r),
		Args: []string{"--cloud-provider=ironcore", "--cloud-config=" + r.path("cloud-config"),
			"--ironcore-kubeconfig=" + r.path("kubeconfig"), "--use-nic-selector=" + strconv.FormatBool(selector),
			"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig, "--bind-address=" + address, "--secure-port=" + port,
			"--leader-elect=false", "--configure-cloud-routes=" + strconv.FormatBool(!r.unrouted),
			"--allocate-node-cidrs=false",
			"--cluster-cidr=10.244.0.0/16", "--node-monitor-period=1s", "--node-status-update-frequency=1s"},
		Env: []string{"HOME=" + r.folder}, LogPath: r.path("log"),
	})
	r.must(err)
	r.Cleanup(func() {
		if r.Failed() {
			r.Logf("the end of the program's log:\n%s", running.Tail())
		}
	})
	return func() {
		if err := running.Stop(time.Minute); err != nil {
			r.Error(err)
		}
	}
}

func (r *rig) path(name string) string { return filepath.Join(r.folder, name) }

func (r *rig) write(name, text string) {
	r.Helper()
	r.must(os.WriteFile(r.path(name), []byte(text), 0o600))
}

// writeKubeconfig writes the program's access to IronCore, by the road.
func (r *rig) writeKubeconfig(config *rest.Config) {
	r.Helper()
	config = rest.CopyConfig(config)
	config.Host = "https://" + r.road.address
	if r.faulty {
		r.faults, config.Host = newFaults(r.T, config)
		config = &rest.Config{Host: config.Host}
	}
	r.must(controlplane.WriteKubeconfig(r.path("kubeconfig"), config))
}

// errNotReady is the answer of a program that is not ready.
var errNotReady = errors.New("the program is not ready")

// ready asks the program whether it is ready.
func (r *rig) ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+r.listen+"/readyz", nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errNotReady
	}
	return nil
}
