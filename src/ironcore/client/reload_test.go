package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/kubeconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/reload"
)

// files are a kubeconfig and a token beside it.
type files struct{ folder string }

func (f files) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.folder, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newFiles(t *testing.T, server, token string) files {
	t.Helper()
	f := files{t.TempDir()}
	f.write(t, "config", kubeconfigFor(server, "tenant-1"))
	f.write(t, "token", token)
	f.write(t, "ca.crt", "CA")
	return f
}

func kubeconfigFor(server, namespace string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a,
contexts: [{name: a, context: {cluster: c, user: u, namespace: %q}}],
clusters: [{name: c, cluster: {server: %q, certificate-authority: ca.crt}}],
users: [{name: u, user: {tokenFile: token}}]}`, namespace, server)
}

func (f files) read() (kubeconfig.Access, error) {
	return kubeconfig.Load(kubeconfig.Options{Path: filepath.Join(f.folder, "config")})
}

// rig is a client whose kubeconfig is reloaded, and an API server in memory that accepts some tokens.
type rig struct {
	files
	*Client
	*reload.Reloader[kubeconfig.Access]
	server *server
	events *record.FakeRecorder
	good   string // the token that is accepted
	away   bool
	trials []string // tokens of requests
}

const host = "https://ironcore.example:6443"

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{files: newFiles(t, host, "old"), good: "old", events: record.NewFakeRecorder(100)}
	r.server = &server{status: http.StatusOK, answer: network}
	current, err := r.readInMemory()
	if err != nil {
		t.Fatal(err)
	}
	if r.Client, err = New(current.Config, current.Namespace); err != nil {
		t.Fatal(err)
	}
	r.Reloader = r.Client.Reloader(current, r.readInMemory, "net-1", &corev1.ObjectReference{Kind: "Pod"})
	r.RecordTo(r.events)
	return r
}

// readInMemory replaces the network by the server in memory.
func (r *rig) readInMemory() (kubeconfig.Access, error) {
	access, err := r.read()
	if err != nil {
		return access, err
	}
	access.Config.TLSClientConfig, access.Config.Transport = rest.TLSClientConfig{}, r
	return access, nil
}

// RoundTrip accepts one token.
func (r *rig) RoundTrip(request *http.Request) (*http.Response, error) {
	token := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
	r.trials = append(r.trials, token)
	switch {
	case r.away:
		return nil, errDown
	case token != r.good:
		return &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody, Request: request}, nil
	}
	return r.server.RoundTrip(request)
}

// pass reloads for a while, and returns the tokens of all requests.
func (r *rig) pass(t *testing.T, d time.Duration) []string {
	t.Helper()
	r.trials = nil
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	r.Run(ctx)
	return r.trials
}

// expect checks the token in use, by a request, and the result of the latest reload.
func (r *rig) expect(t *testing.T, when, token, event string) {
	t.Helper()
	was := r.good
	r.trials, r.good = nil, token
	if err := r.Probe(t.Context(), "net-1"); err != nil || r.trials[0] != token {
		t.Errorf("%s: %v is in use, error %v; want %s", when, r.trials, err, token)
	}
	r.good = was
	got := ""
	select {
	case got = <-r.events.Events:
	default:
	}
	if !strings.Contains(got, event) || (event == "") != (got == "") || len(r.events.Events) > 0 {
		t.Errorf("%s: event %q and %d others, want %q", when, got, len(r.events.Events), event)
	}
}

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		if requests := r.pass(t, time.Hour); len(requests) > 0 {
			t.Errorf("files that do not change cause requests: %v", requests)
		}
		r.expect(t, "unchanged", "old", "")

		r.good = "new"
		r.write(t, "token", "new")
		if diff := cmp.Diff([]string{"new"}, r.pass(t, reloadPeriod+time.Second)); diff != "" {
			t.Errorf("trials (-want +got):\n%s", diff)
		}
		r.expect(t, "a good token", "new", "Normal CloudSecretsReloaded The new secrets are in use for calls to the "+
			`cloud: context "a" for `+host)

		r.write(t, "token", "bad")
		if requests := r.pass(t, time.Hour); len(requests) < 10 || len(requests) > 20 {
			t.Errorf("a refused token is tried %d times in an hour", len(requests))
		}
		if _, err := r.LastRequest(); err != nil {
			t.Errorf("a trial counts as a request: %v", err)
		}
		r.expect(t, "a bad token", "new", "Warning CloudSecretsNotReloaded")

		r.write(t, "token", "newest")
		r.good, r.away = "newest", true
		r.pass(t, time.Hour)
		r.away = false
		r.expect(t, "during an outage", "new", "connection refused")
		r.pass(t, 10*time.Minute)
		r.expect(t, "after the outage", "newest", "Normal CloudSecretsReloaded")

		want := `
