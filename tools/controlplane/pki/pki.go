// Package pki makes the keys and certificates of a control plane: certificate authorities,
// serving certificates, client certificates that carry a Kubernetes user and groups, and the key
// that signs ServiceAccount tokens. Everything lives as long as one lab cluster, so there is no
// renewal, no revocation and no storage of its own.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// lifetime is far beyond that of any lab cluster, including one that a user keeps.
	lifetime = 365 * 24 * time.Hour
	// backdate tolerates clients whose clock is behind, virtual machines after a pause for example.
	backdate = time.Hour
)

// Pair is a key and what belongs to it, both as PEM.
type Pair struct {
	// Cert is the certificate. It is empty for a key that needs none.
	Cert []byte
	// Key is the private key in SEC 1 form.
	Key []byte
}

// Write writes the pair to name.crt and name.key in dir, readable by the owner only. Without a certificate only the key
// is written.
func (p Pair) Write(dir, name string) error {
	if err := os.WriteFile(filepath.Join(dir, name+".key"), p.Key, 0o600); err != nil {
		return fmt.Errorf("writing the key of %s: %w", name, err)
	}
	if len(p.Cert) == 0 {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), p.Cert, 0o600); err != nil {
		return fmt.Errorf("writing the certificate of %s: %w", name, err)
	}
	return nil
}

// Authority is a certificate authority.
type Authority struct {
	pair Pair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes a certificate authority that signs itself.
func NewAuthority(name string) (*Authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	a := &Authority{}
	pair, cert, key, err := a.issue(template)
	if err != nil {
		return nil, err
	}
	return &Authority{pair: pair, cert: cert, key: key}, nil
}

// LoadAuthority returns the authority that the pair of another one is of, so that both sign alike.
func LoadAuthority(pair Pair) (*Authority, error) {
	certBlock, _ := pem.Decode(pair.Cert)
	keyBlock, _ := pem.Decode(pair.Key)
	if certBlock == nil || keyBlock == nil {
		return nil, errors.New("loading a certificate authority: its certificate or its key is not PEM")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("loading a certificate authority: %w", err)
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("loading the key of a certificate authority: %w", err)
	}
	return &Authority{pair: pair, cert: cert, key: key}, nil
}

// Pair returns the authority's own certificate and key.
func (a *Authority) Pair() Pair { return a.pair }

// Server makes a certificate for a TLS server that is reached under the given host names and IP
// addresses.
func (a *Authority) Server(name string, hosts []string) (Pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	pair, _, _, err := a.issue(template)
	return pair, err
}

// Client makes a certificate that Kubernetes takes for the given user and groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	pair, _, _, err := a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return pair, err
}

// NewKey makes a key without a certificate.
func NewKey() (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("making a key: %w", err)
	}
	encoded, err := encodeKey(key)
	return Pair{Key: encoded}, err
}

// issue completes the template and signs it with the authority; an authority without a key, which
// is one in the making, has the certificate sign itself.
func (a *Authority) issue(template *x509.Certificate) (Pair, *x509.Certificate, *ecdsa.PrivateKey, error) {
	name := template.Subject.CommonName
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, nil, nil, fmt.Errorf("making the key of %s: %w", name, err)
	}
	template.NotBefore = time.Now().Add(-backdate)
	template.NotAfter = time.Now().Add(lifetime)
	parent, signer := a.cert, a.key
	if signer == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, nil, nil, fmt.Errorf("signing the certificate of %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return Pair{}, nil, nil, fmt.Errorf("reading back the certificate of %s: %w", name, err)
	}
	encoded, err := encodeKey(key)
	pair := Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: encoded}
	return pair, cert, key, err
}

// encodeKey uses the older of the two forms for EC keys: kube-apiserver takes a ServiceAccount key
// in PKCS #8 form only when it is an RSA key.
func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
