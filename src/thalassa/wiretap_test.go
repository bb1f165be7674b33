package thalassa

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// wiretap hears all writes on their way to the cloud, and can change the answers.
type wiretap struct {
	t    testing.TB
	next http.RoundTripper

	mu     sync.Mutex
	bodies map[string][]string // "PUT /v1/loadbalancers/lb-1" -> what was sent, oldest first
	// refuse gives a status to answer a request with, which the cloud then never sees; 0: none.
	refuse func(operation string) int
	// shown changes each object of an answer before the provider gets it.
	shown func(path string, object map[string]any)
}

// tap restarts the lab's provider with a wiretap between it and the cloud.
func (l *lab) tap() *wiretap {
	l.Helper()
	w := &wiretap{t: l.TB, next: l.network, bodies: map[string][]string{}}
	l.network = w
	l.restart()
	return w
}

func (w *wiretap) RoundTrip(request *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	operation := request.Method + " " + request.URL.Path
	if strings.HasSuffix(operation, "/oidc/token") {
		return w.next.RoundTrip(request)
	}
	request = w.hear(operation, request)
	if w.refuse != nil {
		if status := w.refuse(operation); status != 0 {
			return refusal(request, status), nil
		}
	}
	response, err := w.next.RoundTrip(request)
	if err == nil && w.shown != nil {
		w.show(request.URL.Path, response)
	}
	return response, err
}

// hear writes down the body of a request, and returns the request to send on.
func (w *wiretap) hear(operation string, request *http.Request) *http.Request {
	if request.Body == nil || request.Method == http.MethodGet {
		return request
	}
	body := w.read(request.Body)
	w.bodies[operation] = append(w.bodies[operation], string(body))
	request = request.Clone(request.Context())
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return request
}

func (w *wiretap) show(path string, response *http.Response) {
	body := w.read(response.Body)
	var objects []map[string]any
	single := map[string]any{}
	switch {
	case json.Unmarshal(body, &objects) == nil:
		for _, object := range objects {
			w.shown(path, object)
		}
		body = w.write(objects)
	case json.Unmarshal(body, &single) == nil:
		w.shown(path, single)
		body = w.write(single)
	}
	response.Header.Del("Content-Length")
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

func (w *wiretap) read(body io.ReadCloser) []byte {
	content, err := io.ReadAll(body)
	if err != nil {
		w.t.Error(err)
	}
	_ = body.Close()
	return content
}

func (w *wiretap) write(object any) []byte {
	body, err := json.Marshal(object)
	if err != nil {
		w.t.Error(err)
	}
	return body
}

// heard returns what was sent with all operations that start so.
func (w *wiretap) heard(start string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var bodies []string
	for operation, sent := range w.bodies {
		if strings.HasPrefix(operation, start) {
			bodies = append(bodies, sent...)
		}
	}
	return bodies
}

// refusing makes the cloud refuse the first operations that start so, as many as left says.
func refusing(start string, status, left int) func(string) int {
	return func(operation string) int {
		if left == 0 || !strings.HasPrefix(operation, start) {
			return 0
		}
		left--
		return status
	}
}

// refusal is a refusal in the API's own form.
func refusal(request *http.Request, status int) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Request: request,
		Body: io.NopCloser(strings.NewReader(`{"message": "refused by the test"}`)),
	}
}
