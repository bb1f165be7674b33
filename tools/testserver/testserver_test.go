package testserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/thalassa-cloud/thalassa-ccm/tools/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a server and where it listens.
type running struct {
	server             *testserver.Server
	web, behind, other string
}

func start(t *testing.T, drain time.Duration) running {
	t.Helper()
	listen := func() net.Listener {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	datagrams, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := testserver.Options{Host: "pod-1", HTTP: listen(), Proxied: listen(), Datagrams: datagrams, Drain: drain}
	r := running{testserver.Start(o), o.HTTP.Addr().String(), o.Proxied.Addr().String(), datagrams.LocalAddr().String()}
	t.Cleanup(func() { _ = r.server.End(context.Background()) })
	return r
}

// get asks on a connection of its own.
func get(ctx context.Context, url string) (status int, answer testserver.Answer, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, answer, err
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return 0, answer, err
	}
	defer response.Body.Close()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		err = json.NewDecoder(response.Body).Decode(&answer)
	}
	return response.StatusCode, answer, err
}

func TestAnswers(t *testing.T) {
	r := start(t, 0)
	status, answer, err := get(t.Context(), "http://"+r.web+"/")
	if err != nil || status != http.StatusOK || answer.Host != "pod-1" ||
		!strings.HasPrefix(answer.Remote, "127.0.0.1:") || answer.Proxy != "" {
		t.Errorf("got %d %+v and %v", status, answer, err)
	}
	if status, _, err := get(t.Context(), "http://"+r.web+"/?after=soon"); err != nil ||
		status != http.StatusBadRequest {
		t.Errorf("a time that is none: %d and %v", status, err)
	}
	began := time.Now()
	if status, _, err := get(t.Context(), "http://"+r.web+"/?after=60ms"); err != nil || status != http.StatusOK ||
		time.Since(began) < 60*time.Millisecond {
		t.Errorf("an answer that takes a while: %d and %v after %s", status, err, time.Since(began))
	}
}

func TestDatagrams(t *testing.T) {
	r := start(t, 0)
	conn, err := new(net.Dialer).DialContext(t.Context(), "udp", r.other)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 1<<10)
	n, err := conn.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	var answer testserver.Answer
	if err := json.Unmarshal(buffer[:n], &answer); err != nil {
		t.Fatal(err)
	}
	if want := (testserver.Answer{Host: "pod-1", Remote: conn.LocalAddr().String(), Said: "hello"}); answer != want {
		t.Errorf("got %+v, want %+v", answer, want)
	}
}

// TestProxyHeaders sends headers in pieces, as networks do.
func TestProxyHeaders(t *testing.T) {
	const request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	for _, test := range []struct {
		name   string
		pieces []string
		want   string // of the header; empty: no answer
	}{
		{"TCP", []string{"PROXY TCP4 192.0.2.1 192.0.2.2 1000 80\r\n", request},
			"PROXY TCP4 192.0.2.1 192.0.2.2 1000 80"},
		{"in pieces", []string{"PRO", "XY UNKNOWN\r", "\nGET / HT", "TP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"},
			"PROXY UNKNOWN"},
		{"none", []string{request}, ""},
		{"without an end", []string{"PROXY " + strings.Repeat("x", 200)}, ""},
		{"with half an end", []string{"PROXY UNKNOWN\n", request}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer, err := behindHeader(t, start(t, 0).behind, test.pieces)
			if test.want == "" {
				if err == nil {
					t.Errorf("got %+v, want that the connection is closed", answer)
				}
				return
			}
			if err != nil || answer.Proxy != test.want || answer.Host != "pod-1" {
				t.Errorf("got %+v and %v, want the header %q", answer, err, test.want)
			}
		})
	}
}

func behindHeader(t *testing.T, address string, pieces []string) (answer testserver.Answer, err error) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, piece := range pieces {
		if _, err := io.WriteString(conn, piece); err != nil {
			return answer, err
		}
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return answer, errors.New(response.Status)
	}
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

// TestEnd asks a server to end that is answering: it says that it ends, serves clients that come in time, and finishes.
func TestEnd(t *testing.T) {
	r := start(t, 150*time.Millisecond)
	slow := make(chan error, 1)
	go func() {
		status, _, err := get(t.Context(), "http://"+r.web+"/?after=400ms")
		if err == nil && status != http.StatusOK {
			err = errors.New(http.StatusText(status))
		}
		slow <- err
	}()
	await(t, r, http.StatusOK)
	ended := make(chan error, 1)
	go func() { ended <- r.server.End(t.Context()) }()
	await(t, r, http.StatusServiceUnavailable)
	if status, _, err := get(t.Context(), "http://"+r.web+"/"); err != nil || status != http.StatusOK {
		t.Errorf("a request while it ends: %d and %v", status, err)
	}
	if err := <-slow; err != nil {
		t.Errorf("the request of before: %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if status, _, err := get(t.Context(), "http://"+r.web+"/"); err == nil {
		t.Errorf("it has ended and answers with %d", status)
	}
}

// await waits until the server's health has a status.
func await(t *testing.T, r running, want int) {
	t.Helper()
	for {
		status, _, err := get(t.Context(), "http://"+r.web+"/healthz")
		if err != nil {
			t.Fatal(err)
		}
		if status == want {
			return
		}
	}
}

func TestEndAtOnce(t *testing.T) {
	r := start(t, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.server.End(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if status, _, err := get(t.Context(), "http://"+r.web+"/"); err == nil {
		t.Errorf("it has ended and answers with %d", status)
	}
}
