// Package authority signs certificates of API clients, as the administrator of a Prometheus does whose authority the cloud
// controller manager trusts.
//
//	clients := authority.New(t)
//	clients.PEM()              // for the Secret metrics-clients
//	clients.Sign(t, "prometheus") // what Prometheus shows
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// validity is how long certificates are good for.
const validity = time.Hour

// Authority signs certificates of clients, and nothing else.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New makes an authority that nobody trusts yet.
func New(tb testing.TB) Authority {
	tb.Helper()
	a := Authority{key: newKey(tb)}
	template := describe("clients")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	a.certificate = a.issue(tb, template, template, a.key)
	return a
}

// Sign returns a client's certificate with that common name, which is the user's name for Kubernetes.
func (a Authority) Sign(tb testing.TB, name string) *tls.Certificate {
	tb.Helper()
	key := newKey(tb)
	template := describe(name)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return &tls.Certificate{Certificate: [][]byte{a.issue(tb, template, a.certificate, key).Raw}, PrivateKey: key}
}

// PEM is the authority's own certificate as a file has it.
func (a Authority) PEM() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}))
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func describe(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(validity),
	}
}

func (a Authority) issue(tb testing.TB, template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	tb.Helper()
	data, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(data)
	if err != nil {
		tb.Fatal(err)
	}
	return certificate
}
