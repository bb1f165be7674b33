package port_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane/internal/port"
	"golang.org/x/sys/unix"
)

func reserve(t *testing.T, addr string) *port.Reservation {
	t.Helper()
	r, err := port.Reserve(netip.MustParseAddr(addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Release() })
	return r
}

// listen listens as a child does that shares the port.
func listen(ctx context.Context, addr netip.AddrPort, share bool) (net.Listener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		if !share {
			return nil
		}
		var err error
		ctlErr := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		})
		if err == nil {
			err = ctlErr
		}
		return err
	}}
	return lc.Listen(ctx, "tcp", addr.String())
}

func TestReservedPort(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "127.7.7.7"} {
		t.Run(addr, func(t *testing.T) {
			r := reserve(t, addr)
			if l, err := listen(t.Context(), r.Addr(), false); err == nil {
				_ = l.Close()
				t.Error("a listener that does not share got the reserved port")
			}
			if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.Addr().String()); err == nil {
				_ = conn.Close()
				t.Error("a port that is only reserved accepts connections")
			}
			l, err := listen(t.Context(), r.Addr(), true)
			if err != nil {
				t.Fatalf("the child cannot listen: %v", err)
			}
			defer func() { _ = l.Close() }()
			for range 50 {
				reach(t, l)
			}
		})
	}
}

// reach fails unless a connection arrives at the listener.
func reach(t *testing.T, l net.Listener) {
	t.Helper()
	client, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v, want the end that the listener made", err)
	}
}

func TestReservationsDiffer(t *testing.T) {
	seen := map[netip.AddrPort]bool{}
	for range 200 {
		r := reserve(t, "127.0.0.1")
		if seen[r.Addr()] {
			t.Fatalf("%s was handed out twice", r.Addr())
		}
		seen[r.Addr()] = true
	}
}

func TestRelease(t *testing.T) {
	r, err := port.Reserve(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	l, err := listen(t.Context(), r.Addr(), false)
	if err != nil {
		t.Fatalf("the port is not free after Release: %v", err)
	}
	_ = l.Close()
}

func TestReserveUnusableAddress(t *testing.T) {
	for _, addr := range []string{"192.0.2.1", "::1"} {
		if _, err := port.Reserve(netip.MustParseAddr(addr)); err == nil {
			t.Errorf("reserving a port on %s: got no error", addr)
		}
	}
}
