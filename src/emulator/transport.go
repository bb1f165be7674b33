package emulator

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Transport reaches the emulator without a network, whatever host a request
// names. It is for testing/synctest, where sockets would block virtual time.
func (e *Emulator) Transport() http.RoundTripper { return direct{e} }

type direct struct{ handler http.Handler }

// RoundTrip answers a request in the caller's goroutine.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer := &memory{header: http.Header{}, status: http.StatusOK}
	d.handler.ServeHTTP(answer, r)
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", answer.status, http.StatusText(answer.status)),
		StatusCode: answer.status, Header: answer.header, Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(&answer.body), ContentLength: int64(answer.body.Len()),
	}, nil
}

// memory is a response that is kept in memory.
type memory struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (m *memory) Header() http.Header { return m.header }

// WriteHeader implements http.ResponseWriter.
func (m *memory) WriteHeader(status int) { m.status = status }

// Write implements http.ResponseWriter.
func (m *memory) Write(content []byte) (int, error) { return m.body.Write(content) }
