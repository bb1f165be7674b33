package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestRun(t *testing.T) {
	failure := errors.New("no")
	tests := []struct {
		name    string
		spec    corev1.Probe
		results string // one letter per attempt: y or n
		want    []string
	}{
		{"success at once", corev1.Probe{InitialDelaySeconds: 5, PeriodSeconds: 2}, "yyy", []string{"5s true"}},
		{"API defaults", corev1.Probe{}, "nnnn", []string{"20s false"}},
		{"thresholds", corev1.Probe{PeriodSeconds: 1, SuccessThreshold: 2, FailureThreshold: 2}, "ynyynyyn",
			[]string{"3s true", "6s true"}},
		{"recovery", corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1}, "nny", []string{"0s false", "2s true"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				results, failed := tt.results, 0
				var got []string
				Loop{
					Spec: &tt.spec,
					Check: func(context.Context) error {
						if results == "" {
							cancel()
							return failure
						}
						result := results[0]
						results = results[1:]
						if result == 'n' {
							return failure
						}
						return nil
					},
					Failed:  func(error) { failed++ },
					Verdict: func(ok bool) { got = append(got, fmt.Sprint(time.Since(began), " ", ok)) },
				}.Run(ctx)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("verdicts (-want +got):\n%s", diff)
				}
				if want := strings.Count(tt.results, "n"); failed != want {
					t.Errorf("%d failures were reported, want %d", failed, want)
				}
			})
		})
	}
}

func TestRunTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		Loop{
			Spec:    &corev1.Probe{TimeoutSeconds: 3, FailureThreshold: 1},
			Check:   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			Failed:  func(error) {},
			Verdict: func(bool) { cancel() },
		}.Run(ctx)
		if got := time.Since(began); got != 3*time.Second {
			t.Errorf("a hanging check was given up after %s, want 3s", got)
		}
	})
}

func TestCheck(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/readyz" && r.URL.RawQuery == "verbose":
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/nowhere", http.StatusFound)
		default:
			http.Error(w, "not so fine", http.StatusInternalServerError)
		}
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	port := func(s *httptest.Server) int {
		return int(netip.MustParseAddrPort(s.Listener.Addr().String()).Port())
	}
	get := func(s *httptest.Server, scheme corev1.URIScheme, path string) corev1.HTTPGetAction {
		return corev1.HTTPGetAction{Port: intstr.FromInt(port(s)), Scheme: scheme, Path: path}
	}
	at := func(port intstr.IntOrString) corev1.HTTPGetAction {
		return corev1.HTTPGetAction{Port: port, Path: "/moved"}
	}
	tests := []struct {
		name   string
		action corev1.HTTPGetAction
		want   string // part of the error, empty for success
	}{
		{"HTTP", get(plain, "", "/readyz?verbose"), ""},
		{"HTTPS without verification", get(secure, corev1.URISchemeHTTPS, "/readyz?verbose"), ""},
		{"redirect", get(plain, corev1.URISchemeHTTP, "/moved"), ""},
		{"status", get(plain, corev1.URISchemeHTTP, "/livez"), "status code 500: not so fine"},
		{"plain answer to HTTPS", get(plain, corev1.URISchemeHTTPS, "/readyz"), "HTTP response to HTTPS client"},
		{"named port", at(intstr.FromString("web")), ""},
		{"number as text", at(intstr.FromString(fmt.Sprint(port(plain)))), ""},
		{"unknown name", at(intstr.FromString("metrics")), `no port called "metrics"`},
		{"refused", at(intstr.FromInt(1)), "refused"},
	}
	target := Target{
		Pod:       netip.MustParseAddr("127.0.0.1"),
		Container: &corev1.Container{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: int32(port(plain))}}},
		Dial: func(ctx context.Context, at netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", at.String())
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := target.Check(t.Context(), &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &tt.action}})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Check = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestSupported(t *testing.T) {
	for _, p := range []*corev1.Probe{nil, {ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}}} {
		if err := Supported(p); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, handler := range []corev1.ProbeHandler{
		{Exec: &corev1.ExecAction{}}, {TCPSocket: &corev1.TCPSocketAction{}},
		{HTTPGet: &corev1.HTTPGetAction{Host: "127.0.0.1"}},
		{HTTPGet: &corev1.HTTPGetAction{HTTPHeaders: []corev1.HTTPHeader{{Name: "Host", Value: "ccm"}}}},
	} {
		if Supported(&corev1.Probe{ProbeHandler: handler}) == nil {
			t.Errorf("%+v is supported", handler)
		}
	}
}
