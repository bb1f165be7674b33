// Package client is the official Thalassa Cloud client with what it lacks underneath: one transport that every call goes
// through, with deadlines, a rate limit, typed errors, a token cache that is safe to share, and a stop that leaves no write
// half-made.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-resty/resty/v2"
	"github.com/thalassa-cloud/client-go/iaas"
	official "github.com/thalassa-cloud/client-go/pkg/client"
	"golang.org/x/time/rate"
)

// Options say which cloud, as whom, and how fast.
type Options struct {
	Endpoint     string // base URL, without path
	Organisation string // identity or slug
	Project      string // identity; may be empty
	UserAgent    string
	Insecure     bool // do not verify the API's certificate
	Credentials  Credentials
	// Network carries the calls; nil is the real network, with the proxy settings of the environment.
	Network http.RoundTripper
}

// Client makes calls to the cloud. It is safe for concurrent use. The errors
// of calls contain an *Error, see Plain; only the official client's own checks of arguments and decoding of values have others.
type Client struct {
	*iaas.Client
	transport *transport
}

// New returns a client. It makes no call: whether endpoint and credentials are good shows at the first one.
func New(o Options) (*Client, error) {
	network := o.Network
	if network == nil {
		network = newNetwork(o.Insecure)
	}
	t := &transport{
		base:        network,
		credentials: o.Credentials.authorize(o.Endpoint, network),
		limiter:     rate.NewLimiter(defaultRate, defaultBurst),
		writes:      newWrites(),
		health:      &health{},
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
	return &Client{Client: typed, transport: t}, nil
}

// Err tells how the latest call ended: nil, or what speaks against the cloud or the credentials.
// An answer like "not found" is a good answer.
func (c *Client) Err() error { return c.transport.health.err() }

// Drain lets no further write begin and waits until those under way are finished, or ctx is done.
func (c *Client) Drain(ctx context.Context) error { return c.transport.writes.drain(ctx) }

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

func newNetwork(insecure bool) http.RoundTripper {
	network := http.DefaultTransport.(*http.Transport).Clone()
	network.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure}
	// One host gets all calls: the library's default of two idle connections would open new ones all the time.
	network.MaxIdleConnsPerHost = 16
	return network
}
