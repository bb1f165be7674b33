// Package traffictest is what tests of load balancers' traffic have in common: a server that says who it is, and
// waiting for what takes effect a moment later.
package traffictest

import (
	"net"
	"testing"
	"time"
)

// timeLimit bounds a wait; nothing takes nearly that long.
const timeLimit = 20 * time.Second

// Eventually waits until a condition holds; what is its name. That it does not for 20 seconds ends the test.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(timeLimit)
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			tb.Fatalf("timed out waiting until %s", what)
		}
	}
}

// EchoUDP answers each datagram of at most 1500 bytes with a prefix, such as the server's name, and the datagram, until
// the test ends or conn is closed. It returns at once.
func EchoUDP(tb testing.TB, conn *net.UDPConn, prefix string) {
	tb.Helper()
	ended := make(chan struct{})
	tb.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		buffer := make([]byte, 1500)
		for {
			n, peer, err := conn.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort(append([]byte(prefix), buffer[:n]...), peer)
		}
	}()
}
