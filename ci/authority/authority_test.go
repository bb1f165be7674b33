package authority_test

import (
	"crypto/x509"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/ci/authority"
)

// verify checks a certificate as a server does that trusts one authority.
func verify(t *testing.T, trusted authority.Authority, shown [][]byte,
	usage x509.ExtKeyUsage) (name string, err error) {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(trusted.PEM())) {
		t.Fatal("the authority's certificate is none")
	}
	certificate, err := x509.ParseCertificate(shown[0])
	if err != nil {
		t.Fatal(err)
	}
	_, err = certificate.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{usage}})
	return certificate.Subject.CommonName, err
}

// TestSign: a client is known by its name to those who trust the authority, and is no server.
func TestSign(t *testing.T) {
	clients := authority.New(t)
	shown := clients.Sign(t, "prometheus").Certificate
	if name, err := verify(t, clients, shown, x509.ExtKeyUsageClientAuth); name != "prometheus" || err != nil {
		t.Errorf("name %q, error %v", name, err)
	}
	if _, err := verify(t, clients, shown, x509.ExtKeyUsageServerAuth); err == nil {
		t.Error("it is good for a server, too")
	}
	if _, err := verify(t, authority.New(t), shown, x509.ExtKeyUsageClientAuth); err == nil {
		t.Error("another authority stands for it, too")
	}
}

// TestServerTLS: a server is known by its name to those who trust the authority.
func TestServerTLS(t *testing.T) {
	servers := authority.New(t)
	shown := servers.ServerTLS(t, "registry.example.com").Certificates[0]
	if _, err := verify(t, servers, shown.Certificate, x509.ExtKeyUsageServerAuth); err != nil {
		t.Error(err)
	}
	for host, want := range map[string]bool{"registry.example.com": true, "example.com": false} {
		if err := shown.Leaf.VerifyHostname(host); (err == nil) != want {
			t.Errorf("for the name %s: %v", host, err)
		}
	}
}

// TestSignTwice: two of one name are two clients.
func TestSignTwice(t *testing.T) {
	clients := authority.New(t)
	one, two := clients.Sign(t, "a"), clients.Sign(t, "a")
	if string(one.Certificate[0]) == string(two.Certificate[0]) {
		t.Error("they have the same certificate")
	}
	for _, certificate := range [][][]byte{one.Certificate, two.Certificate} {
		if _, err := verify(t, clients, certificate, x509.ExtKeyUsageClientAuth); err != nil {
			t.Error(err)
		}
	}
}

// TestClientIsNoAuthority: what a client signs is not valid.
func TestClientIsNoAuthority(t *testing.T) {
	certificate, err := x509.ParseCertificate(authority.New(t).Sign(t, "a").Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if certificate.IsCA || certificate.KeyUsage&x509.KeyUsageCertSign != 0 {
		t.Errorf("it may sign: CA %t, usage %v", certificate.IsCA, certificate.KeyUsage)
	}
}
