// Package server runs containers that are handlers inside this process. They listen on no socket;
// the fabric brings their connections.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/container"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/image"
)

const (
	// defaultPort is where a container without declared ports listens.
	defaultPort = 8080

	// datagramMax is the largest UDP payload over IPv4.
	datagramMax = 65507
)

// Runtime answers HTTP on the declared TCP ports of its containers and packets on the UDP ones.
type Runtime struct {
	HTTP func(image.Launch) http.Handler
	// Packet answers one packet; an empty answer is not sent. Nil listens on no UDP port.
	Packet func(image.Launch) func(packet []byte, from net.Addr) []byte
}

// Start starts listening. Its ports taken by another container of the pod are an error.
func (r Runtime) Start(_ context.Context, l image.Launch) (container.Instance, error) {
	addr, err := netip.ParseAddr(l.Pod().Status.PodIP)
	if err != nil {
		return nil, fmt.Errorf("reading the pod's address: %w", err)
	}
	i := &instance{http: &http.Server{Handler: r.HTTP(l), ReadHeaderTimeout: 10 * time.Second}, conns: map[net.Conn]bool{}, done: make(chan struct{})}
	if r.Packet != nil {
		i.packet = r.Packet(l)
	}
	for _, port := range ports(l.Container) {
		if err := i.listen(l.Machine.Fabric, port.Protocol, netip.AddrPortFrom(addr, uint16(port.ContainerPort))); err != nil {
			i.Stop(0)
			return nil, err
		}
	}
	return i, nil
}

func ports(c *corev1.Container) []corev1.ContainerPort {
	if len(c.Ports) > 0 {
		return c.Ports
	}
	return []corev1.ContainerPort{{ContainerPort: defaultPort, Protocol: corev1.ProtocolTCP}}
}

// instance is one run.
type instance struct {
	http    *http.Server
	packet  func([]byte, net.Addr) []byte
	serving sync.WaitGroup

	mu        sync.Mutex
	listeners []*fabric.Listener
	conns     map[net.Conn]bool // UDP; http.Server keeps its own
	stopped   bool
	done      chan struct{}
}

func (i *instance) listen(f *fabric.Fabric, protocol corev1.Protocol, at netip.AddrPort) error {
	udp := protocol == corev1.ProtocolUDP
	if udp && i.packet == nil || protocol == corev1.ProtocolSCTP {
		return nil
	}
	l, err := f.Listen(protocol, at)
	if err != nil {
		return err
	}
	i.listeners = append(i.listeners, l)
	if udp {
		i.serving.Go(func() { i.acceptPackets(l) })
	} else {
		i.serving.Go(func() { _ = i.http.Serve(l) })
	}
	return nil
}

func (i *instance) acceptPackets(l *fabric.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if i.track(conn) {
			i.serving.Go(func() { i.answerPackets(conn) })
		}
	}
}

func (i *instance) track(conn net.Conn) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped {
		_ = conn.Close()
		return false
	}
	i.conns[conn] = true
	return true
}

func (i *instance) answerPackets(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.conns, conn)
	}()
	buf := make([]byte, datagramMax)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		if answer := i.packet(buf[:n], conn.RemoteAddr()); len(answer) > 0 {
			_, _ = conn.Write(answer)
		}
	}
}

// Done is closed when nothing is served any more.
func (i *instance) Done() <-chan struct{} { return i.done }

// Exit is always success: a server ends only when it is stopped.
func (i *instance) Exit() container.Exit { return container.Exit{} }

// Stop refuses new connections at once and lets requests finish within the grace period.
func (i *instance) Stop(grace time.Duration) {
	i.mu.Lock()
	first := !i.stopped
	i.stopped = true
	for _, l := range i.listeners {
		_ = l.Close()
	}
	for c := range i.conns {
		_ = c.Close()
	}
	i.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := i.http.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		_ = i.http.Close()
	}
	i.serving.Wait()
	if first {
		close(i.done)
	}
	<-i.done
}
