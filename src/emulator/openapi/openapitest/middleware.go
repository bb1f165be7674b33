package openapitest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Reporter gets what is not as described: a *testing.T, or anything that stands for one.
type Reporter interface {
	Errorf(format string, arguments ...any)
}

// shared and sampling make the checkers of a process.
//
//nolint:gochecknoglobals // All tests of a process together know which bodies were compared.
var shared, sampling = sync.OnceValues(New), sync.OnceValues(NewSampling)

// Shared returns the checker that all tests of a process share.
func Shared() (*Checker, error) { return shared() }

// Middleware returns the middleware of the checker that all tests of a process share.
func Middleware(tb testing.TB) func(http.Handler) http.Handler {
	tb.Helper()
	checker, err := Shared()
	if err != nil {
		tb.Fatal(err)
	}
	return checker.Middleware(tb)
}

// Sampled is like Middleware, and compares one answer of each shape, in all tests of the process together: see
// [NewSampling]. It is for tests of clients, which receive thousands that are alike.
func Sampled(tb testing.TB) func(http.Handler) http.Handler {
	tb.Helper()
	checker, err := sampling()
	if err != nil {
		tb.Fatal(err)
	}
	return checker.Middleware(tb)
}

// Middleware returns what puts the checker in front of a handler, as in emulator.Config.
func (c *Checker) Middleware(t Reporter) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var sent bytes.Buffer
			a := &answer{ResponseWriter: w}
			next.ServeHTTP(a, recorded(r, &sent))
			if a.cut {
				return
			}
			if err := c.check(r, sent.Bytes(), a); err != nil {
				t.Errorf("%s %s is not as the OpenAPI document says: %v", r.Method, r.URL, err)
			}
		})
	}
}

// recorded is a request whose body is copied while it is read.
func recorded(r *http.Request, into io.Writer) *http.Request {
	copied := r.WithContext(r.Context())
	copied.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, into), r.Body}
	return copied
}

// answer is an answer that is kept while it is sent, if it is JSON.
type answer struct {
	http.ResponseWriter
	status int
	length int
	body   bytes.Buffer
	// cut answers did not reach the client as a whole.
	cut bool
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(content []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	a.length += len(content)
	if strings.HasPrefix(a.Header().Get("Content-Type"), jsonType) {
		a.body.Write(content)
	}
	n, err := a.ResponseWriter.Write(content)
	// A body that the status does not allow is a mistake, which check reports.
	a.cut = a.cut || err != nil && !errors.Is(err, http.ErrBodyNotAllowed)
	return n, err
}
