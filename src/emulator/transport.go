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

// memory is a response that is kept in memory, in pieces: a list may be half a gigabyte, and growing one buffer for it
// would take longer
// than making it.
type memory struct {
	header http.Header
	status int
	pieces [][]byte
	length int64
	// dropped is why there is no response.
	dropped error
}

// Drop implements fault.Dropper.
func (m *memory) Drop(reason error) { m.dropped = reason }

// content is the body and its length; one that is shorter than was promised ends
// as it would on a connection that is cut.
func (m *memory) content() (io.Reader, int64) {
	length, body := m.length, &pieces{m.pieces}
	m.pieces = nil
	promised, err := strconv.ParseInt(m.header.Get("Content-Length"), 10, 64)
	if err != nil || promised <= length {
		return body, length
	}
	return io.MultiReader(body, cut{}), promised
}

// pieces is a body that lets go of what was read.
type pieces struct{ left [][]byte }

// Read implements io.Reader.
func (p *pieces) Read(into []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.left[0])
	if p.left[0] = p.left[0][n:]; len(p.left[0]) == 0 {
		p.left[0], p.left = nil, p.left[1:]
	}
	return n, nil
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
func (m *memory) Write(content []byte) (int, error) {
	if len(content) > 0 {
		m.pieces = append(m.pieces, bytes.Clone(content))
		m.length += int64(len(content))
	}
	return len(content), nil
}
