package thalassa

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopback"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// The tests of the data path ask for something by Service and look at what becomes of connections and datagrams: in
// front of the provider is a cloud that moves packets, on addresses of this machine, and on its machines are servers
// that say who they are.

const (
	// pathTimeout bounds every wait; nothing takes nearly that long.
	pathTimeout = 20 * time.Second
	// pathSecond is how long a second of a health check takes.
	pathSecond = 10 * time.Millisecond
)

// pathLab is a provider in front of a cloud that moves packets.
type pathLab struct {
	*lab
	network netip.Prefix
	hosts   map[string]*host
}

// newPath is such a cloud with machines of these names, on which nothing listens. It has a second subnet and a reserved
// IP.
func newPath(t *testing.T, names ...string) *pathLab {
	t.Helper()
	plane, err := loopback.New(loopback.Options{Proxy: proxy.Options{Second: pathSecond, OneTarget: true}})
	if err != nil {
		t.Fatal(err)
	}
	p := &pathLab{network: plane.Network(), hosts: map[string]*host{}}
	seed, err := emulator.LoopbackSeed(plane.Network())
	if err != nil {
		t.Fatal(err)
	}
	vpc := &seed.Organisations[0].VPCs[0]
	vpc.Subnets[0].CIDRs, vpc.Subnets[0].Labels = []netip.Prefix{p.part(0)}, map[string]string{label.SubnetRole: "true"}
	vpc.Subnets = append(vpc.Subnets, emulator.SubnetSeed{Identity: "subnet-second", Name: "second",
		CIDRs: []netip.Prefix{p.part(1)}})
	seed.Organisations[0].ReservedIPs = []emulator.ReservedIPSeed{{Identity: "rip-one", Name: "one",
		Region: emulator.DefaultRegion}}
	p.lab = newLab(t, emulator.Config{Seed: seed, DataPlane: plane})
	for _, name := range names {
		p.machine(name)
	}
	return p
}

// part is a quarter of the network: the first subnet, the second one, and two of public addresses.
func (p *pathLab) part(n byte) netip.Prefix {
	b := p.network.Addr().As4()
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{b[0], b[1], n << 6, 0}), 18)
}

// public says that an address is one that the whole world can reach.
func (p *pathLab) public(address string) bool {
	at, err := netip.ParseAddr(address)
	return err == nil && (p.part(2).Contains(at) || p.part(3).Contains(at))
}

// machine makes a machine and the node on it.
func (p *pathLab) machine(name string) *corev1.Node {
	p.Helper()
	node := p.nodes(name)[0]
	identity, _ := p.cloud.balancers.Identify(node)
	machine, err := p.api().GetMachine(p.Context(), identity)
	if err != nil {
		p.Fatal(err)
	}
	p.hosts[name] = &host{TB: p.TB, name: name, address: netip.MustParseAddr(machine.Interfaces[0].IPAddresses[0]),
		ends: map[uint16]func(){}}
	return node
}

// serve makes the machines listen on the node ports of all ports of the Services, as kube-proxy does.
func (p *pathLab) serve(services ...*corev1.Service) {
	p.Helper()
	for _, service := range services {
		for _, port := range service.Spec.Ports {
			for _, h := range p.hosts {
				if port.Protocol == corev1.ProtocolUDP {
					h.listenUDP(uint16(port.NodePort))
				} else {
					h.listen(uint16(port.NodePort))
				}
			}
		}
	}
}

// apply makes the cloud what the Service asks for, and returns the address that is published.
func (p *pathLab) apply(service *corev1.Service) string {
	p.Helper()
	return ips(p.settle(service, p.allNodes))
}

// becomes waits until something is as it should be.
func (p *pathLab) becomes(what, want string, look func() string) {
	p.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(pathTimeout)
	for got := look(); got != want; got = look() {
		select {
		case <-ticker.C:
		case <-deadline:
			p.Fatalf("%s: %q, want %q", what, got, want)
		}
	}
}

// is wants something to be as it should be now.
func (p *pathLab) is(what, got, want string) {
	p.Helper()
	if got != want {
		p.Errorf("%s: %q, want %q", what, got, want)
	}
}

// served is where the cloud serves a port of an address: a port that some other program has is served elsewhere.
func (p *pathLab) served(protocol, address string, port int32) string {
	for _, balancer := range p.emulator.State().LoadBalancers {
		for _, listener := range balancer.Listeners {
			if listener.Protocol != protocol || listener.Port != int(port) {
				continue
			}
			for _, at := range listener.Served {
				if strings.HasPrefix(at, address+":") {
					return at
				}
			}
		}
	}
	return net.JoinHostPort(address, fmt.Sprint(port))
}

// client is the nth address of those that clients have.
func (p *pathLab) client(n byte) netip.Addr {
	b := p.network.Addr().As4()
	return netip.AddrFrom4([4]byte{b[0], b[1], 60, n})
}

// stream is an open connection.
type stream struct {
	net.Conn
	lines *bufio.Reader
}

