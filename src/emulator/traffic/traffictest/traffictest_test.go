package traffictest_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic/traffictest"
)

// failing is a test that takes note of its failure.
type failing struct {
	testing.TB
	with string
}

func (f *failing) Fatalf(format string, values ...any) {
	f.with = fmt.Sprintf(format, values...)
	runtime.Goexit()
}

func TestEventually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		traffictest.Eventually(t, "a second has passed", func() bool { return time.Since(start) >= time.Second })
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("it waited %v, want a second", waited)
		}
		ended, f := make(chan struct{}), &failing{TB: t}
		go func() {
			defer close(ended)
			traffictest.Eventually(f, "pigs fly", func() bool { return false })
		}()
		<-ended
		if f.with != "timed out waiting until pigs fly" || time.Since(start) > time.Minute {
			t.Errorf("it ended after %v with %q", time.Since(start), f.with)
		}
	})
}

func TestEchoUDP(t *testing.T) {
	loopback := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), 0))
	server, err := net.ListenUDP("udp", loopback)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("answers", func(t *testing.T) {
		traffictest.EchoUDP(t, server, "one ")
		client, err := net.Dial("udp", server.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if err := client.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"hello", "again"} {
			fmt.Fprint(client, text)
			answer := make([]byte, 100)
			n, err := client.Read(answer)
			if got, want := string(answer[:n]), "one "+text; err != nil || got != want {
				t.Errorf("answer %q, %v, want %q", got, err, want)
			}
		}
	})
	if err := server.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the test, closing it: %v", err)
	}
}
