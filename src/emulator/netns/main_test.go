//go:build linux

package netns

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"
	"github.com/thalassa-cloud/client-go/thalassa"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopdevice"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic/traffictest"
)

// named makes the test's program be an emulator with this name, with one machine,
// which says so on its output and then waits to be killed.
const named = "NETNS_TEST_NAME"

func TestMain(m *testing.M) {
	name := os.Getenv(named)
	if name == "" {
		goleak.VerifyTestMain(m)
		return
	}
	plane, err := New(Options{Name: name, Client: os.Getenv(named + "_CLIENT")})
	if err == nil {
		var cloud *emulator.Emulator
		if cloud, err = emulator.New(emulator.Config{Seed: emulator.DualStackSeed(), DataPlane: plane}); err == nil {
			_, err = cloud.AddMachine(emulator.MachineSpec{Name: "one"})
		}
	}
	fmt.Println("started:", err)
	ended, stop := signal.NotifyContext(context.Background(), unix.SIGTERM) // waiting for nothing would be a deadlock
	defer stop()
	<-ended.Done()
	runtime.KeepAlive(plane) // which else is collected, and its lock with it
}

// timeLimit bounds every wait; nothing takes nearly that long. Refused is how
// long to wait for what should not arrive.
const (
	timeLimit = 10 * time.Second
	refused   = 300 * time.Millisecond
)

// cloud is an emulator with a plane of its own.
type cloud struct {
	*emulator.Emulator
	t      *testing.T
	plane  *Plane
	api    *iaas.Client
	events chan Event
}

// asRoot runs a test with a cloud. It needs root and nft.
func asRoot(t *testing.T, test func(c *cloud), adjust ...func(*emulator.Config, *Options)) {
	t.Helper()
	roottest.Need(t, "nft")
	events := make(chan Event, 1000)
	options := Options{Proxy: proxy.Options{Second: 5 * time.Millisecond, OneTarget: true}, OnMachine: func(e Event) {
		events <- e
	}}
	cfg := emulator.Config{Seed: emulator.DualStackSeed()}
	for _, f := range adjust {
		f(&cfg, &options)
	}
	plane, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DataPlane, cfg.Middleware = plane, openapitest.Middleware(t)
	e, err := emulator.New(cfg)
	if err != nil {
		t.Fatalf("New: %v, Close: %v", err, plane.Close())
	}
	server := httptest.NewServer(e)
	t.Cleanup(func() {
		server.Close()
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if left, err := namespace.Names(plane.Name() + "-"); err != nil || len(left) > 0 {
			t.Errorf("left after Close: %v, %v", left, err)
		}
		if left, err := loopdevice.Below(plane.disks.folder); err != nil || len(left) > 0 || there(plane.disks.folder) {
			t.Errorf("left after Close: block devices %v, %v, %s: %t", left, err, plane.disks.folder,
				there(plane.disks.folder))
		}
	})
	test(&cloud{e, t, plane, official(t, server.URL), events})
	if problem := e.State().Network.Problem; problem != "" {
		t.Errorf("the network has a problem: %s", problem)
	}
}

// official is the official client.
func official(t *testing.T, url string) *iaas.Client {
	t.Helper()
	client, err := thalassa.NewClient(vendor.WithBaseURL(url), vendor.WithOrganisation(emulator.DefaultOrganisation),
		vendor.WithAuthPersonalToken(emulator.DefaultToken))
	if err != nil {
		t.Fatal(err)
	}
	return client.IaaS()
}

// box is a machine with its servers.
type box struct {
	sockets
	identity string
	v4, v6   netip.Addr
}

// machine adds a machine to a subnet ("" is the first).
func (c *cloud) machine(name, subnet string, groups ...string) *box {
	c.t.Helper()
	identity, err := c.AddMachine(emulator.MachineSpec{Name: name, Subnet: subnet, SecurityGroups: groups})
	if err != nil {
		c.t.Fatal(err)
	}
	b := &box{identity: identity}
	e := c.event()
	if e.Identity != identity || e.Kind != Booted {
		c.t.Fatalf("event %+v, want that %s booted", e, identity)
	}
	if b.Namespace, err = namespace.Open(e.Namespace); err != nil {
		c.t.Fatal(err)
	}
	b.v4, b.v6 = ofFamilies(e.Addresses)
	c.t.Cleanup(func() { _ = b.Close() })
	return b
}

// event is what happens next to a machine.
func (c *cloud) event() Event {
	c.t.Helper()
	select {
	case e := <-c.events:
		return e
	case <-time.After(timeLimit):
		c.t.Fatal("nothing happens to any machine")
	}
	return Event{}
}

func ofFamilies(addresses []netip.Addr) (v4, v6 netip.Addr) {
	for _, addr := range addresses {
		if addr.Is4() {
			v4 = addr
		} else {
			v6 = addr
		}
	}
	return v4, v6
}

