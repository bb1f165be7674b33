package virtualnode

import (
	"net/netip"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestAPIServer(t *testing.T) {
	tests := []struct {
		in   string
		host string
		port int
	}{
		{"https://127.0.0.1:6443", "127.0.0.1", 6443},
		{"https://api.example.com", "api.example.com", 443},
		{"http://127.0.0.1", "127.0.0.1", 80},
		{"https://[::1]:6443/", "::1", 6443},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			host, port, err := APIServer(&rest.Config{Host: tt.in})
			if err != nil || host != tt.host || port != tt.port {
				t.Errorf("APIServer = %q, %d, %v; want %q, %d", host, port, err, tt.host, tt.port)
			}
		})
	}
	for _, bad := range []string{"", "https://:6443", "127.0.0.1:6443", "https://a:x", "https://a/k8s/clusters/c-1"} {
		if host, port, err := APIServer(&rest.Config{Host: bad}); err == nil {
			t.Errorf("APIServer(%q) = %q, %d; want an error", bad, host, port)
		}
	}
}

func TestValidate(t *testing.T) {
	network := &Network{}
	address := netip.MustParseAddr("127.0.0.2")
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{"no network", Options{Name: "a"}, "Options.Network"},
		{"no name", Options{Network: network}, "Options.Name"},
		{"no address", Options{Network: network, Name: "a"}, "127.0.0.0/8"},
		{"public address", Options{Network: network, Name: "a", Address: netip.MustParseAddr("192.0.2.1"), Dir: "x"},
			"127.0.0.0/8"},
		{"IPv6", Options{Network: network, Name: "a", Address: netip.MustParseAddr("::1"), Dir: "x"}, "127.0.0.0/8"},
		{"no directory", Options{Network: network, Name: "a", Address: address}, "Options.Dir"},
		{"nameless namespace", Options{Network: network, Name: "a", Address: address, Dir: "x",
			Namespaces: []string{"shop", ""}}, "Options.Namespaces"},
		{"complete", Options{Network: network, Name: "a", Address: address, Dir: "x"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.options.validate()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("validate = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestStartWithoutAPIServer(t *testing.T) {
	network, err := NewNetwork(&rest.Config{Host: "http://127.0.0.1:1"}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	o := Options{Network: network, Name: "a", Address: netip.MustParseAddr("127.0.0.2"), Dir: t.TempDir()}
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Start = %v, want that the API server refuses", err)
	}
	if _, err := NewNetwork(&rest.Config{Host: "https://:1"}, quiet()); err == nil {
		t.Error("NewNetwork without a host gave no error")
	}
}
