package command

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timeLimit bounds every wait; nothing takes nearly that long.
const timeLimit = 20 * time.Second

// started is a command that serves.
type started struct {
	Ready
	path string
	log  *logged
	stop func() (output string, err error)
}

// start runs the command on a free port until it has written its ready file.
func start(t *testing.T, args ...string) started {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ready.json")
	ctx, cancel := context.WithCancel(t.Context())
	var output bytes.Buffer
	var log logged
	finished := make(chan error, 1)
	go func() {
		finished <- execute(ctx, t, &output, &log, append(args, "--listen=127.0.0.1:0", "--ready-file="+path)...)
	}()
	s := started{path: path, log: &log, stop: func() (string, error) {
		cancel()
		select {
		case err := <-finished:
			finished <- err
			return output.String(), err
		case <-time.After(timeLimit):
			return "", errors.New("the command did not stop")
		}
	}}
	t.Cleanup(func() {
		if _, err := s.stop(); err != nil {
			t.Errorf("stopping: %v\n%s", err, log.String())
		}
	})
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(timeLimit); ; {
		content, err := os.ReadFile(path)
		if err == nil {
			if err := json.Unmarshal(content, &s.Ready); err != nil {
				t.Fatalf("ready file %q: %v", content, err)
			}
			return s
		}
		select {
		case <-ticker.C:
		case err := <-finished:
			finished <- err
			t.Fatalf("the command ended early: %v\n%s", err, log.String())
		case <-deadline:
			t.Fatal("the command did not become ready")
		}
	}
}

// TestReadyFileThatCannotBeReplaced: a file of the user is neither removed nor replaced. One that is empty, or that an
// emulator left which was killed, is replaced.
func TestReadyFileThatCannotBeReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"mine", `{"name": "mine"}`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := execute(t.Context(), t, &bytes.Buffer{}, &bytes.Buffer{}, "--listen=127.0.0.1:x", "--ready-file="+path)
		if err == nil || !strings.Contains(err.Error(), "--ready-file="+path) ||
			!strings.Contains(err.Error(), "move it away") {
			t.Errorf("error %v, want what to do about the file", err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("the file has %q, %v", got, err)
		}
	}
	for _, content := range []string{"", `{"endpoint": "http://127.0.0.1:1"}`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := replaceable(path); err != nil {
			t.Errorf("a file with %q: %v", content, err)
		}
	}
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(content []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(content)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func execute(ctx context.Context, t *testing.T, output, log io.Writer, args ...string) error {
	t.Helper()
	cmd := (&options{middleware: openapitest.Middleware(t)}).command("v1.2.3")
	cmd.SetArgs(args)
	cmd.SetOut(output)
	cmd.SetErr(log)
	return cmd.ExecuteContext(ctx)
}

// get reads a path with the default token.
func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	return do(t, client, request)
}

func do(t *testing.T, client *http.Client, request *http.Request) (int, string) {
	t.Helper()
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	defer client.CloseIdleConnections()
	var body bytes.Buffer
	if _, err := body.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body.String()
}

func TestServe(t *testing.T) {
	s := start(t, "--machines=3", "--lb-create-delay=0")
	if s.Organisation != emulator.DefaultOrganisation || s.VPC != emulator.DefaultVPC ||
		s.Subnet != emulator.DefaultSubnet || s.Network != "" {
		t.Errorf("ready file %+v, want the default objects and no network", s.Ready)
	}
	if status, body := get(t, http.DefaultClient, s.Endpoint+"/v1/machines"); status != 200 ||
		strings.Count(body, `"slug":"machine-`) != 3 {
		t.Errorf("machines = %d %s, want 3", status, body)
	}
	output, err := s.stop()
	if err != nil {
		t.Errorf("stopping: %v", err)
	}
	for _, part := range []string{s.Endpoint, emulator.DefaultToken, emulator.DefaultClientID,
		emulator.DefaultClientSecret, "curl -H", "Stopped."} {
		if !strings.Contains(output, part) {
			t.Errorf("output lacks %q:\n%s", part, output)
		}
	}
	if _, err := os.Stat(s.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the ready file is still there: %v", err)
	}
}

