// Package testserver is what runs in the pods of end-to-end tests: a server that says who answered
// and whom it saw, over HTTP, UDP and behind a PROXY protocol header, and that can be slow to answer
// and slow to end.
//
//	GET /               an Answer, at once
//	GET /?after=2s      an Answer, after that time
//	GET /healthz        200; 503 once it has been asked to end
//
// A datagram is answered with an Answer, too, whose Said is what was in it.
package testserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Answer is what the server says about a request.
type Answer struct {
	// Host is the server's host name: the pod.
	Host string `json:"host"`
	// Remote is the address and port that the server saw.
	Remote string `json:"remote"`
	// Proxy is the PROXY protocol header in front of the request, without its end of line.
	Proxy string `json:"proxy,omitempty"`
	// Said is the content of a datagram.
	Said string `json:"said,omitempty"`
}

// Server is a running server.
type Server struct {
	host     string
	drain    time.Duration
	ending   atomic.Bool
	web      *http.Server
	datagram net.PacketConn
	running  sync.WaitGroup
}

// Options are what a server is made of. A nil listener is not served.
type Options struct {
	Host string
	// HTTP serves plain HTTP, Proxied the same behind a PROXY protocol header (version 1), Datagrams UDP.
	HTTP, Proxied net.Listener
	Datagrams     net.PacketConn
	// Drain is how long new requests are served after the server has been asked to end: as long as
	// load balancers take to react to it.
	Drain time.Duration
}

// headerLimit is the longest PROXY protocol header of version 1, its end of line included.
const headerLimit = 107

// headerTimeout bounds how long a client may take for its headers.
const headerTimeout = 10 * time.Second

// Start starts a server.
func Start(o Options) *Server {
	s := &Server{host: o.Host, drain: o.Drain, datagram: o.Datagrams}
	s.web = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: headerTimeout, ConnContext: withHeader}
	if o.HTTP != nil {
		s.running.Go(func() { _ = s.web.Serve(o.HTTP) })
	}
	if o.Proxied != nil {
		s.running.Go(func() { _ = s.web.Serve(proxied{o.Proxied}) })
	}
	if o.Datagrams != nil {
		s.running.Go(s.echo)
	}
	return s
}

// End lets the server go on for the time of Options.Drain, then finishes what it has been asked, and
// ends. When ctx ends, it ends at once. Ending again does nothing.
func (s *Server) End(ctx context.Context) error {
	if s.ending.Swap(true) {
		s.running.Wait()
		return nil
	}
	select {
	case <-time.After(s.drain):
	case <-ctx.Done():
	}
	err := s.web.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("finishing what was asked: %w", err), s.web.Close())
	}
	if s.datagram != nil {
		err = errors.Join(err, s.datagram.Close())
	}
	s.running.Wait()
	return err
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		if s.ending.Load() {
			http.Error(w, "ending", http.StatusServiceUnavailable)
		}
		return
	}
	if text := r.FormValue("after"); text != "" {
		wait, err := time.ParseDuration(text)
		if err != nil {
			http.Error(w, "after: "+err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return
		}
	}
	header, _ := r.Context().Value(headerKey{}).(func() string)
	answer := Answer{Host: s.host, Remote: r.RemoteAddr}
	if header != nil {
		answer.Proxy = header()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // a client that went away is its own business
}

func (s *Server) echo() {
	buffer := make([]byte, 64<<10)
	for {
		n, from, err := s.datagram.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an answer that could not be delivered is reported to the next read
		}
		answer, err := json.Marshal(Answer{Host: s.host, Remote: from.String(), Said: string(buffer[:n])})
		if err == nil {
			_, _ = s.datagram.WriteTo(answer, from)
		}
	}
}

// headerKey is where the context of a connection has what reads its PROXY protocol header.
type headerKey struct{}

// withHeader gives the context of a connection what reads its PROXY protocol header.
func withHeader(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(*headed); ok {
		return context.WithValue(ctx, headerKey{}, func() string { return c.header })
	}
	return ctx
}

// proxied hands out connections that begin with a PROXY protocol header.
type proxied struct{ net.Listener }

// Accept does not wait for the header: one silent client must not keep the others out.
func (p proxied) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &headed{Conn: conn, buffer: bufio.NewReaderSize(conn, 4<<10)}, nil
}

// headed is a connection whose first line is read before everything else. Only one goroutine reads
// from it: that of its HTTP server.
type headed struct {
	net.Conn
	buffer *bufio.Reader
	read   bool
	header string
}

func (c *headed) Read(into []byte) (int, error) {
	if !c.read {
		if err := c.readHeader(); err != nil {
			return 0, err
		}
	}
	return c.buffer.Read(into)
}

func (c *headed) readHeader() error {
	var line strings.Builder
	for line.Len() < headerLimit {
		b, err := c.buffer.ReadByte()
		if err != nil {
			return errors.Join(errors.New("the connection ended within its PROXY protocol header"), err)
		}
		line.WriteByte(b)
		if b == '\n' {
			break
		}
	}
	header, complete := strings.CutSuffix(line.String(), "\r\n")
	if !complete || !strings.HasPrefix(header, "PROXY ") {
		return fmt.Errorf("%w: it begins with %q, want a PROXY protocol header", io.ErrUnexpectedEOF, line.String())
	}
	c.header, c.read = header, true
	return nil
}
