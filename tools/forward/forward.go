// Package forward carries the connections to a listener to where a function dials.
//
//	f := forward.Start(listener, func(ctx context.Context, client net.Addr) (net.Conn, error) {
//		return dialer.DialContext(ctx, "tcp", "10.0.0.7:80")
//	})
//	defer f.Close()
package forward

import (
	"context"
	"io"
	"net"
	"sync"
)

// Dial connects a client, which it may choose by, to the other side.
type Dial func(ctx context.Context, client net.Addr) (net.Conn, error)

// Forwarder forwards the connections to one listener.
type Forwarder struct {
	listener net.Listener
	dial     Dial
	ctx      context.Context
	cancel   context.CancelFunc
	open     sync.WaitGroup
}

// Start begins to forward. The listener belongs to the Forwarder from then on.
func Start(l net.Listener, dial Dial) *Forwarder {
	f := &Forwarder{listener: l, dial: dial}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.open.Go(f.accept)
	return f
}

// Addr is where the listener listens.
func (f *Forwarder) Addr() net.Addr { return f.listener.Addr() }

// Refuse stops accepting; connections go on.
func (f *Forwarder) Refuse() error { return f.listener.Close() }

// Close ends all connections, too, and waits until they have ended.
func (f *Forwarder) Close() {
	f.cancel()
	// It may have been closed by Refuse.
	_ = f.listener.Close()
	f.open.Wait()
}

func (f *Forwarder) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		f.open.Go(func() { f.carry(conn) })
	}
}

// carry carries one connection. One that cannot be forwarded is reset, as if the other side had refused it.
func (f *Forwarder) carry(near net.Conn) {
	defer near.Close()
	far, err := f.dial(f.ctx, near.RemoteAddr())
	if err != nil {
		if tcp, ok := near.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		return
	}
	defer far.Close()
	stop := context.AfterFunc(f.ctx, func() { _, _ = near.Close(), far.Close() })
	defer stop()
	both(near, far)
}

// both copies both ways until both sides have ended, or one has broken off. The end of one side is passed on to the
// other, which may still send. When one breaks off, both connections are closed.
func both(a, b net.Conn) {
	var copying sync.WaitGroup
	copying.Go(func() { copyOneWay(a, b) })
	copying.Go(func() { copyOneWay(b, a) })
	copying.Wait()
}

func copyOneWay(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil && half.CloseWrite() == nil {
		return
	}
	_ = to.Close()
	_ = from.Close()
}
