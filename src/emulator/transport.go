package emulator

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
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
	if answer.dropped != nil {
		return nil, answer.dropped
	}
	body, length := answer.content()
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", answer.status, http.StatusText(answer.status)),
		StatusCode: answer.status, Header: answer.header, Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(body), ContentLength: length,
	}, nil
}

// memory is a response that is kept in memory.
type memory struct {
	header http.Header
	status int
	body   bytes.Buffer
	// dropped is why there is no response.
	dropped error
}

// Drop implements fault.Dropper.
func (m *memory) Drop(reason error) { m.dropped = reason }

// content is the body and its length; one that is shorter than was promised ends
// as it would on a connection that is cut.
func (m *memory) content() (io.Reader, int64) {
	length := int64(m.body.Len())
	promised, err := strconv.ParseInt(m.header.Get("Content-Length"), 10, 64)
	if err != nil || promised <= length {
		return &m.body, length
	}
	return io.MultiReader(&m.body, cut{}), promised
}

// cut is the end of a connection in the middle of a body.
type cut struct{}

// Read implements io.Reader.
func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Header implements http.ResponseWriter.
func (m *memory) Header() http.Header { return m.header }

// WriteHeader implements http.ResponseWriter.
func (m *memory) WriteHeader(status int) { m.status = status }

// Write implements http.ResponseWriter.
func (m *memory) Write(content []byte) (int, error) { return m.body.Write(content) }