// dial connects the nth client with a port of an address.
func (p *pathLab) dial(protocol string, n byte, address string, port int32) (*stream, error) {
	p.Helper()
	from := netip.AddrPortFrom(p.client(n), 0)
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(from)}
	if protocol == "udp" {
		dialer.LocalAddr = net.UDPAddrFromAddrPort(from)
	}
	conn, err := dialer.DialContext(p.Context(), protocol, p.served(protocol, address, port))
	if err != nil {
		return nil, err
	}
	p.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(pathTimeout)); err != nil {
		p.Fatal(err)
	}
	return &stream{conn, bufio.NewReader(conn)}, nil
}

// say sends a line and returns the answer; "refused" when the connection ends instead.
func (s *stream) say(text string) string {
	if _, err := fmt.Fprintln(s, text); err != nil {
		return "refused"
	}
	line, err := s.lines.ReadString('\n')
	if err != nil {
		return "refused"
	}
	return strings.TrimSpace(line)
}

// ask is the answer to a connection of the nth client: "a 32080/tcp hello".
func (p *pathLab) ask(n byte, address string, port int32) string {
	p.Helper()
	conn, err := p.dial("tcp", n, address, port)
	if err != nil {
		return "refused"
	}
	defer func() { _ = conn.Close() }()
	return conn.say("hello")
}

// turns are the names of the machines that answer connections of the nth client, in turn.
func (p *pathLab) turns(connections int, n byte, address string, port int32) []string {
	p.Helper()
	var names []string
	for range connections {
		name, _, _ := strings.Cut(p.ask(n, address, port), " ")
		names = append(names, name)
	}
	return names
}

// reaches are the machines that answer a few connections of the nth client: "a b". Where some of them are refused, that
// is among them.
func (p *pathLab) reaches(n byte, address string, port int32) string {
	p.Helper()
	const few = 8
	names := p.turns(few, n, address, port)
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// reaching is reaches for the first client, to be looked at again and again.
func (p *pathLab) reaching(address string, port int32) func() string {
	return func() string { return p.reaches(1, address, port) }
}

// host is what runs on a machine.
type host struct {
	testing.TB
	name    string
	address netip.Addr
	// ends end the servers, by port.
	ends map[uint16]func()
	seen atomic.Pointer[[]string]
}

// sender is the line that is answered with the address that the connection comes from, as a server sees it.
const sender = "sender"

// listen answers each line of a connection with who answers it.
func (h *host) listen(port uint16) {
	h.Helper()
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(h.address, port)))
	if err != nil {
		h.Fatal(err)
	}
	h.until(port, func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				from, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					text := lines.Text()
					if text == sender {
						text = from
					}
					fmt.Fprintf(conn, "%s %d/tcp %s\n", h.name, port, text)
				}
			}()
		}
	}()
}

// listenUDP answers each datagram with who answers it.
func (h *host) listenUDP(port uint16) {
	h.Helper()
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(h.address, port)))
	if err != nil {
		h.Fatal(err)
	}
	h.until(port, func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			text := string(buffer[:n])
			h.note(strings.TrimSpace(text))
			_, _ = conn.WriteToUDPAddrPort(fmt.Appendf(nil, "%s %d/udp %s", h.name, port, text), from)
		}
	}()
}

// note remembers a datagram.
func (h *host) note(text string) {
	var all []string
	if before := h.seen.Load(); before != nil {
		all = slices.Clone(*before)
	}
	all = append(all, text)
	h.seen.Store(&all)
}

// saw says that a datagram has arrived.
func (h *host) saw(text string) bool {
	all := h.seen.Load()
	return all != nil && slices.Contains(*all, text)
}

// answerHTTP answers requests for a path, with the status that is returned; all others are unknown.
func (h *host) answerHTTP(port uint16, path string) *atomic.Int32 {
	h.Helper()
	return h.answer(port, path, (*httptest.Server).Start)
}

// answerHTTPS is answerHTTP over TLS, with a certificate that nobody trusts.
func (h *host) answerHTTPS(port uint16, path string) *atomic.Int32 {
	h.Helper()
	return h.answer(port, path, (*httptest.Server).StartTLS)
}

func (h *host) answer(port uint16, path string, start func(*httptest.Server)) *atomic.Int32 {
	h.Helper()
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(h.address, port)))
	if err != nil {
		h.Fatal(err)
	}
	status := &atomic.Int32{}
	status.Store(http.StatusOK)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) })
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: mux}}
	start(server)
	h.until(port, server.Close)
	return status
}

// until has a server that ends with the test, or with die.
func (h *host) until(port uint16, end func()) {
	h.ends[port] = end
	h.Cleanup(end)
}

// die ends the server on a port: connections are refused.
func (h *host) die(port uint16) { h.ends[port]() }

// streamTo is an open connection of the first client that one of the machines answers.
func (p *pathLab) streamTo(name, address string, port int32) *stream {
	p.Helper()
	for range 100 {
		conn, err := p.dial("tcp", 1, address, port)
		if err != nil {
			p.Fatal(err)
		}
		if answer := conn.say("who"); len(answer) > len(name) && answer[:len(name)+1] == name+" " {
			return conn
		}
		_ = conn.Close()
	}
	p.Fatalf("no connection leads to machine %s", name)
	return nil
}

// unchecked is a Service whose machines all get traffic, so that only its policy chooses.
func unchecked(name string, ports ...int32) *corev1.Service {
	s := service(name, ports...)
	annotated("health-check-enabled", "false")(s)
	return s
}
