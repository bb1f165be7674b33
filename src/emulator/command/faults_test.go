package command

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// write makes a file in a folder of the test's own.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFaultFlags(t *testing.T) {
	file := write(t, "faults.yaml",
		"- {id: from-file, operation: GET /v1/vpcs, count: 1, effect: {kind: status, status: 502}}")
	s := start(t, "--faults="+file,
		`--fault=operation=GET /v1/vpcs,count=1,kind=status,status=503,message=one\, two`,
		"--fault=id=last,operation=GET /v1/vpcs,count=1,kind=status,status=504")
	for _, want := range []string{`502 {"message"`, `503 {"message":"one, two"}`, "504 ", "200 ["} {
		status, body := get(t, http.DefaultClient, s.Endpoint+"/v1/vpcs")
		if got := fmt.Sprint(status, " ", body); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if _, body := get(t, http.DefaultClient, s.Endpoint+"/_emulator/faults"); strings.Index(body,
		"from-file") > strings.Index(body, "last") {
		t.Errorf("rules %s, want those of the file first", body)
	}
}

func TestRefusedFaultFlags(t *testing.T) {
	tests := map[string]struct {
		flag, want string
	}{
		"unknown key": {"--fault=knid=hang", `--fault: fault "knid=hang": unknown key "knid": did you mean "kind"?`},
		"operation":   {"--fault=operation=GET /v1/machine,kind=hang", `did you mean "GET /v1/machines"?`},
		"no file":     {"--faults=" + filepath.Join(t.TempDir(), "none"), "--faults: open"},
		"bad file": {"--faults=" + write(t, "bad.yaml", "- {effect: {kind: hagn}}"),
			`reading fault 1: effect.kind is "hagn": did you mean "hang"?`},
		"ID used twice": {"--faults=" +
			write(t, "twice.yaml", "[{id: a, effect: {kind: hang}}, {id: a, effect: {kind: hang}}]"),
			`id "a" is taken`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var output, log bytes.Buffer
			if err := execute(t.Context(), t, &output, &log, "--listen=127.0.0.1:0", test.flag); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %s", test.flag, err, test.want)
			}
		})
	}
}

// A call that hangs must not hold up the end.
func TestStopsWhileCallsHang(t *testing.T) {
	s := start(t, "--fault=kind=hang")
	done := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Endpoint+"/v1/vpcs", nil)
		if err == nil {
			var response *http.Response
			// Not shared: a spare connection would hold up the end, too.
			through := &http.Transport{DisableKeepAlives: true}
			if response, err = through.RoundTrip(request); err == nil {
				response.Body.Close()
			}
		}
		done <- err
	}()
	for deadline := time.Now().Add(timeLimit); ; {
		if _, body := get(t, http.DefaultClient, s.Endpoint+"/_emulator/faults"); strings.Contains(body, `"fired":1`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the call did not arrive")
		}
	}
	begin := time.Now()
	if _, err := s.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if took := time.Since(begin); took >= shutdownGrace {
		t.Errorf("stopping took %s", took)
	}
	if err := <-done; err == nil {
		t.Error("the call that hung was answered")
	}
}

func TestResetOverTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	s := start(t, "--tls-cert-file="+cert, "--tls-key-file="+key, "--fault=kind=reset")
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true,
	}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Endpoint+"/v1/vpcs", nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := client.Do(request); err == nil {
		response.Body.Close()
		t.Errorf("got %s over %s, want a reset connection", response.Status, response.Proto)
	} else if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset connection", err)
	}
}
