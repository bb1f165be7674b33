package apiserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// transport answers HTTP requests without a connection, in the goroutine of the client.
type transport struct{ *Server }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	if r.URL.Path == reviewPath {
		return t.review(r, body)
	}
	c, err := t.parse(r, body)
	if err != nil {
		return nil, err
	}
	t.record(c.Request)
	lost, err := t.inject(r.Context(), c.Request)
	if err != nil && !lost {
		return failed(r, err)
	}
	code, answer, problem := t.answer(r, c)
	if problem == nil && lost {
		answer.Close()
	}
	if lost {
		return nil, err
	}
	if problem != nil {
		return failed(r, problem)
	}
	return response(r, code, answer), nil
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.options.NoRequests {
		s.requests = append(s.requests, r)
	}
}

// failed answers with the status of an error. Another error than a status is one of the connection.
func failed(r *http.Request, err error) (*http.Response, error) {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return nil, err
	}
	answer := status.ErrStatus
	answer.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return response(r, int(answer.Code), io.NopCloser(bytes.NewReader(encode(answer))), retryAfter(answer)...), nil
}

func retryAfter(status metav1.Status) []string {
	if status.Details == nil || status.Details.RetryAfterSeconds == 0 {
		return nil
	}
	return []string{"Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds))}
}

func response(r *http.Request, code int, body io.ReadCloser, header ...string) *http.Response {
	answer := &http.Response{
		Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, ContentLength: -1, Request: r,
	}
	if len(header) == 2 {
		answer.Header.Set(header[0], header[1])
	}
	return answer
}

// answer carries out a request.
func (s *Server) answer(r *http.Request, c call) (int, io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(r, c); err != nil {
		return 0, nil, err
	}
	if c.Verb == "watch" {
		body, err := s.watch(r.Context(), c)
		return http.StatusOK, body, err
	}
	code, data, err := s.serve(c)
	return code, io.NopCloser(bytes.NewReader(data)), err
}

// check refuses what the server does not offer.
func (s *Server) check(r *http.Request, c call) error {
	if c.kind == nil || c.Subresource != "" && (c.Subresource != "status" || !c.kind.HasStatus) {
		return refused(http.StatusNotFound, metav1.StatusReasonNotFound, "the server has no such resource: "+r.URL.Path)
	}
	accept := r.Header.Get("Accept")
	if accept != "" && !strings.Contains(accept, "json") && !strings.Contains(accept, "*/*") {
		return refused(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"only application/json is offered, not "+accept)
	}
	if len(c.body) > 0 && !strings.Contains(c.contentType, "json") && c.Verb != "apply" {
		return refused(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"the body must be application/json, not "+c.contentType)
	}
	if !c.kind.Cluster && c.Namespace == "" && c.Verb != "list" && c.Verb != "watch" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s has no namespace", c.subject()))
	}
	return nil
}

func refused(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

// serve carries out all requests but watches. The server is locked.
func (s *Server) serve(c call) (int, []byte, error) {
	var o stored
	var err error
	code := http.StatusOK
	switch c.Verb {
	case "get":
		o, err = s.find(c)
	case "list":
		return s.serveList(c)
	case "create":
		code = http.StatusCreated
		o, err = s.serveCreate(c)
	case "update":
		o, err = s.serveUpdate(c)
	case "patch":
		o, err = s.servePatch(c)
	case "apply":
		code, o, err = s.serveApply(c)
	default:
		return s.serveDelete(c)
	}
	return code, o.encoded, err
}
