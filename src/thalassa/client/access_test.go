package client

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// accepting serves callers with one of the tokens.
func accepting(tokens ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, token := range tokens {
			if r.Header.Get("Authorization") == "Token "+token {
				sendJSON(w, http.StatusOK, `{"identity": "vpc-1", "name": "`+token+`"}`)
				return
			}
		}
		sendJSON(w, http.StatusUnauthorized, `{"message": "bad token"}`)
	}
}

func secretsOf(token string) secret.Secrets {
	return secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: token}}
}

// TestAdopt: new credentials are used once they proved good, and bad ones leave everything as it was.
func TestAdopt(t *testing.T) {
	c := newClient(t, secret.Credentials{PersonalAccessToken: "old"}, accepting("old", "new"))
	whoAmI := func() string {
		vpc, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1")
		if err != nil {
			return err.Error()
		}
		return vpc.Name
	}
	probe := func(ctx context.Context, candidate *Client) error {
		if whoAmI() != "old" {
			t.Error("a call during the probe does not use the old credentials")
		}
		_, err := Get[iaas.Vpc](ctx, candidate, iaas.VpcEndpoint+"/vpc-1")
		return err
	}
	if err := c.Adopt(t.Context(), secretsOf("wrong"), probe); !errors.Is(err, ErrUnauthorised) {
		t.Errorf("Adopt of bad credentials = %v", err)
	}
	if c.Err() != nil || whoAmI() != "old" {
		t.Errorf("after a bad candidate: Err() = %v, calls are made as %s", c.Err(), whoAmI())
	}
	if err := c.Adopt(t.Context(), secretsOf("new"), probe); err != nil {
		t.Errorf("Adopt of good credentials = %v", err)
	}
	if whoAmI() != "new" {
		t.Errorf("after a good candidate calls are made as %s", whoAmI())
	}
}

// TestAdoptDuringAnOutage: trying must neither wait for a circuit nor open one.
func TestAdoptDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c := newClient(t, secret.Credentials{PersonalAccessToken: "old"}, func(w http.ResponseWriter, _ *http.Request) {
			calls++
			sendJSON(w, http.StatusBadGateway, `{}`)
		})
		probe := func(ctx context.Context, candidate *Client) error {
			_, err := Get[iaas.Vpc](ctx, candidate, iaas.VpcEndpoint+"/vpc-1")
			return err
		}
		for range outageAfter {
			if err := c.Adopt(t.Context(), secretsOf("new"), probe); !errors.Is(err, ErrUnavailable) {
				t.Errorf("Adopt = %v", err)
			}
		}
		if c.transport.limiter.paused() > 0 {
			t.Error("trying delays other calls")
		}
		if finished, _, err := c.transport.circuit.begin(); err != nil {
			t.Errorf("trying opened the circuit: %v", err)
		} else {
			finished(t.Context(), nil)
		}
		if calls != outageAfter*maxAttempts || c.Err() != nil {
			t.Errorf("%d calls, Err() = %v", calls, c.Err())
		}
	})
}

// newTLSServer serves the API with a certificate that nobody knows, and does not log who refuses it.
func newTLSServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(accepting("pat"))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// TestCABundle: with it a private CA is trusted, without it or with another one it is not, and it can be exchanged.
func TestCABundle(t *testing.T) {
	server := newTLSServer(t)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	secrets := secretsOf("pat")
	c := connect(t, Options{Endpoint: server.URL, Secrets: secrets})
	probe := func(ctx context.Context, c *Client) error {
		_, err := Get[iaas.Vpc](ctx, c, iaas.VpcEndpoint+"/vpc-1")
		return err
	}
	if err := probe(t.Context(), c); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the CA: %v", err)
	}
	secrets.CABundle = bundle
	if err := c.Adopt(t.Context(), secrets, probe); err != nil {
		t.Fatalf("Adopt = %v", err)
	}
	if err := probe(t.Context(), c); err != nil {
		t.Errorf("with the CA: %v", err)
	}
}

// TestCABundleIsAddedToTheSystemsRoots: a server that the system trusts stays trusted. The system's roots are read once
// in the life of a process, so one of its own has them chosen.
func TestCABundleIsAddedToTheSystemsRoots(t *testing.T) {
	const variable = "ENDPOINT_THAT_THE_SYSTEM_TRUSTS"
	if endpoint := os.Getenv(variable); endpoint != "" {
		secrets := secretsOf("pat")
		secrets.CABundle = newCertificate(t)
		c := connect(t, Options{Endpoint: endpoint, Secrets: secrets})
		if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); err != nil {
			t.Errorf("with a CA bundle of another CA: %v", err)
		}
		return
	}
	server, roots := newTLSServer(t), filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.v")
	process.Env = append(os.Environ(), variable+"="+server.URL, "SSL_CERT_FILE="+roots, "SSL_CERT_DIR="+t.TempDir())
	if output, err := process.CombinedOutput(); err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, output)
	}
}

// newCertificate is a CA that has signed nothing but itself, as PEM.
func newCertificate(t *testing.T) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(nil, ca, ca, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
}

func TestCABundleWithoutCertificate(t *testing.T) {
	secrets := secret.Secrets{CABundle: []byte("-----BEGIN s3cret-----")}
	if _, err := New(Options{Endpoint: "https://cloud.test", Secrets: secrets}); !errors.Is(err, errNoCertificate) ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error = %v", err)
	}
}

// TestUntrustedCertificateIsNotRepeated: it will not be trusted a moment later.
func TestUntrustedCertificateIsNotRepeated(t *testing.T) {
	dials := 0
	server := newTLSServer(t)
	c := connect(t, Options{Endpoint: server.URL})
	network := c.transport.access.Load().network
	c.transport.access.Load().network = networkFunc(func(r *http.Request) (*http.Response, error) {
		dials++
		return network.RoundTrip(r)
	})
	_, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1")
	if err == nil || dials != 1 || !strings.Contains(err.Error(), "caBundle") {
		t.Errorf("%d attempts, error %v; want one, and a hint at caBundle", dials, err)
	}
}
