// Package client makes calls to Thalassa Cloud, with the official client's types and paths. Its calls it replaces:
// every call goes through one transport, with deadlines, retries where they are safe, a shared rate limit, a circuit
// that opens when the cloud is away, typed errors, metrics, a log line for every write, credentials and CA that can be
// exchanged while it works, and a stop that leaves no write half-made. Lists are decoded as a stream, see List.
package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// What a client does unless Options say otherwise.
const (
	// DefaultCallTimeout bounds one call, with all its attempts, from the moment it may be sent until its body is read.
	DefaultCallTimeout = 30 * time.Second
	// DefaultRate and DefaultBurst bound the calls of one process (requests per second, requests at once).
	DefaultRate  = 50
	DefaultBurst = 100
)

// Options say which cloud, as whom, and how fast.
type Options struct {
	Endpoint     string // base URL, without path
	Organisation string // identity or slug
	Project      string // identity; may be empty
	UserAgent    string
	Insecure     bool // do not verify the API's certificate
	Secrets      secret.Secrets
	CallTimeout  time.Duration // 0: DefaultCallTimeout
	Rate         int           // requests per second; 0: DefaultRate
	Burst        int           // requests at once; 0: DefaultBurst
	// Network carries the calls; nil is the real network, with the proxy settings of the environment.
	Network http.RoundTripper
}

// Client makes calls to the cloud: Get, List, Post, Put and Delete. It is safe for concurrent use. The error of a call
// is an *Error.
type Client struct {
	options   Options
	transport *transport
}

// New returns a client. It makes no call: whether endpoint and credentials are good shows at the first one.
// It fails for a CA bundle without certificates.
func New(o Options) (*Client, error) {
	o.Endpoint = strings.TrimRight(o.Endpoint, "/")
	t, err := newTransport(o)
	if err != nil {
		return nil, fmt.Errorf("preparing the client of %s: %w", o.Endpoint, err)
	}
	return &Client{options: o, transport: t}, nil
}

// Err tells how the latest call ended: nil, or what speaks against the cloud or the credentials.
// An answer like "not found" is a good answer.
func (c *Client) Err() error {
	if failure := c.transport.latest.Load(); failure != nil {
		return failure
	}
	return nil
}

// Drain ends reads, lets nothing be sent that has not been sent, repeats nothing, and waits until the writes that were
// sent are answered, or ctx is done. That takes at most DrainTimeout.
func (c *Client) Drain(ctx context.Context) error { return c.transport.stage.drain(ctx) }

// DrainTimeout is the longest time that Drain takes: that of one call.
func (c *Client) DrainTimeout() time.Duration { return c.transport.timeout }

// Collectors are the metrics of the client's calls, for registration.
func (c *Client) Collectors() []prometheus.Collector { return c.transport.metrics.collectors() }

// RefuseWrites makes all later writes fail with ErrReadOnly before they are sent. It is called before the first call.
func (c *Client) RefuseWrites() { c.transport.readOnly = true }

// Forget ends the use of all earlier answers to lists: Relist asks for each of them again, and keep may decide
// otherwise.
func (c *Client) Forget() { c.transport.writes.Add(1) }

// MonitorOutages calls probe while the cloud does not answer, until ctx ends. Probe makes a call of this client.
func (c *Client) MonitorOutages(ctx context.Context, probe func(context.Context) error) {
	c.transport.outage.Run(ctx, probe)
}

// AnsweredWithin reports whether the cloud has answered within this time, and every call since.
func (c *Client) AnsweredWithin(d time.Duration) bool { return c.transport.outage.AnsweredWithin(d) }

// Recovered calls report each time the cloud answers again after an outage, until ctx ends. MonitorOutages has to run.
func (c *Client) Recovered(ctx context.Context, report func()) { c.transport.outage.Watch(ctx, report) }

// Adopt changes over to other secrets after trying them: probe makes calls with a client that uses the new secrets,
// while all other calls use the old ones. When the probe fails the old ones stay, and its error is returned.
func (c *Client) Adopt(ctx context.Context, secrets secret.Secrets,
	probe func(context.Context, *Client) error) error {
	candidate, err := newAccess(c.options, secrets, c.transport.tokenCalls)
	if err != nil {
		return err
	}
	if err := probe(ctx, &Client{options: c.options, transport: c.transport.trial(candidate)}); err != nil {
		candidate.close()
		return err
	}
	c.transport.access.Swap(candidate).close()
	return nil
}
