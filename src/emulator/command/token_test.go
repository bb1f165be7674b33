package command

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// exchange sends a subject token to the token endpoint.
func exchange(t *testing.T, client *http.Client, endpoint, token string) (int, string) {
	t.Helper()
	form := url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {token},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:jwt"},
		"organisation_id":    {emulator.DefaultOrganisation}, "service_account_id": {emulator.DefaultServiceAccount},
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint+"/oidc/token",
		strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return do(t, client, request)
}

func TestTokenCommand(t *testing.T) {
	certFile, keyFile, pool := certificate(t)
	s := start(t, "--tls-cert-file="+certFile, "--tls-key-file="+keyFile)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	for name, test := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"good":            {nil, 200, "access_token"},
		"expired":         {[]string{"--ttl=-1m"}, 400, "expired"},
		"other subject":   {[]string{"--subject=system:serviceaccount:a:b"}, 400, "is not the trusted one"},
		"other audience":  {[]string{"--audience=https://other"}, 400, "does not match the trusted"},
		"account by name": {[]string{"--service-account=emulator"}, 200, "access_token"},
	} {
		t.Run(name, func(t *testing.T) {
			var output, log bytes.Buffer
			args := append([]string{"token", "--endpoint=" + s.Endpoint + "/", "--ca-file=" + certFile}, test.args...)
			if err := execute(t.Context(), t, &output, &log, args...); err != nil {
				t.Fatal(err)
			}
			status, body := exchange(t, client, s.Endpoint, strings.TrimSpace(output.String()))
			if status != test.status || !strings.Contains(body, test.want) {
				t.Errorf("exchange = %d %s, want %d with %q", status, body, test.status, test.want)
			}
		})
	}
}

func TestTokenCommandErrors(t *testing.T) {
	s := start(t)
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown account": {[]string{"--endpoint=" + s.Endpoint, "--service-account=nobody"},
			`service account "nobody" does not exist`},
		"nobody there":   {[]string{"--endpoint=http://127.0.0.1:1"}, "is it running there? See --endpoint"},
		"something else": {[]string{"--endpoint=" + page.URL}, "404"},
		"bad endpoint":   {[]string{"--endpoint=:"}, "--endpoint"},
		"no such file":   {[]string{"--ca-file=/nonexistent"}, "--ca-file"},
		"no certificate": {[]string{"--ca-file=" + empty}, "no PEM certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			var output, log bytes.Buffer
			err := execute(t.Context(), t, &output, &log, append([]string{"token"}, test.args...)...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}
