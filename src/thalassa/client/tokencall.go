package client

import (
	"net/http"
	"time"
)

// tokenOperation is what calls for access tokens are called in metrics.
const tokenOperation = "POST /oidc/token"

// tokenCalls puts what holds for all calls around those that fetch access tokens: they take part in the rate limit and
// show in the metrics, also when they are all that is made because the credentials are refused.
func (t *transport) tokenCalls(network http.RoundTripper) http.RoundTripper {
	return tokenCaller{transport: t, network: network}
}

type tokenCaller struct {
	transport *transport
	network   http.RoundTripper
}

// RoundTrip makes one call for an access token.
func (c tokenCaller) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := c.transport.turn(request.Context()); err != nil {
		_ = request.Body.Close() // as an http.RoundTripper does in any case
		return nil, err
	}
	began := time.Now()
	response, err := c.network.RoundTrip(request)
	m := c.transport.metrics
	m.duration.WithLabelValues(tokenOperation).Observe(time.Since(began).Seconds())
	switch {
	case err != nil:
		m.failures.WithLabelValues(tokenOperation, reasonOf(&Error{Kind: ErrUnavailable})).Inc()
	case response.StatusCode >= http.StatusBadRequest:
		m.failures.WithLabelValues(tokenOperation, reasonOf(&Error{Kind: kindOfRefusedToken(response.StatusCode)})).
			Inc()
	}
	return response, err
}
