//go:build linux

package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

// echo says everything back, in capital letters or not, until the other side ends.
func echo(t *testing.T) (address string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func connect(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

func TestDoor(t *testing.T) {
	d, err := openDoor(new(net.Dialer).DialContext, echo(t))
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, d.address())
	if _, err := io.WriteString(conn, "said to the end"); err != nil {
		t.Fatal(err)
	}
	// The end of one side is told to the other, which may still talk.
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "said to the end" {
		t.Errorf("got %q and %v", got, err)
	}

	idle := connect(t, d.address())
	if _, err := io.WriteString(idle, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(idle, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
	if _, err := idle.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives the door")
	}
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", d.address()); err == nil {
		t.Error("a closed door opens")
	}
}

func TestDoorToNowhere(t *testing.T) {
	d, err := openDoor(func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("nobody") }, "192.0.2.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(connect(t, d.address())); len(got) > 0 {
		t.Errorf("got %q and %v, want the end", got, err)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
}
