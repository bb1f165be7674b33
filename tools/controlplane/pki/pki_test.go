package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane/pki"
)

func authority(t *testing.T, name string) *pki.Authority {
	t.Helper()
	a, err := pki.NewAuthority(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func pair(t *testing.T) func(p pki.Pair, err error) pki.Pair {
	t.Helper()
	return func(p pki.Pair, err error) pki.Pair {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func keyPair(t *testing.T, p pki.Pair) tls.Certificate {
	t.Helper()
	c, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func pool(a *pki.Authority) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(a.Pair().Cert)
	return p
}

// handshake lets a client and a server with these settings meet and returns what either side
// says, and whom the server saw.
func handshake(t *testing.T, client, server *tls.Config) (user string, groups []string, err error) {
	t.Helper()
	near, far := net.Pipe()
	closeBoth := func() { _, _ = near.Close(), far.Close() }
	defer closeBoth()
	seen := make(chan error, 1)
	s := tls.Server(far, server)
	go func() {
		_, err := s.Write([]byte("x")) // with TLS 1.3 the server's verdict comes after the client's
		_ = far.Close()
		seen <- err
	}()
	c := tls.Client(near, client)
	_, clientErr := io.ReadFull(c, make([]byte, 1))
	_ = near.Close()
	if err := <-seen; err != nil {
		return "", nil, err
	}
	if certs := s.ConnectionState().PeerCertificates; len(certs) > 0 {
		user, groups = certs[0].Subject.CommonName, certs[0].Subject.Organization
	}
	return user, groups, clientErr
}

func TestMutualTLS(t *testing.T) {
	ours, theirs := authority(t, "ours"), authority(t, "theirs")
	server := pair(t)(ours.Server("server", []string{"127.0.0.1", "localhost", "::1"}))
	client := pair(t)(ours.Client("alice", "admins", "staff"))
	tests := []struct {
		name   string
		host   string
		trust  *pki.Authority
		client pki.Pair
		works  bool
	}{
		{"by IPv4 address", "127.0.0.1", ours, client, true},
		{"by IPv6 address", "::1", ours, client, true},
		{"by name", "localhost", ours, client, true},
		{"other host", "example.com", ours, client, false},
		{"server of another authority", "localhost", theirs, client, false},
		{"client of another authority", "localhost", ours, pair(t)(theirs.Client("alice")), false},
		{"server certificate used by a client", "localhost", ours, server, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			user, groups, err := handshake(t,
				&tls.Config{ServerName: tt.host, RootCAs: pool(tt.trust),
					Certificates: []tls.Certificate{keyPair(t, tt.client)}},
				&tls.Config{Certificates: []tls.Certificate{keyPair(t, server)}, ClientCAs: pool(ours),
					ClientAuth: tls.RequireAndVerifyClientCert})
			if (err == nil) != tt.works {
				t.Fatalf("got error %v, want it to work: %v", err, tt.works)
			}
			slices.Sort(groups) // the certificate holds a set
			if tt.works && (user != "alice" || !cmp.Equal(groups, []string{"admins", "staff"})) {
				t.Errorf("the server saw user %q in groups %q", user, groups)
			}
		})
	}
}

func TestAuthorityCannotBeMistakenForALeaf(t *testing.T) {
	a := authority(t, "ours")
	leaf := pair(t)(a.Client("alice"))
	cert := keyPair(t, leaf).Leaf
	if cert.IsCA || cert.KeyUsage&x509.KeyUsageCertSign != 0 {
		t.Error("a client certificate may sign others")
	}
	if again := pair(t)(a.Client("alice")); keyPair(t, again).Leaf.SerialNumber.Cmp(cert.SerialNumber) == 0 {
		t.Error("two certificates share a serial number")
	}
}

func TestWrite(t *testing.T) {
	key := pair(t)(pki.NewKey())
	full := pair(t)(authority(t, "ours").Client("alice"))
	tests := []struct {
		name  string
		pair  pki.Pair
		files []string
	}{
		{"pair", full, []string{"x.crt", "x.key"}},
		{"key alone", key, []string{"x.key"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tt.pair.Write(dir, "x"); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var files []string
			for _, e := range entries {
				files = append(files, e.Name())
				if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %v, %v; want 0600", e.Name(), info.Mode(), err)
				}
			}
			if diff := cmp.Diff(tt.files, files); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWriteNowhere(t *testing.T) {
	if err := pair(t)(pki.NewKey()).Write(filepath.Join(t.TempDir(), "none"), "x"); err == nil {
		t.Error("writing to a folder that does not exist: got no error")
	}
}
