package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
)

var (
	web      = types.NamespacedName{Namespace: "shop", Name: "web"}
	nodeAddr = netip.MustParseAddr("127.0.61.1")
	podOne   = Endpoint{Addr: netip.MustParseAddrPort("10.244.1.2:8080"), Node: "one", Ready: true, Serving: true}
	podTwo   = Endpoint{Addr: netip.MustParseAddrPort("10.244.2.2:8080"), Node: "two", Ready: true, Serving: true}
)

const wait = 10 * time.Second

func TestForwardTCP(t *testing.T) {
	f := &fabric.Fabric{}
	serve(t, f, podOne.Addr, "one")
	serve(t, f, podTwo.Addr, "two")
	p := newProxy(t, f)
	port := freePort(t)
	at := netip.AddrPortFrom(nodeAddr, port).String()
	service := func(local bool, endpoints ...Endpoint) Service {
		return Service{NamespacedName: web, Ports: []Port{{NodePort: port, Local: local, Endpoints: endpoints}}}
	}

	p.Set(service(false, podOne, podTwo))
	first, second := ask(t, at), ask(t, at)
	if pods := []string{first.pod, second.pod}; pods[0] != "one" || pods[1] != "two" {
		t.Errorf("two connections reached %v, want one and two in turn", pods)
	}
	if first.seen != nodeAddr {
		t.Errorf("the pod saw %s, want the node's address %s", first.seen, nodeAddr)
	}
	p.Set(service(true, podOne, podTwo))
	for range 2 {
		if got := ask(t, at); got.pod != "one" || got.seen != got.used {
			t.Errorf("policy Local gave %+v, want pod one and the client's own address", got)
		}
	}
	p.Set(service(true, podTwo))
	refused(t, at, "no local endpoint")
	p.Set(service(false, podTwo))
	if got := ask(t, at); got.pod != "two" {
		t.Errorf("reached %q, want two", got.pod)
	}
	p.Set(Service{NamespacedName: web})
	refused(t, at, "deleted Service")
}

func TestForwardKeepsConnections(t *testing.T) {
	f := &fabric.Fabric{}
	serve(t, f, podOne.Addr, "one")
	p := newProxy(t, f)
	port := freePort(t)
	p.Set(Service{NamespacedName: web, Ports: []Port{{NodePort: port, Endpoints: []Endpoint{podOne}}}})
	conn := dial(t, netip.AddrPortFrom(nodeAddr, port).String())
	lines := bufio.NewReader(conn)
	roundTrip := func() error {
		if _, err := io.WriteString(conn, "hello\n"); err != nil {
			return err
		}
		_, err := lines.ReadString('\n')
		return err
	}
	if err := roundTrip(); err != nil {
		t.Fatal(err)
	}
	p.Set(Service{NamespacedName: web})
	if err := roundTrip(); err != nil {
		t.Errorf("an established connection broke with its Service: %v", err)
	}
	p.Close()
	if err := roundTrip(); err == nil {
		t.Error("a connection survived its node")
	}
}

func TestForwardToNothing(t *testing.T) {
	p := newProxy(t, &fabric.Fabric{})
	port := freePort(t)
	p.Set(Service{NamespacedName: web, Ports: []Port{{NodePort: port, Endpoints: []Endpoint{podOne}}}})
	conn, err := net.Dial("tcp", netip.AddrPortFrom(nodeAddr, port).String())
	if err == nil {
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("talking to a pod that does not listen: %v, want a reset", err)
	}
}

func TestBindRetry(t *testing.T) {
	f := &fabric.Fabric{}
	serve(t, f, podOne.Addr, "one")
	p := newProxy(t, f)
	taken, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(nodeAddr, 0)))
	if err != nil {
		t.Fatal(err)
	}
	at := taken.Addr().(*net.TCPAddr).AddrPort()
	p.Set(Service{NamespacedName: web, Ports: []Port{{NodePort: at.Port(), Endpoints: []Endpoint{podOne}}}})
	_ = taken.Close()
	deadline := time.Now().Add(wait)
	for time.Now().Before(deadline) {
		conn, err := net.Dial("tcp", at.String())
		if err == nil {
			_ = conn.Close()
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Errorf("port %s was not bound within %s after it had become free", at, wait)
}

func TestSetAfterClose(t *testing.T) {
	p := newProxy(t, &fabric.Fabric{})
	port := freePort(t)
	p.Close()
	p.Set(Service{NamespacedName: web, Ports: []Port{{NodePort: port, Endpoints: []Endpoint{podOne}}}})
	refused(t, netip.AddrPortFrom(nodeAddr, port).String(), "closed proxy")
}

func newProxy(t *testing.T, f *fabric.Fabric) *Proxy {
	t.Helper()
	p := New(Options{Node: "one", Address: nodeAddr, Fabric: f, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	t.Cleanup(p.Close)
	return p
}

// serve answers every line with the pod's name and the source address.
func serve(t *testing.T, f *fabric.Fabric, at netip.AddrPort, pod string) {
	t.Helper()
	l, err := f.Listen(at, nodeAddr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go echo(conn, pod)
		}
	}()
}

func echo(conn net.Conn, pod string) {
	defer conn.Close()
	buf := make([]byte, 256)
	for {
		if _, err := conn.Read(buf); err != nil {
			return
		}
		if _, err := fmt.Fprintf(conn, "%s %s\n", pod, conn.RemoteAddr()); err != nil {
			return
		}
	}
}

// answer is which pod answered, which source it saw and which one the client used.
type answer struct {
	pod        string
	seen, used netip.Addr
}

func ask(t *testing.T, at string) answer {
	t.Helper()
	return exchange(t, dial(t, at))
}

// exchange sends a line and reads the answer.
func exchange(t *testing.T, conn net.Conn) answer {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(wait))
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 256)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	pod, seen, _ := strings.Cut(strings.TrimSpace(string(buf[:n])), " ")
	return answer{pod, netip.MustParseAddrPort(seen).Addr(), netip.MustParseAddrPort(conn.LocalAddr().String()).Addr()}
}

func dial(t *testing.T, at string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func refused(t *testing.T, at, why string) {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%s: dialling %s gave %v, want connection refused", why, at, err)
	}
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(nodeAddr, 0)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).AddrPort().Port()
}

// A client that finishes sending still gets its answer.
func TestForwardHalfClose(t *testing.T) {
	f := &fabric.Fabric{}
	l, err := f.Listen(podOne.Addr, nodeAddr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		all, _ := io.ReadAll(conn)
		_, _ = fmt.Fprintf(conn, "got %s", all)
	}()
	p := newProxy(t, f)
	port := freePort(t)
	p.Set(Service{NamespacedName: web, Ports: []Port{{NodePort: port, Endpoints: []Endpoint{podOne}}}})
	conn := dial(t, netip.AddrPortFrom(nodeAddr, port).String())
	if _, err := io.WriteString(conn, "everything"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(wait))
	if answer, err := io.ReadAll(conn); err != nil || string(answer) != "got everything" {
		t.Errorf("answer = %q, %v; want it after the half close", answer, err)
	}
}
