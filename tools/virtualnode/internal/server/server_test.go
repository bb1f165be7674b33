package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/container"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/image"
)

var client = netip.MustParseAddr("127.0.0.9")

func launch(f *fabric.Fabric, ports ...corev1.ContainerPort) image.Launch {
	pod := &corev1.Pod{Status: corev1.PodStatus{PodIP: "10.244.1.2"}}
	return image.Launch{
		Machine: image.Machine{Address: netip.MustParseAddr("127.0.0.8"), Fabric: f}, Pod: func() *corev1.Pod {
			return pod
		},
		Container: &corev1.Container{Name: "web", Ports: ports},
	}
}

// start starts a server whose page is its container's name, slowly at /slow.
func start(t *testing.T, f *fabric.Fabric, ports ...corev1.ContainerPort) (container.Instance, error) {
	t.Helper()
	r := Runtime(func(l image.Launch) http.Handler {
		mux := http.NewServeMux()
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, l.Container.Name) })
		mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		return mux
	})
	i, err := r.Start(t.Context(), launch(f, ports...))
	if err == nil {
		t.Cleanup(func() { i.Stop(0) })
	}
	return i, err
}

// request opens a connection and asks for a page.
func request(t *testing.T, f *fabric.Fabric, port uint16, path string) (string, error) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _,
		_ string) (net.Conn, error) {
		return f.Dial(ctx, netip.AddrPortFrom(netip.MustParseAddr("10.244.1.2"), port), client)
	}}
	resp, err := (&http.Client{Transport: transport}).Get("http://pod" + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestPorts(t *testing.T) {
	tests := []struct {
		name     string
		declared []corev1.ContainerPort
		open     []uint16
		closed   []uint16
	}{
		{"none declared", nil, nil, []uint16{80, 8080}},
		{"two declared", []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ProtocolTCP},
			{ContainerPort: 81, Protocol: corev1.ProtocolTCP}}, []uint16{80, 81}, []uint16{8080}},
		{"UDP and SCTP", []corev1.ContainerPort{{ContainerPort: 53, Protocol: corev1.ProtocolUDP},
			{ContainerPort: 54, Protocol: corev1.ProtocolSCTP}}, nil, []uint16{53, 54, 8080}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fabric.Fabric{}
			if _, err := start(t, f, tt.declared...); err != nil {
				t.Fatal(err)
			}
			for _, port := range tt.open {
				if body, err := request(t, f, port, "/"); err != nil || body != "web" {
					t.Errorf("port %d: %q, %v; want the page", port, body, err)
				}
			}
			for _, port := range tt.closed {
				if _, err := request(t, f, port, "/"); !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("port %d: %v, want connection refused", port, err)
				}
			}
		})
	}
}

func TestStartWithoutAddress(t *testing.T) {
	l := launch(&fabric.Fabric{})
	l.Pod = func() *corev1.Pod { return &corev1.Pod{} }
	if _, err := Runtime(func(image.Launch) http.Handler { return nil }).Start(t.Context(), l); err == nil {
		t.Error("started without a pod address")
	}
}

func TestStop(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	f := &fabric.Fabric{}
	i, err := start(t, f, corev1.ContainerPort{ContainerPort: 8080, Protocol: corev1.ProtocolTCP})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := request(t, f, 8080, "/slow")
		answered <- err
	}()
	if _, err := request(t, f, 8080, "/"); err != nil {
		t.Fatal(err)
	}
	i.Stop(10 * time.Millisecond)
	i.Stop(0)
	select {
	case <-i.Done():
	default:
		t.Error("not done after Stop")
	}
	if i.Exit() != (container.Exit{}) {
		t.Errorf("exit = %+v, want success", i.Exit())
	}
	t.Logf("the request that outlived the grace period: %v", <-answered)
	if _, err := request(t, f, 8080, "/"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("request after Stop: %v, want connection refused", err)
	}
}
