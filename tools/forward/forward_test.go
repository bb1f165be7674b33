package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// pair is a connection, seen from both ends.
func pair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if near, err = net.DialTCP("tcp", nil, listener.Addr().(*net.TCPAddr)); err != nil {
		t.Fatal(err)
	}
	if far, err = listener.AcceptTCP(); err != nil {
		t.Fatal(err)
	}
	for _, conn := range []net.Conn{near, far} {
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return near, far
}

// joined is a client and a server with two connections between them, and when these have come to an end.
func joined(t *testing.T) (client, server *net.TCPConn, done chan struct{}) {
	t.Helper()
	client, a := pair(t)
	server, b := pair(t)
	done = make(chan struct{})
	go func() {
		defer close(done)
		both(a, b)
	}()
	return client, server, done
}

func TestBothEndInTheirOwnTime(t *testing.T) {
	client, server, done := joined(t)
	if _, err := io.WriteString(client, "question"); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(server); err != nil || string(got) != "question" {
		t.Errorf("the server got %q and %v", got, err)
	}
	if _, err := io.WriteString(server, "answer"); err != nil {
		t.Fatal(err)
	}
	if err := server.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(client); err != nil || string(got) != "answer" {
		t.Errorf("the client got %q and %v", got, err)
	}
	<-done
}

// TestOneBreaksOff ends the other side, too: without that, it would be copied from for ever.
func TestOneBreaksOff(t *testing.T) {
	client, server, done := joined(t)
	if err := client.SetLinger(0); err != nil { // Close is then a reset
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(server); len(got) > 0 {
		t.Errorf("the server got %q and %v", got, err)
	}
	<-done
}

// echo sends everything back until the other side ends.
func echo(t *testing.T) (address string) {
	t.Helper()
	listener := listen(t)
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

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func connect(t *testing.T, to net.Listener) *net.TCPConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", to.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

func TestForwarder(t *testing.T) {
	to, at := echo(t), listen(t)
	f := Start(at, func(ctx context.Context, _ net.Addr) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", to)
	})
	conn, idle := connect(t, at), connect(t, at)
	if _, err := io.WriteString(idle, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(idle, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "sent to the end"); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "sent to the end" {
		t.Errorf("got %q and %v", got, err)
	}
	if err := f.Refuse(); err != nil {
		t.Error(err)
	}
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", at.Addr().String()); err == nil {
		t.Error("a connection is accepted after Refuse")
	}
	if _, err := io.WriteString(idle, "y"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(idle, make([]byte, 1)); err != nil {
		t.Errorf("a connection ended with Refuse: %v", err)
	}
	f.Close()
	if _, err := idle.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives the forwarder")
	}
}

// TestNobodyListens: the client sees a reset.
func TestNobodyListens(t *testing.T) {
	at := listen(t)
	f := Start(at, func(context.Context, net.Addr) (net.Conn, error) { return nil, errors.New("nobody") })
	defer f.Close()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", at.Addr().String())
	if err == nil {
		defer func() { _ = conn.Close() }()
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("error = %v, want a reset", err)
	}
}