// serve starts a TCP server in the machine, on all its addresses. It answers a
// line with the machine's name, the peer's address and the line, after an
// optional PROXY header that it answers with.
func (c *cloud) serve(b *box, port uint16) {
	c.t.Helper()
	listener, err := b.ListenTCP(netip.AddrPortFrom(netip.IPv6Unspecified(), port))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = listener.Close() })
	ctx := c.t.Context()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go b.answer(ctx, conn)
		}
	}()
}

// answer ends with the test, too: the client may have ended with its namespace without closing the connection.
func (b *box) answer(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		peer := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
		fmt.Fprintf(conn, "%s %s %s", b.short(), peer, line)
	}
}

// short is the machine's name without the plane's.
func (b *box) short() string {
	_, name, _ := strings.Cut(b.Name(), "-")
	return name
}

// serveUDP starts a UDP server in the machine that answers with the machine's
// name and what it got.
func (c *cloud) serveUDP(b *box, port uint16) {
	c.t.Helper()
	conn, err := b.ListenUDP(netip.AddrPortFrom(netip.IPv6Unspecified(), port))
	if err != nil {
		c.t.Fatal(err)
	}
	traffictest.EchoUDP(c.t, conn, b.short()+" ")
}

// ask sends a line from a namespace to an address and returns the answer, or
// the error.
func ask(from *namespace.Namespace, network string, source netip.Addr, to netip.AddrPort,
	wait time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if !source.IsValid() {
		source = to.Addr() // of the same family, and replaced below
	}
	conn, err := sockets{from}.Dial(ctx, network, otherwise(source, to.Addr()), to)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}

// otherwise is a source, or any address of the family of to.
func otherwise(source, to netip.Addr) netip.Addr {
	if source != to {
		return source
	}
	return unspecified(to)
}

// reaches reports whether a namespace reaches an address with TCP.
func (c *cloud) reaches(from *namespace.Namespace, to netip.Addr, port uint16, want bool) {
	c.t.Helper()
	wait := timeLimit
	if !want {
		wait = refused
	}
	answer, err := ask(from, "tcp", netip.Addr{}, netip.AddrPortFrom(to, port), wait)
	if (err == nil) != want {
		c.t.Errorf("from %s to %s port %d: %q, %v; want that it is reached: %t", from.Name(), to, port, answer, err,
			want)
	}
}

// balancer makes a load balancer with one listener in front of machines, and
// returns its identity and addresses.
func (c *cloud) balancer(name string, adjust func(*iaas.CreateLoadbalancer, *iaas.CreateTargetGroup,
	*iaas.CreateListener), machines ...*box) (identity string, v4, v6 netip.Addr) {
	c.t.Helper()
	ctx := c.t.Context()
	lb := iaas.CreateLoadbalancer{Name: name, Subnet: emulator.DefaultSubnet}
	group := iaas.CreateTargetGroup{Name: name, Vpc: emulator.DefaultVPC, TargetPort: 8080, Protocol: iaas.ProtocolTCP}
	listener := iaas.CreateListener{Name: name, Port: 80, Protocol: iaas.ProtocolTCP}
	if adjust != nil {
		adjust(&lb, &group, &listener)
	}
	made, err := c.api.CreateLoadbalancer(ctx, lb)
	if err != nil {
		c.t.Fatal(err)
	}
	targets, err := c.api.CreateTargetGroup(ctx, group)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, m := range machines {
		if _, err := c.api.AttachServerToTargetGroup(ctx, iaas.AttachTargetGroupRequest{
			TargetGroupID: targets.Identity, AttachTarget: iaas.AttachTarget{ServerIdentity: m.identity},
		}); err != nil {
			c.t.Fatal(err)
		}
	}
	listener.TargetGroup = targets.Identity
	if _, err := c.api.CreateListener(ctx, made.Identity, listener); err != nil {
		c.t.Fatal(err)
	}
	var addresses []netip.Addr
	for _, text := range append(made.ExternalIpAddresses, made.InternalIpAddresses...) {
		addresses = append(addresses, netip.MustParseAddr(text))
	}
	v4, v6 = ofFamilies(addresses)
	return made.Identity, v4, v6
}

// status is what the plane says about the only listener of a load balancer.
func (c *cloud) status(identity string) traffic.ListenerStatus {
	status, _ := c.plane.Status(identity)
	if len(status.Listeners) != 1 {
		return traffic.ListenerStatus{}
	}
	return status.Listeners[0]
}

// browser is an HTTP client in a namespace.
func browser(from *namespace.Namespace) *http.Client {
	return &http.Client{Timeout: timeLimit, Transport: &http.Transport{
		DisableKeepAlives: true, DialContext: from.DialContext,
	}}
}
