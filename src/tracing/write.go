package tracing

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// causeKey carries why a write is made.
type causeKey struct{}

// WithCause records why the writes with the returned context are made: for which Kubernetes object, what and for what
// reason, in words. It must hold no secret.
func WithCause(ctx context.Context, cause string) context.Context {
	return context.WithValue(ctx, causeKey{}, cause)
}

// Write is a write to a cloud that is over.
type Write struct {
	Request  string    // the operation, without identities
	Object   string    // the identity or the name of the object; empty if it is not known
	Status   int       // of the HTTP answer; 0 without one
	Attempts int       // how often the request was sent
	Began    time.Time // when it was sent first
	Err      error     // nil after a success; must not contain a body or a credential
}

// Log logs the write in one line, with the logger and the cause of the context, and the ID of the trace, if any.
func (w Write) Log(ctx context.Context) {
	cause, _ := ctx.Value(causeKey{}).(string)
	line := []any{
		"request", w.Request, "object", w.Object, "cause", cause, "status", w.Status, "attempts", w.Attempts,
		"duration", time.Since(w.Began).Round(time.Millisecond).String(),
	}
	if id := ID(ctx); id != "" {
		line = append(line, "traceID", id)
	}
	logger := klog.FromContext(ctx)
	if w.Err != nil {
		logger.Info("Cloud write failed", append(line, "err", w.Err.Error())...)
		return
	}
	logger.Info("Cloud write", line...)
}
