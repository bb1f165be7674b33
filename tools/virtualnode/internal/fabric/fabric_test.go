package fabric

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

var (
	pod    = netip.MustParseAddrPort("10.244.1.7:8080")
	client = netip.MustParseAddrPort("127.0.0.9:40001")
)

func TestDialListener(t *testing.T) {
	var f Fabric
	l, err := f.Listen(corev1.ProtocolTCP, pod)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RemoteAddr+" "+r.URL.Path)
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })

	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return f.Dial(ctx, corev1.ProtocolTCP, pod, client)
	}}
	resp, err := (&http.Client{Transport: transport}).Get("http://pod/hello")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(body), "127.0.0.9:40001 /hello"; got != want {
		t.Errorf("body = %q, want %q", got, want)
	}
}

func TestDialHalfClose(t *testing.T) {
	var f Fabric
	near, far := connect(t, &f, corev1.ProtocolTCP)
	if _, err := io.WriteString(near, "ping"); err != nil {
		t.Fatal(err)
	}
	if err := near.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(far)
	if err != nil || string(got) != "ping" {
		t.Fatalf("far end read %q, %v; want ping and the end", got, err)
	}
	if _, err := io.WriteString(far, "pong"); err != nil {
		t.Fatalf("answering after the half close: %v", err)
	}
	_ = far.Close()
	if got, err := io.ReadAll(near); err != nil || string(got) != "pong" {
		t.Errorf("near end read %q, %v; want pong", got, err)
	}
}

func TestDialDatagrams(t *testing.T) {
	var f Fabric
	near, far := connect(t, &f, corev1.ProtocolUDP)
	for _, packet := range []string{"first", "second"} {
		if _, err := io.WriteString(near, packet); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 64)
	for _, want := range []string{"first", "second"} {
		n, err := far.Read(buf)
		if err != nil || string(buf[:n]) != want {
			t.Errorf("read %q, %v; want the datagram %q alone", buf[:n], err, want)
		}
	}
	if far.RemoteAddr().Network() != "udp" || far.LocalAddr().String() != pod.String() {
		t.Errorf("addresses are %s %s, want UDP and the pod's", far.RemoteAddr().Network(), far.LocalAddr())
	}
}

// connect returns both ends of a connection to the pod.
func connect(t *testing.T, f *Fabric, protocol corev1.Protocol) (near, far net.Conn) {
	t.Helper()
	l, err := f.Listen(protocol, pod)
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			accepted <- c
		}
	}()
	near, err = f.Dial(t.Context(), protocol, pod, client)
	if err != nil {
		t.Fatal(err)
	}
	far = <-accepted
	t.Cleanup(func() { _, _, _ = l.Close(), near.Close(), far.Close() })
	return near, far
}

func TestListenTwice(t *testing.T) {
	var f Fabric
	l, err := f.Listen(corev1.ProtocolTCP, pod)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Listen(corev1.ProtocolTCP, pod); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("second Listen: %v, want EADDRINUSE", err)
	}
	udp, err := f.Listen(corev1.ProtocolUDP, pod)
	if err != nil {
		t.Errorf("UDP beside TCP: %v", err)
	}
	_, _, _ = l.Close(), l.Close(), udp.Close()
	again, err := f.Listen(corev1.ProtocolTCP, pod)
	if err != nil {
		t.Fatalf("Listen after Close: %v", err)
	}
	_ = again.Close()
}

func TestDialRefused(t *testing.T) {
	var f Fabric
	closed, err := f.Listen(corev1.ProtocolTCP, pod)
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for name, to := range map[string]string{
		"closed listener": pod.String(),
		"unknown pod":     "10.244.9.9:80",
		"not a pod":       "192.0.2.1:80",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.Dial(t.Context(), corev1.ProtocolTCP, netip.MustParseAddrPort(to), client)
			if !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("Dial(%s): %v, want connection refused", to, err)
			}
		})
	}
}

func TestDialGivesUpWithContext(t *testing.T) {
	var f Fabric
	l, err := f.Listen(corev1.ProtocolTCP, pod)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Dial(ctx, corev1.ProtocolTCP, pod, client); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial without anybody accepting: %v, want canceled", err)
	}
}

func TestAlias(t *testing.T) {
	var f Fabric
	host := netip.MustParseAddr("127.0.0.8")
	l, err := net.Listen("tcp", "127.0.0.8:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	to := netip.AddrPortFrom(pod.Addr(), l.Addr().(*net.TCPAddr).AddrPort().Port())

	first, second := f.Alias(pod.Addr(), host), f.Alias(pod.Addr(), host)
	first()
	first() // a second call of the same release must not take the other container's alias
	conn, err := f.Dial(t.Context(), corev1.ProtocolTCP, to, client)
	if err != nil {
		t.Fatalf("dialling through the alias: %v", err)
	}
	if got := conn.LocalAddr().(*net.TCPAddr).AddrPort().Addr(); got != client.Addr() {
		t.Errorf("source address = %s, want %s", got, client.Addr())
	}
	_ = conn.Close()
	second()
	if _, err := f.Dial(t.Context(), corev1.ProtocolTCP, to, client); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial after the last release: %v, want connection refused", err)
	}
}

func TestDialHostUDP(t *testing.T) {
	var f Fabric
	server, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.8:0")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	conn, err := f.Dial(t.Context(), corev1.ProtocolUDP, server.LocalAddr().(*net.UDPAddr).AddrPort(), client)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16)
	n, from, err := server.ReadFromUDPAddrPort(buf)
	if err != nil || string(buf[:n]) != "hello" || from.Addr() != client.Addr() {
		t.Errorf("server got %q from %s, %v; want hello from %s", buf[:n], from, err, client.Addr())
	}
}
