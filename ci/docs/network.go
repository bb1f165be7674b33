package docs

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sync"
	"testing"
)

// Network is a proxy that is all the network that the commands of a document have. It connects to addresses of this
// machine, and to servers of a test in place of hosts on the internet.
type Network struct {
	routes map[string]string
	server *httptest.Server

	mu      sync.Mutex
	refused []string
}

// NewNetwork starts a network until the test ends. The routes are addresses of servers, by host and port.
func NewNetwork(tb testing.TB, routes map[string]string) *Network {
	tb.Helper()
	n := &Network{routes: routes}
	forward := &httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {},
		Transport: &http.Transport{DialContext: n.dial, DisableKeepAlives: true}}
	n.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			n.tunnel(w, r)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	tb.Cleanup(func() {
		n.server.CloseClientConnections()
		n.server.Close()
	})
	return n
}

// Env are the environment variables of programs that are in the network.
func (n *Network) Env() []string {
	return []string{"http_proxy=" + n.server.URL, "https_proxy=" + n.server.URL}
}

// Refused are the addresses that a program tried to reach and that are not in the network.
func (n *Network) Refused() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.refused
}

// dial connects to a server of the test, or to this machine.
func (n *Network) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	if to, known := n.routes[address]; known {
		return dialer.DialContext(ctx, network, to)
	}
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || !ip.IsLoopback() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.refused = append(n.refused, address)
		return nil, fmt.Errorf("%s is not in the network of this test", address)
	}
	return dialer.DialContext(ctx, network, address)
}

// tunnel passes bytes between a client and the server that it asks for.
func (n *Network) tunnel(w http.ResponseWriter, r *http.Request) {
	server, err := n.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	// After an answer of the library, the client would already send while the library still reads.
	client, sent, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	go func() {
		defer server.Close()
		_, _ = io.Copy(server, sent)
	}()
	_, _ = io.Copy(client, server)
}
