// Package server runs containers that are HTTP handlers inside this process.
package server

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/container"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/image"
)

// Runtime answers HTTP on the declared TCP ports of its containers.
type Runtime func(image.Launch) http.Handler

// Start starts listening.
func (r Runtime) Start(_ context.Context, l image.Launch) (container.Instance, error) {
	addr, err := netip.ParseAddr(l.Pod().Status.PodIP)
	if err != nil {
		return nil, fmt.Errorf("reading the pod's address: %w", err)
	}
	i := &instance{server: &http.Server{Handler: r(l), ReadHeaderTimeout: 10 * time.Second}, done: make(chan struct{})}
	i.end = sync.OnceFunc(func() { close(i.done) })
	for _, port := range l.Container.Ports {
		if port.Protocol != corev1.ProtocolTCP {
			continue
		}
		listener, err := l.Machine.Fabric.Listen(netip.AddrPortFrom(addr, uint16(port.ContainerPort)),
			l.Machine.Address)
		if err != nil {
			i.Stop(0)
			return nil, err
		}
		// It ends when the server is stopped.
		i.serving.Go(func() { _ = i.server.Serve(listener) })
	}
	return i, nil
}

// instance is one run.
type instance struct {
	server  *http.Server
	serving sync.WaitGroup
	done    chan struct{}
	end     func()
}

// Done is closed when nothing is served any more.
func (i *instance) Done() <-chan struct{} { return i.done }

// Exit is always success: a server ends only when it is stopped.
func (i *instance) Exit() container.Exit { return container.Exit{} }

// Stop refuses new connections at once and lets requests finish within the grace period.
func (i *instance) Stop(grace time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if i.server.Shutdown(ctx) != nil {
		// Closing fails only where a listener has been closed already.
		_ = i.server.Close()
	}
	i.serving.Wait()
	i.end()
}