// TestStopEndsStreams stops a server while its page is open.
func TestStopEndsStreams(t *testing.T) {
	s := start(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Endpoint+"/_emulator/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	began := time.Now()
	output, err := s.stop()
	if took := time.Since(began); err != nil || took >= shutdownGrace {
		t.Errorf("with an open page the emulator stops after %s: %v", took, err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Errorf("the stream ends with %v", err)
	}
	if want := s.Endpoint + "/_emulator/\n"; !strings.Contains(output, want) {
		t.Errorf("the output lacks the address of the page, %s:\n%s", want, output)
	}
}

// Each flag must reach the switch or delay that it is named after.
func TestFlagsReachTheCloud(t *testing.T) {
	const lb = `{"name":"a","subnet":"emulator"}`
	internal := strings.Replace(lb, "{", `{"internalLoadbalancer":true,`, 1)
	listener := `{"name":"l","port":80,"protocol":"tcp","targetGroup":"missing"}`
	inline := strings.Replace(lb, "{", `{"listeners":[`+listener+`],`, 1)
	rule := `{"ipVersion":"ipv4","protocol":"tcp","priority":1,"remoteType":"address","remoteAddress":"0.0.0.0/0"}`
	equalPriorities := `{"name":"a","vpcIdentity":"emulator","ingressRules":[` + rule + "," + rule + `]}`
	tests := map[string]struct {
		flags              []string
		method, path, body string
		want               string // part of "status body"
	}{
		"defaults": {nil, "POST", "/v1/loadbalancers", lb, `"status":"creating"`},
		"no delay": {[]string{"--lb-create-delay=0"}, "POST", "/v1/loadbalancers", lb, `"status":"ready"`},
		"internal": {[]string{"--lb-create-delay=0"}, "POST", "/v1/loadbalancers", internal,
			`"externalIpAddresses":[]`},
		"also external": {[]string{"--lb-create-delay=0", "--internal-address-also-external"}, "POST",
			"/v1/loadbalancers", internal, `"externalIpAddresses":["10.`},
		"accepted listeners": {nil, "POST", "/v1/loadbalancers", inline, "400 "},
		"ignored listeners":  {[]string{"--inline-listeners=ignored"}, "POST", "/v1/loadbalancers", inline, "201 "},
		"refused listeners": {[]string{"--inline-listeners=refused"}, "POST", "/v1/loadbalancers", inline,
			"create listeners one by one"},
		"replace": {[]string{"--machines=1"}, "PUT", "/v1/machines/machine-00001", "{}", "400 "},
		"merge": {[]string{"--machines=1", "--updates=merge"}, "PUT", "/v1/machines/machine-00001", "{}",
			"200 "},
		"filters": {[]string{"--machines=1"}, "GET", "/v1/machines?name=x", "", "200 []"},
		"ignored filters": {[]string{"--machines=1", "--ignored-filters=name"}, "GET", "/v1/machines?name=x", "",
			`"name":"machine-00001"`},
		"machine delay": {[]string{"--machine-create-delay=1h"}, "POST", "/v1/machines",
			`{"name":"a","subnet":"emulator","machineType":"pgp-small"}`, `"status":"provisioning"`},
		"network delay": {[]string{"--network-create-delay=1h"}, "POST", "/v1/security-groups",
			`{"name":"a","vpcIdentity":"emulator"}`, `"status":"provisioning"`},
		"reserved delay": {[]string{"--reserved-ip-create-delay=1h"}, "POST", "/v1/reserved-ips",
			`{"name":"a","region":"nl-01"}`, `"status":"creating"`},
		"gateway delay": {[]string{"--nat-gateway-create-delay=1h"}, "POST", "/v1/nat-gateways",
			`{"name":"a","subnetIdentity":"emulator"}`, `"status":"creating"`},
		"cluster delay": {[]string{"--kubernetes-create-delay=1h"}, "POST", "/v1/kubernetes/clusters",
			`{"name":"a","subnet":"emulator","kubernetesVersionIdentity":"1.34.1"}`, `"status":"provisioning"`},
		"done body": {[]string{"--machines=1", "--done-status=202", "--done-body=object"}, "DELETE",
			"/v1/machines/machine-00001", "", `202 {"identity":"`},
		"names": {[]string{"--unique-names"}, "POST", "/v1/subnets", `{"name":"emulator"}`, "409 "},
		"strict groups": {[]string{"--strict-security-groups"}, "POST", "/v1/security-groups",
			`{"name":"a-name-that-is-too-long","vpcIdentity":"emulator"}`, "400 "},
		"lenient groups": {nil, "POST", "/v1/security-groups",
			`{"name":"a-name-that-is-too-long","vpcIdentity":"emulator"}`, "201 "},
		"priorities": {[]string{"--unique-rule-priorities"}, "POST", "/v1/security-groups", equalPriorities,
			"is the priority of ingressRules[0], too"},
		"token lifetime": {[]string{"--token-lifetime=7m"}, "POST", "/oidc/token", "grant_type=client_credentials",
			`"expires_in":420`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := start(t, test.flags...)
			request, err := http.NewRequestWithContext(t.Context(), test.method, s.Endpoint+test.path,
				strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			request.SetBasicAuth(emulator.DefaultClientID, emulator.DefaultClientSecret)
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			status, body := do(t, http.DefaultClient, request)
			if got := fmt.Sprint(status, " ", body); !strings.Contains(got, test.want) {
				t.Errorf("%s %s = %s, want %s", test.method, test.path, got, test.want)
			}
		})
	}
}

// What a deletion flag does shows in the answer after the deletion.
func TestDeletionFlagsReachTheCloud(t *testing.T) {
	const deleting, deleted = `"status":"deleting"`, `"status":"deleted"`
	const cluster, clusters = "/v1/kubernetes/clusters/a", "/v1/kubernetes/clusters"
	for flag, test := range map[string]struct{ path, want string }{
		"--network-delete-delay=1h":    {"/v1/subnets/emulator", deleting},
		"--network-linger=1h":          {"/v1/subnets/emulator", deleted},
		"--kubernetes-delete-delay=1h": {cluster, deleting},
		"--kubernetes-linger=1h":       {cluster, deleted},
	} {
		s := start(t, flag)
		send := func(method, path, body string, want int) {
			t.Helper()
			request, err := http.NewRequestWithContext(t.Context(), method, s.Endpoint+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
			if status, body := do(t, http.DefaultClient, request); status != want {
				t.Errorf("%s: %s %s = %d %s, want %d", flag, method, path, status, body, want)
			}
		}
		if test.path == cluster {
			send(http.MethodPost, clusters, `{"name":"a","subnet":"emulator","kubernetesVersionIdentity":"1.34.1"}`,
				http.StatusCreated)
		}
		send(http.MethodDelete, test.path, "", http.StatusNoContent)
		if _, body := get(t, http.DefaultClient, s.Endpoint+test.path); !strings.Contains(body, test.want) {
			t.Errorf("%s: %s, want %s", flag, body, test.want)
		}
	}
}

func TestIPv4OnlyFlagReachesTheCloud(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seed.yaml")
	text := `
regions: [{name: r, zones: [a], publicAddresses: [203.0.113.0/24, "fd01::/64"]}]
organisations:
- {name: x, personalAccessTokens: [` + emulator.DefaultToken + `], vpcs: [{name: v, region: r, cidrs: [10.0.0.0/8], subnets: [{name: s, cidrs: [10.0.0.0/24]}]}]}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--seed="+path, "--lb-create-delay=0", "--ipv4-only-load-balancers")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Endpoint+"/v1/loadbalancers",
		strings.NewReader(`{"name":"a","subnet":"s"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	if _, body := do(t, http.DefaultClient, request); !strings.Contains(body, `"externalIpAddresses":["203.0.113.2"]`) {
		t.Errorf("load balancer %s, want an IPv4 address only", body)
	}
}

func TestServeLoopback(t *testing.T) {
	one, two := start(t, "--data-plane=loopback"), start(t, "--data-plane=loopback")
	if !strings.HasPrefix(one.Network, "127.") || one.Network == two.Network {
		t.Errorf("networks %q and %q, want two of the loopback range", one.Network, two.Network)
	}
	if _, body := get(t, http.DefaultClient, one.Endpoint+"/v1/vpcs"); !strings.Contains(body, one.Network) {
		t.Errorf("VPC %s is not in %s", body, one.Network)
	}
}

func TestServeSeed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seed.yaml")
	text := `
organisations:
- {identity: o-x, name: x, personalAccessTokens: [` + emulator.DefaultToken + `]}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--seed="+path)
	if s.Organisation != "o-x" || s.VPC != "" || s.Subnet != "" {
		t.Errorf("ready file %+v, want organisation o-x only", s.Ready)
	}
	if status, body := get(t, http.DefaultClient, s.Endpoint+"/v1/vpcs"); status != 200 ||
		strings.TrimSpace(body) != "[]" {
		t.Errorf("VPCs = %d %s, want none", status, body)
	}
}

func TestServeTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	s := start(t, "--tls-cert-file="+cert, "--tls-key-file="+key)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	if status, _ := get(t, client, s.Endpoint+"/v1/vpcs"); status != 200 || !strings.HasPrefix(s.Endpoint, "https://") {
		t.Errorf("%s/v1/vpcs = %d, want 200 over HTTPS", s.Endpoint, status)
	}
}

// certificate makes a self-signed certificate for 127.0.0.1.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", keyDER), pool
}

func TestRefusedFlags(t *testing.T) {
	dir := t.TempDir()
	badSeed := filepath.Join(dir, "seed.yaml")
	if err := os.WriteFile(badSeed, []byte("dragons: 3"), 0o600); err != nil {
		t.Fatal(err)
	}
	refusedSeed := filepath.Join(dir, "refused.yaml")
	if err := os.WriteFile(refusedSeed, []byte("regions: [{name: a, zones: [b]}, {name: b}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args []string
		want string
	}{
		"data plane": {[]string{"--data-plane=x"}, "use none, loopback or netns"},
		"network":    {[]string{"--data-plane=loopback", "--loopback-network=10.0.0.0/16"}, "use 127.N.0.0/16"},
		"no seed":    {[]string{"--seed=" + filepath.Join(dir, "none")}, "opening the seed"},
		"bad seed": {[]string{"--seed=" + badSeed},
			"--seed=" + badSeed + ": reading seed: dragons: line 1: this key is unknown"},
		"refused seed": {[]string{"--seed=" + refusedSeed},
			"--seed=" + refusedSeed + `: seed: regions[1].zones (region "b"): must have at least one zone`},
		"bad loopback": {[]string{"--seed=" + badSeed, "--data-plane=loopback"},
			"--seed=" + badSeed + ": reading seed: dragons: line 1: this key is unknown"},
		"switch":           {[]string{"--updates=x"}, `use "replace", "replace-all" or "merge"`},
		"listen":           {[]string{"--listen=127.0.0.1:x"}, "--listen=127.0.0.1:x"},
		"plain HTTP":       {[]string{"--listen=0.0.0.0:0"}, "--allow-plain-http"},
		"half of TLS":      {[]string{"--tls-cert-file=x"}, "tls-key-file"},
		"missing TLS file": {[]string{"--tls-cert-file=x", "--tls-key-file=x", "--listen=127.0.0.1:0"}, "open x"},
		"ready file": {[]string{"--listen=127.0.0.1:0", "--ready-file=" + filepath.Join(dir, "none", "ready")},
			"writing the ready file"},
		"arguments": {[]string{"x"}, "unknown command"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), timeLimit)
			defer cancel()
			var output, log bytes.Buffer
			err := execute(ctx, t, &output, &log, test.args...)
			if err == nil || !strings.Contains(err.Error(), test.want) ||
				strings.HasPrefix(test.want, "--seed=") && !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// Delays below zero have no meaning, whatever the flag.
func TestNegativeFlagsAreRefused(t *testing.T) {
	wants := map[string]string{"--machines=-1": "--machines=-1: use 0 or more"}
	New("").Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Value.Type() == "duration" {
			wants["--"+flag.Name+"=-90s"] = "--" + flag.Name + "=-1m30s: use 0 or more, such as 90s"
		}
	})
	if want := reflect.TypeFor[emulator.Delays]().NumField() + 1; len(wants) != want {
		t.Errorf("%d flags, want --machines and one for every delay: %d", len(wants), want)
	}
	// All mistakes are reported at once.
	all := slices.Collect(maps.Keys(wants))
	for arg, want := range wants {
		for _, args := range [][]string{{arg}, all} {
			if _, err := executeEnded(t, args...); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", args, err, want)
			}
		}
	}
}

func TestVersionFlag(t *testing.T) {
	output, err := executeEnded(t, "--version")
	if err != nil || output != "thalassa-emulator v1.2.3\n" {
		t.Errorf("--version printed %q and returned %v", output, err)
	}
}

// executeEnded runs a command that is expected to end before it serves; one that
// serves is stopped at once.
func executeEnded(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var output, log bytes.Buffer
	err := execute(ctx, t, &output, &log, append(args, "--listen=127.0.0.1:0")...)
	return output.String(), err
}

func TestReachableFromOutsideIsWarnedAbout(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var output, log bytes.Buffer
	if err := execute(ctx, t, &output, &log, "--listen=0.0.0.0:0", "--allow-plain-http"); err == nil &&
		!strings.Contains(log.String(), "other machines") {
		t.Errorf("log %q lacks a warning", log.String())
	}
}
