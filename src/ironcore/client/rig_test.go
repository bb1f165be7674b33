package client

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
)

const network = `{"kind": "Network", "apiVersion": "networking.ironcore.dev/v1alpha1", "metadata": {"name": "net-1"}}`

var errDown = errors.New("connection refused")

// server is an API server in memory.
type server struct {
	mu       sync.Mutex
	status   int         // of all answers
	answer   string      // the body of all answers
	header   http.Header // of all answers, beside their type
	err      error       // no answer
	requests []*http.Request
	block    func(*http.Request) error // before the answer; may be nil
	body     func(*http.Request) io.ReadCloser
}

// RoundTrip answers one request.
func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.requests = append(s.requests, request)
	status, answer, err, block, body := s.status, s.answer, s.err, s.block, s.body
	header := http.Header{"Content-Type": {"application/json"}}
	maps.Copy(header, s.header)
	s.mu.Unlock()
	if block != nil {
		err = block(request)
	}
	if err != nil {
		return nil, err
	}
	response := &http.Response{StatusCode: status, Request: request, Header: header}
	if body != nil {
		response.Body = body(request)
	} else {
		response.Body = io.NopCloser(strings.NewReader(answer))
	}
	return response, nil
}

func (s *server) set(status int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.err = status, err
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// untilDone blocks until the context of a request ends, as a connection does that gets no answer.
func untilDone(request *http.Request) error {
	<-request.Context().Done()
	return request.Context().Err()
}

// newClient returns a client of a server that has the Network net-1.
func newClient(t *testing.T) (*Client, *server) {
	t.Helper()
	s := &server{status: http.StatusOK, answer: network}
	c, err := New(&rest.Config{Host: "http://ironcore.example", Transport: s, QPS: -1}, "tenant-1")
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

// registered returns a registry with the metrics of the client.
func registered(c *Client) *prometheus.Registry {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c.Collectors()...)
	return registry
}

// problem is the text of an error; "" for none.
func problem(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
