package fabric

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
)

var (
	pod    = netip.MustParseAddrPort("10.244.1.7:8080")
	host   = netip.MustParseAddr("127.0.0.8")
	client = netip.MustParseAddr("127.0.0.9")
)

// listen listens on the pod's port until the test ends.
func listen(t *testing.T, f *Fabric) net.Listener {
	t.Helper()
	l, err := f.Listen(pod, host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestDialListener(t *testing.T) {
	var f Fabric
	l := listen(t, &f)
	near, err := f.Dial(t.Context(), pod, client)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	if got := far.RemoteAddr().(*net.TCPAddr).AddrPort().Addr(); got != client {
		t.Errorf("the pod sees %s, want the source %s", got, client)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(near, "ping"); err != nil {
		t.Fatal(err)
	}
	_ = near.Close()
	if got, err := io.ReadAll(far); err != nil || string(got) != "ping" {
		t.Errorf("far end read %q, %v; want ping after the listener was closed", got, err)
	}
}

// TestListenAgain: a pod may get the address of one that still ends.
func TestListenAgain(t *testing.T) {
	var f Fabric
	l, again := listen(t, &f), listen(t, &f)
	_ = l.Close() // must not take the new listener away
	conn, err := f.Dial(t.Context(), pod, client)
	if err != nil {
		t.Fatalf("dialling the second listener: %v", err)
	}
	_, _ = conn.Close(), again.Close()
}

func TestDialRefused(t *testing.T) {
	var f Fabric
	_ = listen(t, &f).Close()
	for name, to := range map[string]string{
		"closed listener": pod.String(),
		"unknown pod":     "10.244.9.9:80",
		"not a pod":       "192.0.2.1:80",
		"nobody":          "127.0.0.8:1",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := f.Dial(t.Context(), netip.MustParseAddrPort(to), client); !errors.Is(err,
				syscall.ECONNREFUSED) {
				t.Errorf("Dial(%s): %v, want connection refused", to, err)
			}
		})
	}
}

func TestAlias(t *testing.T) {
	var f Fabric
	l, err := net.Listen("tcp", "127.0.0.8:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	to := netip.AddrPortFrom(pod.Addr(), l.Addr().(*net.TCPAddr).AddrPort().Port())

	release := f.Alias(pod.Addr(), host)
	conn, err := f.Dial(t.Context(), to, client)
	if err != nil {
		t.Fatalf("dialling through the alias: %v", err)
	}
	if got := conn.LocalAddr().(*net.TCPAddr).AddrPort().Addr(); got != client {
		t.Errorf("source address = %s, want %s", got, client)
	}
	_ = conn.Close()
	release()
	if _, err := f.Dial(t.Context(), to, client); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial after the release: %v, want connection refused", err)
	}
}
