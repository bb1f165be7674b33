package client

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/outage"
)

// health contains how the latest request ended.
type health struct {
	mu      sync.Mutex
	ended   time.Time
	problem error
}

// set records the end of a request. It logs the first failure, so that the log contains why a process is not ready.
func (h *health) set(problem error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case problem == nil && h.problem != nil:
		klog.InfoS("The IronCore API is available again")
	case problem != nil && h.problem == nil:
		klog.ErrorS(problem, "The IronCore API is not available: this process is not ready, and retries")
	}
	h.ended, h.problem = time.Now(), problem
}

func (h *health) last() (time.Time, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended, h.problem
}

// trouble is what the end of a request says against the API or the credentials. Other refusals are answers: a quota
// and missing permissions both have the status 403, and are about one request.
func trouble(status int, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("the IronCore API does not answer: %w", err)
	case status == http.StatusUnauthorized:
		return fmt.Errorf("the IronCore API does not accept the credentials (HTTP %d)", status)
	case status >= http.StatusInternalServerError:
		return fmt.Errorf("the IronCore API has failed (HTTP %d)", status)
	}
	return nil
}

// probeInterval is the minimum interval between requests that readiness probes cause.
const probeInterval = 10 * time.Second

// readiness records when it last requested something.
type readiness struct {
	mu    sync.Mutex
	asked time.Time
}

// due reports whether a request is due, and records it.
func (r *readiness) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.asked) < probeInterval {
		return false
	}
	r.asked = time.Now()
	return true
}

// Ready returns nil if the API has answered the latest request, or if there was no request, as on a standby. It returns
// the result at once. After a failure it also starts a request in the background, so that the next result is newer: an
// open watch causes no requests for a long time.
func (c *Client) Ready() error {
	_, problem := c.LastRequest()
	if problem != nil && c.readiness.due() {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), probeInterval)
			defer cancel()
			// The transport records the result.
			_, _ = c.Networks.List(ctx, metav1.ListOptions{Limit: 1})
		}()
	}
	return problem
}

// MonitorOutages requests the Network with that name while the API does not answer, until ctx ends.
func (c *Client) MonitorOutages(ctx context.Context, network string) {
	c.transport.outage.Run(ctx, func(ctx context.Context) error { return c.Probe(ctx, network) })
}

// Outages returns what records whether the API answers. MonitorOutages has to run.
func (c *Client) Outages() *outage.Monitor { return c.transport.outage }
