package proxy

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// health answers on the health check node port of one Service: 200 while this node has ready
// endpoints, 503 otherwise.
type health struct {
	port     uint16
	listener net.Listener
	server   *http.Server
	service  string
	ready    atomic.Bool
}

// applyHealth reports false when the port could not be bound.
func (p *Proxy) applyHealth(s *service) bool {
	if s.health != nil && s.health.port != s.desired.HealthPort {
		s.health.close()
		s.health = nil
	}
	if s.desired.HealthPort == 0 {
		return true
	}
	if s.health == nil {
		l := p.listen(s, s.desired.HealthPort)
		if l == nil {
			return false
		}
		s.health = &health{port: s.desired.HealthPort, listener: l, service: s.desired.String()}
		s.health.server = &http.Server{Handler: s.health, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
		p.serving.Go(s.health.serve)
	}
	s.health.ready.Store(s.desired.LocalReady(p.options.Node))
	return true
}

func (h *health) serve() { _ = h.server.Serve(h.listener) }

// close also closes the listener itself: the server has it only once serve runs.
func (h *health) close() {
	_ = h.listener.Close()
	_ = h.server.Close()
}

// ServeHTTP answers a health check.
func (h *health) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if !h.ready.Load() {
		http.Error(w, "no ready endpoint of "+h.service, http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ready endpoints of", h.service)
}