# HELP cloudprovider_ironcore_secrets_reloads_total Number of changes of the files with credentials and CA ` +
			`certificates, by result: adopted, refused (by the cloud), untried (the cloud does not answer) or ` +
			`unreadable.
# TYPE cloudprovider_ironcore_secrets_reloads_total counter
cloudprovider_ironcore_secrets_reloads_total{result="adopted"} 2
cloudprovider_ironcore_secrets_reloads_total{result="refused"} 1
cloudprovider_ironcore_secrets_reloads_total{result="untried"} 1
`
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(r.Reloader.Collectors()...)
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
			"cloudprovider_ironcore_secrets_reloads_total"); err != nil {
			t.Error(err)
		}
	})
}

// TestReloadOfKubeconfig: what a reload must not change, and what cannot be read, leaves the old access in use.
func TestReloadOfKubeconfig(t *testing.T) {
	for name, tt := range map[string]struct{ file, event string }{
		"server": {kubeconfigFor("https://other.example", "tenant-1"), "the server has changed from " + host +
			" to https://other.example: restart the program to use it"},
		"namespace": {kubeconfigFor(host, "tenant-2"),
			"the namespace has changed from tenant-1 to tenant-2: restart the program to use it"},
		"half a file": {kubeconfigFor(host, "tenant-1")[:100], "the file is not a kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.write(t, "config", tt.file)
				if requests := r.pass(t, 2*reloadPeriod+time.Second); len(requests) > 0 {
					t.Errorf("tried with %v", requests)
				}
				r.expect(t, "a kubeconfig that cannot be used", "old", tt.event)
				r.write(t, "config", kubeconfigFor(host, "tenant-1"))
				r.pass(t, reloadPeriod+time.Second)
				r.expect(t, "the old one again", "old", "")
			})
		})
	}
}

// TestReloadOfNetwork: credentials that do not see the Network of the cluster are refused.
func TestReloadOfNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.server.set(http.StatusNotFound, nil)
		r.write(t, "token", "old ") // the same after the blank was removed
		r.write(t, "ca.crt", "another CA")
		r.pass(t, reloadPeriod+time.Second)
		r.server.set(http.StatusOK, nil)
		r.expect(t, "no Network", "old", "reading the Network tenant-1/net-1")
		if r.Current.Config.BearerToken != "old" {
			t.Errorf("token %q", r.Current.Config.BearerToken)
		}
	})
}

// apiServer is an API server at a loopback address that accepts one token. A watch sends one event.
type apiServer struct {
	*httptest.Server
	good  chan string // the token that is accepted
	event chan string
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{good: make(chan string, 1), event: make(chan string)}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP answers requests with the good token.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	good := <-s.good
	s.good <- good
	w.Header().Set("Content-Type", "application/json")
	if request.Header.Get("Authorization") != "Bearer "+good {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if request.URL.Query().Get("watch") == "" {
		_, _ = io.WriteString(w, network)
		return
	}
	_ = http.NewResponseController(w).Flush()
	select {
	case event := <-s.event:
		_, _ = io.WriteString(w, event)
	case <-request.Context().Done():
	}
}

// ca returns the certificate of the server.
func (s *apiServer) ca() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// otherCA returns a certificate that the server does not have.
func otherCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestReloadOverTLS: a watch continues on its connection while requests use new credentials and another CA.
func TestReloadOverTLS(t *testing.T) {
	s := newAPIServer(t)
	s.good <- "old"
	f := newFiles(t, s.URL, "old")
	f.write(t, "ca.crt", s.ca())
	current, err := f.read()
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(current.Config, current.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := c.Networks.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	r := c.Reloader(current, f.read, "net-1", nil)

	f.write(t, "ca.crt", otherCA(t))
	r.Poll(t.Context())
	if err := c.Probe(t.Context(), "net-1"); err != nil || !kubeconfig.Same(r.Current, current) {
		t.Errorf("with another CA in the file, which is not the server's: %v", err)
	}

	<-s.good
	s.good <- "new"
	f.write(t, "ca.crt", otherCA(t)+s.ca())
	f.write(t, "token", "new")
	r.Poll(t.Context())
	if err := c.Probe(t.Context(), "net-1"); err != nil {
		t.Errorf("with the new token: %v", err)
	}
	s.event <- `{"type": "ADDED", "object": ` + network + "}\n"
	if event, ok := <-watch.ResultChan(); !ok || event.Object.(*v1alpha1.Network).Name != "net-1" {
		t.Errorf("the watch that was begun before: %v, open = %t", event, ok)
	}
}

// TestUntried: an outage refuses nothing, and a certificate that cannot be verified is refused.
func TestUntried(t *testing.T) {
	s := newAPIServer(t)
	s.good <- "other"
	f := newFiles(t, s.URL, "s3cret")
	probe := func(ca string) error {
		t.Helper()
		f.write(t, "ca.crt", ca)
		access, err := f.read()
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(access.Config, access.Namespace)
		if err != nil {
			t.Fatal(err)
		}
		return c.Probe(t.Context(), "net-1")
	}
	refusals := map[string]error{"token": probe(s.ca()), "CA": probe(otherCA(t))}
	s.Close()
	for name, err := range refusals {
		if err == nil || untried(err) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: error %v counts as an outage, or contains a secret", name, err)
		}
	}
	if err := probe(s.ca()); !untried(err) {
		t.Errorf("after the end of the server: %v counts as a refusal", err)
	}
}
