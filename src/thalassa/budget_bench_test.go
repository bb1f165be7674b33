package thalassa

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget/benchtest"
	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// BenchmarkServices measures what looking after 1,000 Services takes, as the budgets name it. The cloud is a process of
// its own, so that CPU and memory are the provider's; what stands for the API server is part of them, and small.
func BenchmarkServices(b *testing.B) {
	sizes := []clusterSize{
		{"", "1000x1000", 1000, 1000, 0, 1500},
		{"5000x1000-", "5000x1000", 1000, 5000, 0, 1500},
		{"5000x1000-subset-", "5000x1000-subset", 1000, 5000, 250, 1500},
	}
	if benchtest.Large() {
		sizes = append(sizes, clusterSize{"5000x2000-", "5000x2000", 2000, 5000, 0, 4000},
			clusterSize{"5000x10000-", "5000x10000", 10_000, 5000, 25, 20_000})
	}
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) { measure(b, size) })
	}
}

// clusterSize is how large a cluster is. Its budgets have the prefix. Load balancers have at most maxTargets targets,
// or all nodes if it is 0. Services have one port or two.
type clusterSize struct {
	prefix, name                        string
	services, nodes, maxTargets, groups int
}

// mebi is a MiB.
const mebi = 1 << 20

// measure reports what the budgets of a cluster of that size limit.
func measure(b *testing.B, size clusterSize) {
	b.Helper()
	prefix, services := size.prefix, size.services
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as the process has it
	large := newExternalServicesCluster(b, size)
	large.restart()
	large.compared.Store(0)
	benchtest.ForgetMemory()
	began, calls := benchtest.CPU(b), large.wire.calls.Load()
	large.wire.writes.Store(0)
	defer large.run(manyWorkers)()
	large.looked(services)
	start := benchtest.CPU(b) - began
	calls = large.wire.calls.Load() - calls

	began = benchtest.CPU(b)
	passes := 0
	for b.Loop() {
		large.twin()
		large.looked(services)
		passes++
	}
	// Metrics from before the loop are forgotten by it.
	b.ReportMetric((benchtest.CPU(b)-began).Seconds()/float64(passes), prefix+"pass-cpu")
	b.ReportMetric(start.Seconds(), prefix+"start-cpu")
	b.ReportMetric(float64(calls), prefix+"start-calls")

	if writes := large.patches.Load() + int64(large.reported.total()) + large.wire.writes.Load(); writes > 0 {
		b.Errorf("%d writes and events although nothing differs: %v", writes, large.reported.seen())
	}
	b.ReportMetric(large.firstAddress().Seconds(), prefix+"first-address")
	large.looked(services)
	minute := large.minute(services + 1) // two copies at a time are the most there is
	b.ReportMetric(minute.traffic, prefix+"traffic")
	b.ReportMetric(minute.data, prefix+"data")
	b.ReportMetric(minute.calls, prefix+"minute-calls")
	large.wire.conditional.Store(true) // what is remembered for that is part of the memory
	large.minute(services + 1)         // the first answers have ETags
	minute = large.minute(services + 1)
	b.ReportMetric(minute.processor, prefix+"conditional-cpu")
	b.ReportMetric(minute.traffic, prefix+"conditional-traffic")
	b.ReportMetric(benchtest.PeakMemory(), prefix+"memory")
	b.ReportMetric(benchtest.LiveMemory(), prefix+"heap")
	if size.maxTargets > 0 {
		b.ReportMetric(large.joinWrites(services+1, size.groups+1), prefix+"join-writes")
	}
}

// quietMinute is what a minute without changes costs the service controller: CPU seconds, calls, and MiB.
type quietMinute struct{ processor, calls, traffic, data float64 }

// minute does what the service controller does in a check for drift, and returns the part of a minute in the time until
// the next one.
func (m externalServicesCluster) minute(services int) quietMinute {
	m.Helper()
	began, calls, received, data := benchtest.CPU(m), m.wire.calls.Load(), m.wire.received.Load(), m.wire.data.Load()
	if err := m.cloud.balancers.Refresh(m.Context()); err != nil {
		m.Fatal(err)
	}
	m.twin()
	m.looked(services)
	if _, err := m.cloud.balancers.ListManaged(m.Context()); err != nil { // for orphans
		m.Fatal(err)
	}
	minutes := float64(m.config.LoadBalancer.DriftPeriod) / 60
	return quietMinute{(benchtest.CPU(m) - began).Seconds() / minutes, float64(m.wire.calls.Load()-calls) / minutes,
		float64(m.wire.received.Load()-received) / mebi / minutes, float64(m.wire.data.Load()-data) / mebi / minutes}
}

// firstAddress is the time that a new Service waits for its address while all others are compared.
func (m externalServicesCluster) firstAddress() time.Duration {
	m.Helper()
	m.twin()
	asked := time.Now()
	m.order(1, 1)
	benchtest.Until(m, func() bool { return m.addressless() == 0 })
	return time.Since(asked)
}

// joiningNodes is the number of nodes whose joining is measured, one after the other. Chance decides of which Services
// each of them is a target: with so many, the figure is hardly ever 10 % above the average. It is below it, because a
// target of a Service is not replaced within the time of a health check after the one before.
const joiningNodes = 30

// joinWrites lets nodes join one after the other, and returns the writes for each of them and 1,000 target groups.
func (m externalServicesCluster) joinWrites(services, groups int) float64 {
	m.Helper()
	m.wire.attached.Store(0)
	for _, machine := range m.joining {
		m.reported.forget()
		m.compared.Store(0)
		m.populate([]string{machine})
		// Services that change are compared twice, and have an event.
		benchtest.Until(m, func() bool { return m.compared.Load() >= int64(services+m.reported.total()) })
	}
	if m.wire.attached.Load() == 0 {
		m.Errorf("no target group was written although %d nodes joined", len(m.joining))
	}
	return 1000 * float64(m.wire.attached.Load()) / float64(len(m.joining)*groups)
}

