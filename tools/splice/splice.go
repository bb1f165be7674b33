// Package splice joins two connections to one: what is read from either is written to the other.
//
//	defer far.Close()
//	splice.Both(near, far)
package splice

import (
	"io"
	"net"
	"sync"
)

// Both copies both ways until both sides have ended, or one has broken off. The end of one side is told to the other, which may still
// talk. When one breaks off, both connections are closed; otherwise that is left to the caller.
func Both(a, b net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { pour(a, b) })
	both.Go(func() { pour(b, a) })
	both.Wait()
}

// pour copies one way.
func pour(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil && half.CloseWrite() == nil {
		return
	}
	_ = to.Close()
	_ = from.Close()
}
