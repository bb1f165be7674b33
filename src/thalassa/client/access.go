package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// access is how calls reach the cloud and as whom: what changes when secrets change.
type access struct {
	network     http.RoundTripper
	credentials authorization
}

// newAccess makes the access that secrets give; tokenCalls is put around the network for the calls that fetch access
// tokens.
func newAccess(o Options, secrets secret.Secrets,
	tokenCalls func(http.RoundTripper) http.RoundTripper) (*access, error) {
	network := o.Network
	if network == nil {
		roots, err := rootsWith(secrets.CABundle)
		if err != nil {
			return nil, err
		}
		network = newNetwork(o.Insecure, roots)
	}
	return &access{network: network, credentials: authorize(secrets.Credentials, o.Endpoint, tokenCalls(network))}, nil
}

// pingAfter is how long a connection may be silent while somebody waits for an answer before it is asked whether it
// lives.
const pingAfter = 5 * time.Second

// close gives up idle connections; calls under way go on.
func (a *access) close() {
	if idle, ok := a.network.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
}

// errNoCertificate: a CA bundle that would trust nothing new is a mistake.
var errNoCertificate = errors.New("the CA bundle holds no certificate; want PEM blocks that begin with -----BEGIN " +
	"CERTIFICATE-----")

// rootsWith returns the system's roots and the bundle's; nil, which means the system's, when there is no bundle.
func rootsWith(bundle []byte) (*x509.CertPool, error) {
	if len(bundle) == 0 {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("reading the system's CA certificates: %w", err)
	}
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, errNoCertificate
	}
	return roots, nil
}

func newNetwork(insecure bool, roots *x509.CertPool) http.RoundTripper {
	network := http.DefaultTransport.(*http.Transport).Clone()
	network.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure, RootCAs: roots}
	// One host gets all calls: the library's default of two idle connections would open new ones all the time.
	network.MaxIdleConnsPerHost = 16
	// All calls share one HTTP/2 connection. Without pings a dead one, whose NAT entry is gone, would be used until TCP
	// gives up after a quarter of an hour.
	network.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter / 2}
	return network
}
