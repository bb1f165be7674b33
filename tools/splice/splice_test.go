package splice

import (
	"io"
	"net"
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

// spliced is a client and a server with two connections between them, and when these have come to an end.
func spliced(t *testing.T) (client, server *net.TCPConn, done chan struct{}) {
	t.Helper()
	client, a := pair(t)
	server, b := pair(t)
	done = make(chan struct{})
	go func() {
		defer close(done)
		Both(a, b)
	}()
	return client, server, done
}

func TestBothEndInTheirOwnTime(t *testing.T) {
	client, server, done := spliced(t)
	if _, err := io.WriteString(client, "question"); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(server); err != nil || string(got) != "question" {
		t.Errorf("the server heard %q and %v", got, err)
	}
	if _, err := io.WriteString(server, "answer"); err != nil {
		t.Fatal(err)
	}
	if err := server.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(client); err != nil || string(got) != "answer" {
		t.Errorf("the client heard %q and %v", got, err)
	}
	<-done
}

// TestOneBreaksOff ends the other side, too: without that, it would be copied from for ever.
func TestOneBreaksOff(t *testing.T) {
	client, server, done := spliced(t)
	if err := client.SetLinger(0); err != nil { // Close is then a reset
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(server); len(got) > 0 {
		t.Errorf("the server heard %q and %v", got, err)
	}
	<-done
}
