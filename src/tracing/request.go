package tracing

import (
	"errors"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// StartRequest starts the span of an HTTP request if the span in its context is recorded, and returns the request with
// the new span in its context. The resource is what the verb is applied to, without identities: "/v1/vpcs/{id}" or
// "services/status". The caller ends the span with [EndRequest].
func StartRequest(request *http.Request, verb, resource string) (*http.Request, trace.Span) {
	parent := trace.SpanFromContext(request.Context())
	if !parent.IsRecording() {
		return request, parent
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(request.Context(), verb+" "+resource,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("http.request.method", request.Method),
			attribute.String("server.address", request.URL.Host),
			attribute.String("verb", verb), attribute.String("resource", resource)))
	return request.WithContext(ctx), span
}

// EndRequest ends the span of a request. The status is that of the answer; 0 if there was none.
func EndRequest(span trace.Span, status int, err error) {
	if !span.IsRecording() {
		return
	}
	if status != 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
	}
	if err == nil && status >= http.StatusBadRequest {
		err = errors.New(http.StatusText(status))
	}
	End(span, err)
}

// Retry records that the request of a span failed for a reason and is sent again.
func Retry(span trace.Span, attempts int, reason string) {
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("http.request.resend_count", attempts))
		span.AddEvent("retry", trace.WithAttributes(attribute.String("reason", reason)))
	}
}
