package proxy

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// health answers on the health check node port of one Service: 200 while this node has ready
// endpoints, 503 otherwise.
type health struct {
	port     uint16
	listener net.Listener
	server   *http.Server
	report   atomic.Pointer[healthReport]
}

// healthReport is the answer in kube-proxy's wording.
type healthReport struct {
	Service struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"service"`
	LocalEndpoints      int  `json:"localEndpoints"`
	ServiceProxyHealthy bool `json:"serviceProxyHealthy"`
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
		s.health = newHealth(l, s.desired.HealthPort)
		p.serving.Go(s.health.serve)
	}
	report := &healthReport{LocalEndpoints: s.desired.LocalReady(p.options.Node), ServiceProxyHealthy: true}
	report.Service.Namespace, report.Service.Name = s.desired.Namespace, s.desired.Name
	s.health.report.Store(report)
	return true
}

func newHealth(l net.Listener, port uint16) *health {
	h := &health{port: port, listener: l}
	h.report.Store(&healthReport{})
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	return h
}

func (h *health) serve() { _ = h.server.Serve(h.listener) }

// close also closes the listener itself: the server has it only once serve runs.
func (h *health) close() {
	_ = h.listener.Close()
	_ = h.server.Close()
}

// ServeHTTP answers a health check.
func (h *health) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	report := h.report.Load()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("X-Load-Balancing-Endpoint-Weight", strconv.Itoa(report.LocalEndpoints))
	if report.LocalEndpoints == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(report)
}
