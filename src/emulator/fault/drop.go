package fault

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
)

// Dropper is a response writer without a connection, whose client gets an error
// instead of an answer.
type Dropper interface {
	http.ResponseWriter
	// Drop ends the exchange without an answer.
	Drop(reason error)
}

// lost is what the client of a dropped connection gets.
func lost() error { return fmt.Errorf("the connection was dropped: %w", io.EOF) }

// abandon drops the connection: the client sees its orderly end.
func abandon(w http.ResponseWriter, reason error) {
	if conn := take(w, reason); conn != nil {
		_ = conn.Close()
	}
}

// reset drops the connection: the client sees that it was reset.
func reset(w http.ResponseWriter) {
	conn := take(w, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)})
	if conn == nil {
		return
	}
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		// Without lingering, closing sends a reset.
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// take takes the connection from the server. It returns nil when there is none
// and the client noticed in another way.
func take(w http.ResponseWriter, reason error) net.Conn {
	for inner := w; inner != nil; {
		if dropper, ok := inner.(Dropper); ok {
			dropper.Drop(reason)
			return nil
		}
		outer, ok := inner.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			break
		}
		inner = outer.Unwrap()
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, http.StatusInternalServerError, "the injected fault cannot drop this connection; use HTTP/1.1: "+
			err.Error())
		return nil
	}
	return conn
}
