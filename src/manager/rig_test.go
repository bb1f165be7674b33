package manager

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	fakecloud "k8s.io/cloud-provider/fake"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/adapter"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// patience bounds every wait of the tests. It is long, because it is only spent
// when something is broken.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	// Many commands run in this process; all have the same logging flags.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"), // lives as long as the process
	)
}

// steps is what happened, in order.
type steps struct {
	mu    sync.Mutex
	names []string
}

func (s *steps) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
}

func (s *steps) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.names)
}

func (s *steps) wait(t *testing.T, name string) {
	t.Helper()
	eventually(t, func() error {
		if list := s.list(); !slices.Contains(list, name) {
			return fmt.Errorf("step %q is not among %q", name, list)
		}
		return nil
	})
}

// testCloud is a cloud that notes what the process does with it.
type testCloud struct {
	*fakecloud.Cloud
	steps

	mu       sync.Mutex
	notReady error
	nodes    corelisters.NodeLister
	stop     <-chan struct{}
	drain    func(context.Context) error
	takes    time.Duration // a write, at most
}

// Collectors makes the test cloud's metric; every process has one of its own.
func (c *testCloud) Collectors() []prometheus.Collector {
	return []prometheus.Collector{prometheus.NewGauge(prometheus.GaugeOpts{Name: "test_cloud_metric",
		Help: "A metric of the cloud."})}
}

func newTestCloud() *testCloud {
	return &testCloud{
		Cloud: &fakecloud.Cloud{DisableRoutes: true, EnableInstancesV2: true, ExistsByProviderID: true},
		drain: func(context.Context) error { return nil },
	}
}

func (c *testCloud) SetInformers(factory informers.SharedInformerFactory) {
	c.add("SetInformers")
	c.nodes = factory.Core().V1().Nodes().Lister()
}

func (c *testCloud) Initialize(_ cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	c.add("Initialize")
	c.stop = stop
}

func (c *testCloud) EnsureLoadBalancer(_ context.Context, _ string, service *corev1.Service, _ []*corev1.Node,
) (*corev1.LoadBalancerStatus, error) {
	c.add("ensure " + service.Name)
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}, nil
}

// LoadBalancer is the cloud itself, not the fake below it.
func (c *testCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return c, !c.DisableLoadBalancers
}

func (c *testCloud) Drain(ctx context.Context) error {
	select {
	case <-c.stop:
		c.add("Drain after stop")
	default:
		c.add("Drain before stop")
	}
	defer c.add("drained")
	return c.drain(ctx)
}

func (c *testCloud) Ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.notReady
}

func (c *testCloud) setReady(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notReady = err
}

// offer returns what the cloud offers through the adapter, and what it notes beside that.
func (c *testCloud) offer(cluster string) *cloud.Cloud {
	offered := adapter.New(c, cluster)
	offered.Collectors, offered.Ready, offered.Drain, offered.DrainTimeout = c.Collectors(), c.Ready, c.Drain, c.takes
	return offered
}

// provider serves the cloud under the name "test".
func provider(test *testCloud) Provider {
	return Provider{Name: "test", New: func(_ context.Context, options cloud.Options) (*cloud.Cloud, error) {
		if _, err := os.Stat(options.ConfigFile); err != nil {
			return nil, err
		}
		return test.offer(options.ClusterName), nil
	}}
}

// rig is a running process.
type rig struct {
	t      *testing.T
	url    string
	stop   context.CancelFunc // is SIGTERM
	ended  chan struct{}
	err    error // once ended is closed
	stderr bytes.Buffer
}

// fastElection makes an election take a second, not fifteen.
func fastElection() []string {
	return []string{"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
		"--leader-elect-retry-period=200ms"}
}

// start runs the command against an API server, and ends it with the test.
func start(t *testing.T, api *apiServer, test *testCloud, flags ...string) *rig {
	t.Helper()
	s, err := newSettings(testBuild, []Provider{provider(test)})
	if err != nil {
		t.Fatal(err)
	}
	s.SecureServing.Listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := api.kubeconfig(t)
	cmd := newCommand(s)
	cmd.SetArgs(slices.Concat([]string{
		"--cloud-config=" + kubeconfig, // any file that exists
		"--kubeconfig=" + kubeconfig, "--kube-api-content-type=application/json",
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
	}, fastElection(), flags))
	return run(t, cmd, "https://"+s.SecureServing.Listener.Addr().String())
}

func run(t *testing.T, cmd *cobra.Command, url string) *rig {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &rig{t: t, url: url, stop: stop, ended: make(chan struct{})}
	cmd.SetErr(&r.stderr)
	go func() {
		defer close(r.ended)
		r.err = cmd.ExecuteContext(ctx)
	}()
	t.Cleanup(func() {
		stop()
		_ = r.wait()
	})
	return r
}

// wait returns how the process ended.
func (r *rig) wait() error {
	r.t.Helper()
	select {
	case <-r.ended:
		return r.err
	case <-time.After(patience):
		r.t.Error("the process did not end")
		return errors.New("still running")
	}
}

// get asks the secured port, as the bearer of a token if there is one.
func (r *rig) get(path, token string) (status int, body string) {
	r.t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Transport: transport, Timeout: patience}).Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

// waitFor waits until a path has the status.
func (r *rig) waitFor(path string, want int) (body string) {
	r.t.Helper()
	eventually(r.t, func() error {
		status, text := r.get(path, "")
		body = text
		if status != want {
			return fmt.Errorf("%s is %d, not %d: %s", path, status, want, text)
		}
		return nil
	})
	return body
}

// eventually waits until the condition holds.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	deadline := time.After(patience)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("waited in vain: %v", err)
		case <-ticker.C:
		}
	}
}

// works runs a controller, with informers and metrics of its own, until a condition holds; then it has to end.
func works(t *testing.T, env environment, build func(environment) (loop, error),
	condition func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	env.informers = informers.NewSharedInformerFactory(env.client, 0)
	env.recorder = event.NewRecorder(ctx, env.client, "manager-test")
	made, err := build(env)
	if err != nil {
		t.Fatal(err)
	}
	if len(made.collectors) == 0 {
		t.Error("the controller has no metrics")
	}
	ended := make(chan struct{})
	env.informers.StartWithContext(ctx)
	go func() { made.run(ctx); close(ended) }()
	eventually(t, func() error { return condition(ctx) })
	stop()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the controller does not end")
	}
	env.informers.Shutdown()
}

// notYetError is what a condition still waits for.
type notYetError string

func (e notYetError) Error() string { return "not yet: " + string(e) }
