// Package client is the official Thalassa Cloud client with what it lacks underneath: one transport that every call goes
// through, with deadlines, retries where they are safe, a shared rate limit, a circuit that opens when the cloud is away, typed
// errors, metrics, a log line for every write, credentials and CA that can be exchanged while it works, and a stop that leaves
// no write half-made. Lists are decoded as a stream, see List.
package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-resty/resty/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/thalassa-cloud/client-go/iaas"
	official "github.com/thalassa-cloud/client-go/pkg/client"
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
	Secrets      Secrets
	CallTimeout  time.Duration // 0: DefaultCallTimeout
	Rate         int           // requests per second; 0: DefaultRate
	Burst        int           // requests at once; 0: DefaultBurst
	// Network carries the calls; nil is the real network, with the proxy settings of the environment.
	Network http.RoundTripper
}

// Client makes calls to the cloud. It is safe for concurrent use. The errors
// of calls contain an *Error, see Plain; only the official client's own checks of arguments and decoding of values have others.
type Client struct {
	*iaas.Client
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
	options := []official.Option{
		official.WithBaseURL(o.Endpoint),
		official.WithOrganisation(o.Organisation),
		official.WithUserAgent(o.UserAgent),
		official.WithAuthCustom(),
	}
	if o.Project != "" {
		options = append(options, official.WithProject(o.Project))
	}
	raw, err := withTransport(t, options)
	if err != nil {
		return nil, fmt.Errorf("preparing the client of %s: %w", o.Endpoint, err)
	}
	typed, err := iaas.New(raw)
	if err != nil {
		return nil, fmt.Errorf("preparing the client of %s: %w", o.Endpoint, err)
	}
	return &Client{Client: typed, options: o, transport: t}, nil
}

// Err tells how the latest call ended: nil, or what speaks against the cloud or the credentials.
// An answer like "not found" is a good answer.
func (c *Client) Err() error { return c.transport.health.err() }

// Drain lets no further write begin and waits until those under way are finished, or ctx is done.
func (c *Client) Drain(ctx context.Context) error { return c.transport.writes.drain(ctx) }

// Collectors are the metrics of the client's calls, for registration.
func (c *Client) Collectors() []prometheus.Collector { return c.transport.metrics.collectors() }

// Adopt changes over to other secrets after trying them: probe makes a call with the context it gets, which goes out with the new
// secrets, while all other calls use the old ones. When the probe fails the old ones stay, and its error is returned.
func (c *Client) Adopt(ctx context.Context, secrets Secrets, probe func(context.Context) error) error {
	candidate, err := newAccess(c.options, secrets, c.transport.tokenCalls)
	if err != nil {
		return err
	}
	if err := probe(withCandidate(ctx, candidate)); err != nil {
		candidate.close()
		return err
	}
	c.transport.access.Swap(candidate).close()
	return nil
}

// errPrimed ends the one request that only exists to get at the HTTP client.
var errPrimed = errors.New("primed")

// withTransport builds the official client with our transport. The library has no option for it; only a middleware ever sees
// its HTTP client. So one request, which never reaches the network, sets it before anybody shares the client.
func withTransport(t http.RoundTripper, options []official.Option) (official.Client, error) {
	var once sync.Once
	prime := func(http *resty.Client, _ *resty.Request) (err error) {
		once.Do(func() {
			http.SetTransport(t)
			err = errPrimed
		})
		return err
	}
	raw, err := official.NewClient(append(options, official.WithMiddleware(prime))...)
	if err != nil {
		return nil, err
	}
	if _, err := raw.RawRequest(context.Background(), http.MethodGet, "/", nil); !errors.Is(err, errPrimed) {
		return nil, fmt.Errorf("the official client no longer hands its HTTP client to a middleware: %w", err)
	}
	return raw, nil
}
