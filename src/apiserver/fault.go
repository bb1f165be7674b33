package apiserver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// These reasons of a status stand for faults of the connection, not for an answer.
const (
	// Unreachable means that the connection is refused: the server gets no request.
	Unreachable metav1.StatusReason = "Unreachable"
	// ResponseLost means that the connection ends before the answer: what the request asks for is done.
	ResponseLost metav1.StatusReason = "ResponseLost"
	// NoAnswer means that the client waits until it gives up: the server does nothing.
	NoAnswer metav1.StatusReason = "NoAnswer"
)

// Fail lets requests of clients fail. The function gets each request before the server does, and returns the status
// that is the answer, such as the Status of an error of k8s.io/apimachinery/pkg/api/errors, or one with a reason of
// this package; nil for no fault. It may use the server, for example to change an object between a read and a write
// of the client. A nil function ends all faults.
func (s *Server) Fail(fault func(Request) *metav1.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Fault returns a status for Fail with one of the reasons of this package.
func Fault(reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Reason: reason}
}

// inject returns the error of a fault. lost means that the request is carried out, and that the error is the answer.
func (s *Server) inject(ctx context.Context, r Request) (lost bool, err error) {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return false, ctx.Err()
	}
	status := fault(r)
	switch {
	case status == nil:
		return false, ctx.Err()
	case status.Reason == Unreachable:
		return false, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case status.Reason == ResponseLost:
		return true, fmt.Errorf("reading the response: %w", io.ErrUnexpectedEOF)
	case status.Reason == NoAnswer:
		<-ctx.Done()
		return false, ctx.Err()
	}
	answer := *status
	answer.Status = metav1.StatusFailure
	answer.Code = cmp.Or(answer.Code, http.StatusInternalServerError)
	return false, &apierrors.StatusError{ErrStatus: answer}
}
