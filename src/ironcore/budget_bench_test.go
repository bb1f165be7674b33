package ironcore

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget/benchtest"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// BenchmarkCluster measures what a large cluster takes, as the budgets name it. IronCore is a process of its own, so
// that CPU and memory are those of the controllers; what stands for the API server of Kubernetes is part of them, and
// small.
func BenchmarkCluster(b *testing.B) {
	const nodes, services = 1000, 200
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as the process has it
	c := newRemoteCluster(b, nodes, services)
	c.begin()
	benchtest.Until(c.t, func() bool { return c.initialised() == nodes })
	c.eachService(func(s *corev1.Service) error { return c.objects.Create(s) })
	benchtest.Until(c.t, func() bool { return c.withoutAddress() == 0 && c.network.idle() > idleTime })
	c.stop()
	benchtest.ForgetMemory()
	c.count()
	began, before := benchtest.CPU(b), c.compared.Load()
	c.begin()
	benchtest.Until(c.t, func() bool { return c.compared.Load() >= before+services })
	start := benchtest.CPU(b) - began

	began = benchtest.CPU(b)
	passes := 0
	for b.Loop() {
		c.pass()
		passes++
	}
	// Metrics from before the loop are forgotten by it.
	b.ReportMetric((benchtest.CPU(b)-began).Seconds()/float64(passes), "ironcore-pass-cpu")
	b.ReportMetric(start.Seconds(), "ironcore-start-cpu")
	if did := c.count(); did.calls+did.patches > 0 {
		b.Errorf("%v requests to IronCore and %v writes to Kubernetes although nothing differs", did.calls, did.patches)
	}
	b.ReportMetric(benchtest.PeakMemory(), "ironcore-memory")
	b.ReportMetric(benchtest.LiveMemory(), "ironcore-heap")
	began = benchtest.CPU(b)
	c.join(nodes, nodes+1)
	benchtest.Until(c.t, func() bool { return c.initialised() > nodes && c.network.idle() > idleTime })
	b.ReportMetric((benchtest.CPU(b) - began).Seconds(), "ironcore-join-cpu")
	asked := time.Now()
	c.create(numbered(services))
	benchtest.Until(c.t, func() bool { return c.withoutAddress() == 0 })
	b.ReportMetric(time.Since(asked).Seconds(), "ironcore-first-address")
	c.stop()
}

// idleTime is the time without a request after which nothing happens any more.
const idleTime = 3 * time.Second

// remoteCluster is a large cluster whose IronCore is another process.
type remoteCluster struct{ *largeCluster }

func newRemoteCluster(b *testing.B, nodes, services int) remoteCluster {
	b.Helper()
	c := newLargeCluster(b, false, nodes, services)
	c.rate = 0
	c.remote = startIronCore(b, nodes+1)
	for i := range nodes {
		c.register(nodeName(i), pods(i))
	}
	return remoteCluster{c}
}

// join registers Nodes, whose machines exist.
func (c remoteCluster) join(from, to int) {
	for i := from; i < to; i++ {
		c.register(nodeName(i), pods(i))
	}
}

// initialised counts the Nodes that have a provider ID.
func (c remoteCluster) initialised() int {
	count := 0
	for _, one := range c.objects.Nodes() {
		if one.Spec.ProviderID != "" {
			count++
		}
	}
	return count
}

// pass changes all Services so that nothing differs, and waits until all are compared.
func (c remoteCluster) pass() {
	c.t.Helper()
	before := c.compared.Load()
	c.eachService(func(s *corev1.Service) error {
		return c.objects.Change(s, func(object cluster.Object) {
			object.SetAnnotations(map[string]string{"example.com/unused": strconv.FormatInt(before, 10)})
		})
	})
	benchtest.Until(c.t, func() bool { return c.compared.Load() >= before+int64(c.services) })
}

// ironcoreEnvironment makes an IronCore of the test's own program, with so many machines.
const ironcoreEnvironment = "IRONCORE_TEST_SERVER"

// startIronCore starts an IronCore in another process until the benchmark ends, and returns the way to it.
func startIronCore(b *testing.B, machines int) http.RoundTripper {
	b.Helper()
	var address string
	benchtest.StartServer(b, ironcoreEnvironment, machines, &address)
	return remote{address, &http.Transport{MaxIdleConnsPerHost: 100}}
}

// remote sends requests to another host than the one that they name.
type remote struct {
	host string
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r remote) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.URL.Host = r.host
	return r.next.RoundTrip(request)
}

// serveIronCore is an IronCore with so many machines, which writes its address to standard output and ends with
// standard input.
func serveIronCore(machines string) error {
	n, err := strconv.Atoi(machines)
	if err != nil {
		return err
	}
	u := &userView{server: simulator.New(simulator.Options{Namespace: testNamespace, Network: testNetwork})}
	for i := range n {
		u.addMachine(nodeName(i))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "ironcore.invalid"})
	proxy.Transport, proxy.FlushInterval = u.server.Config().Transport, -1
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	if err := json.NewEncoder(os.Stdout).Encode(listener.Addr().String()); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
