// Package authority signs certificates for tests: of API clients, as the administrator of a Prometheus does whose
// authority the cloud controller manager trusts, and of servers.
//
//	clients := authority.New(t)
//	clients.PEM()              // for the Secret metrics-clients
//	clients.Sign(t, "prometheus") // what Prometheus shows
package authority

import (
	"crypto/tls"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane/pki"
)

// Authority signs certificates.
type Authority struct{ *pki.Authority }

// New makes an authority that is not trusted yet.
func New(tb testing.TB) Authority {
	tb.Helper()
	made, err := pki.NewAuthority("clients")
	if err != nil {
		tb.Fatal(err)
	}
	return Authority{made}
}

// Sign returns a client's certificate with that common name, which is the user's name for Kubernetes.
func (a Authority) Sign(tb testing.TB, name string) *tls.Certificate {
	tb.Helper()
	pair, err := a.Client(name)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return &certificate
}

// ServerTLS is what a server with this name or address needs.
func (a Authority) ServerTLS(tb testing.TB, host string) *tls.Config {
	tb.Helper()
	pair, err := a.Server(host, []string{host})
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
}

// PEM is the authority's own certificate as a file has it.
func (a Authority) PEM() string { return string(a.Pair().Cert) }
