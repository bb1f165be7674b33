package manager

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// authority signs client certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key := newKey(t)
	template := template(name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	return authority{sign(t, template, template, key, key), key}
}

func newKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

func sign(t *testing.T, template, parent *x509.Certificate, key, parentKey crypto.Signer) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func (a authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}))
}

// client returns a client that shows a certificate with the name.
func (a authority) client(t *testing.T, name string) *http.Client {
	t.Helper()
	key := newKey(t)
	certificate := sign(t, template(name), a.certificate, key, a.key)
	return &http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{
			{Certificate: [][]byte{certificate.Raw}, PrivateKey: key}}},
	}}
}

// TestPublishedCertificateAuthorities proves that the authorities the cluster
// publishes are honoured, although nothing waited for them at the start.
func TestPublishedCertificateAuthorities(t *testing.T) {
	clients, proxies := newAuthority(t, "clients"), newAuthority(t, "proxies")
	api := newAPIServer(t)
	api.goAway()
	r := start(t, api, newTestCloud())
	r.waitFor("/livez", 200)

	metrics := func(client *http.Client, as string) (int, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/metrics", nil)
		if err != nil {
			return 0, err
		}
		if as != "" {
			request.Header.Set("X-Remote-User", as)
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		response.Body.Close()
		return response.StatusCode, nil
	}
	if status, err := metrics(clients.client(t, "reader"), ""); status == 200 {
		t.Errorf("a client is let in before its authority is known (error %v)", err)
	}

	api.put(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: authenticationNamespace, Name: authenticationConfigMap},
		Data: map[string]string{
			"client-ca-file":                     clients.pem(),
			"requestheader-client-ca-file":       proxies.pem(),
			"requestheader-allowed-names":        `["front-proxy"]`,
			"requestheader-username-headers":     `["X-Remote-User"]`,
			"requestheader-group-headers":        `["X-Remote-Group"]`,
			"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		},
	})
	api.comeBack()
	tests := map[string]struct {
		client *http.Client
		as     string
		want   int
	}{
		"a reader":                           {clients.client(t, "reader"), "", 200},
		"a stranger":                         {clients.client(t, "stranger"), "", 403},
		"a proxy for a reader":               {proxies.client(t, "front-proxy"), "reader", 200},
		"a proxy for a stranger":             {proxies.client(t, "front-proxy"), "stranger", 403},
		"a client that pretends":             {clients.client(t, "stranger"), "reader", 403},
		"a proxy that is not allowed":        {proxies.client(t, "other"), "reader", 401},
		"a certificate of another authority": {newAuthority(t, "other").client(t, "reader"), "", 403},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			eventually(t, func() error {
				status, err := metrics(test.client, test.as)
				if err == nil && status != test.want {
					return fmt.Errorf("/metrics: %d, want %d", status, test.want)
				}
				return err
			})
		})
	}
}