// externalServicesCluster is a servicesCluster whose cloud is another process.
type externalServicesCluster struct {
	*servicesCluster
	wire    *scale
	joining []string // machines without nodes
}

// newExternalServicesCluster is a cluster with everything in place, whose controller runs no more.
func newExternalServicesCluster(b *testing.B, size clusterSize) externalServicesCluster {
	b.Helper()
	cloud := startCloud(b, size.nodes+joiningNodes)
	scale := newScale()
	l := &lab{TB: b, network: scale, config: cloudconfig.Default()}
	l.credentials = secret.Credentials{ClientID: emulator.DefaultClientID, ClientSecret: emulator.DefaultClientSecret}
	l.config.Organisation, l.config.VPCIdentity, l.config.Cluster, l.config.Endpoint = emulator.DefaultOrganisationSlug,
		emulator.DefaultVPC, "k8s-test", cloud.URL
	l.config.API = configfile.API{CallTimeout: 600, RequestsPerSecond: 100_000, Burst: 100_000}
	l.config.LoadBalancer.MaxTargets = size.maxTargets
	l.restart()
	m := externalServicesCluster{newServicesCluster(l), scale, cloud.Machines[size.nodes:]}
	m.populate(cloud.Machines[:size.nodes])
	m.breaks(cloud.Machines[0], corev1.NodeReady, corev1.ConditionFalse)
	m.breaks(cloud.Machines[1], corev1.NodeNetworkUnavailable, corev1.ConditionTrue)
	m.order(2*size.services-size.groups, 1)
	m.order(size.groups-size.services, 2)
	stop := m.run(manyWorkers)
	benchtest.Until(m, func() bool { return m.addressless() == 0 })
	stop()
	m.patches.Store(0)
	m.reported.forget()
	return m
}

// breaks gives the condition to the node on a machine. A large cluster always has nodes that cannot be used.
func (m externalServicesCluster) breaks(machine string, condition corev1.NodeConditionType,
	status corev1.ConditionStatus) {
	node := readyNode(machine)
	if condition == corev1.NodeReady {
		node.Status.Conditions = nil
	}
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: condition, Status: status})
	m.nodes.put(node)
}

// looked returns once that many Services were looked at since the last time.
func (m externalServicesCluster) looked(services int) {
	m.Helper()
	benchtest.Until(m, func() bool { return m.compared.Load() >= int64(services) })
	m.compared.Store(0)
}

// scale is a network that weighs what comes through it.
type scale struct {
	next     http.RoundTripper
	received atomic.Int64 // bytes, as they are on the wire
	data     atomic.Int64 // bytes of answers, decompressed
	calls    atomic.Int64
	writes   atomic.Int64
	attached atomic.Int64 // calls that set the targets of a target group
	// conditional lets ETags through. Without them, the cloud is one that does not answer conditional requests.
	conditional atomic.Bool
}

func newScale() *scale {
	s := &scale{}
	s.next = &http.Transport{MaxIdleConnsPerHost: 100,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connection, err := new(net.Dialer).DialContext(ctx, network, address)
			return weighedConnection{connection, &s.received}, err
		}}
	return s
}

func (s *scale) RoundTrip(request *http.Request) (*http.Response, error) {
	s.calls.Add(1)
	if request.Method != http.MethodGet && strings.HasPrefix(request.URL.Path, "/v1/") { // other paths are of tokens
		s.writes.Add(1)
	}
	if strings.HasSuffix(request.URL.Path, "/attachments") {
		s.attached.Add(1)
	}
	response, err := s.next.RoundTrip(request)
	if err == nil {
		response.Body = weighedBody{response.Body, &s.data}
		if !s.conditional.Load() {
			response.Header.Del("ETag")
		}
	}
	return response, err
}

// weighedConnection and weighedBody count what is read.
type (
	weighedConnection struct {
		net.Conn
		bytes *atomic.Int64
	}
	weighedBody struct {
		io.ReadCloser
		bytes *atomic.Int64
	}
)

func (w weighedConnection) Read(into []byte) (int, error) {
	n, err := w.Conn.Read(into)
	w.bytes.Add(int64(n))
	return n, err
}

func (w weighedBody) Read(into []byte) (int, error) {
	n, err := w.ReadCloser.Read(into)
	w.bytes.Add(int64(n))
	return n, err
}

// cloudEnvironment makes a cloud of the test's own program, with so many machines.
const cloudEnvironment = "THALASSA_TEST_CLOUD"

// place is where a cloud in another process is, and what it has.
type place struct {
	URL      string
	Machines []string // identities
}

// startCloud starts a cloud in a process of its own, until the benchmark ends.
func startCloud(b *testing.B, machines int) (at place) {
	b.Helper()
	benchtest.StartServer(b, cloudEnvironment, machines, &at)
	return at
}

// serveCloud is a cloud with so many machines, which says where it is on standard output and ends with standard input.
func serveCloud(machines string) (err error) {
	n, err := strconv.Atoi(machines)
	if err != nil {
		return err
	}
	emulated, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed(),
		Switches: emulator.Switches{ConditionalRequests: true}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, emulated.Close()) }()
	identities, err := emulated.AddMachines(n)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: emulated, ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	if err := json.NewEncoder(os.Stdout).Encode(place{"http://" + listener.Addr().String(), identities}); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
