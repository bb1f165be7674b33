package docs_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/ci/docs"
)

// connect asks a network for a connection with an address, and sends a text without waiting for the answer.
func connect(t *testing.T, network *docs.Network, address, text string) (status int, answer io.Reader) {
	t.Helper()
	proxy := strings.TrimPrefix(network.Env()[1], "https_proxy=http://")
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := client.SetDeadline(time.Now().Add(waitTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(client, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n%s", address, address, text); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(client)
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, reader
}

// TestNetwork: a host has the server of its route, which gets every byte, and other hosts are refused.
func TestNetwork(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		server, err := listener.Accept()
		if err != nil {
			return
		}
		defer server.Close()
		_, _ = io.CopyN(server, server, 4)
	}()
	network := docs.NewNetwork(t, map[string]string{"example.com:443": listener.Addr().String()})
	status, answer := connect(t, network, "example.com:443", "text")
	got := make([]byte, 4)
	if _, err := io.ReadFull(answer, got); err != nil || string(got) != "text" || status != http.StatusOK {
		t.Errorf("status %d, content %q, error %v", status, got, err)
	}
	status, _ = connect(t, network, "example.org:443", "")
	if status != http.StatusBadGateway || !slices.Equal(network.Refused(), []string{"example.org:443"}) {
		t.Errorf("another host: status %d, refused %q", status, network.Refused())
	}
}
