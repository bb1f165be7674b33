// Package authority signs certificates of API clients for tests, as the administrator of a Prometheus does whose
// authority the cloud controller manager trusts.
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

// Authority signs certificates of clients.
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

// PEM is the authority's own certificate as a file has it.
func (a Authority) PEM() string { return string(a.Pair().Cert) }
