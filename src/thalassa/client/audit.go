package client

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// causeKey carries why a write is made.
type causeKey struct{}

// WithCause says why the writes made with the returned context are made, for the audit log: for which Kubernetes
// object, what and for what reason, in words. It must hold no secret.
func WithCause(ctx context.Context, cause string) context.Context {
	return context.WithValue(ctx, causeKey{}, cause)
}

// audit logs a write once it is over: one line, whatever became of it, without its body.
func (c *call) audit(began time.Time) {
	ctx := c.request.Context()
	cause, _ := ctx.Value(causeKey{}).(string)
	line := []any{
		"request", c.operation, "object", c.object(), "cause", cause,
		"status", c.status, "attempts", c.attempts, "duration", time.Since(began).Round(time.Millisecond).String(),
	}
	if id := tracing.ID(ctx); id != "" {
		line = append(line, "traceID", id)
	}
	logger := klog.FromContext(ctx)
	if c.outcome != nil {
		logger.Info("Cloud write failed", append(line, "err", c.outcome.Error())...)
		return
	}
	logger.Info("Cloud write", line...)
}
