package virtualnode

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/program"
)

var shopClient = netip.MustParseAddr("127.0.0.9")

// run runs an image as the pod shop/web-1 at 10.9.1.2 with a port.
func run(t *testing.T, i Image) *fabric.Fabric {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"},
		Status:     corev1.PodStatus{PodIP: "10.9.1.2"},
	}
	f := &fabric.Fabric{}
	instance, err := i.runtime.Start(t.Context(), image.Launch{
		Machine: image.Machine{Name: "node-1", Address: netip.MustParseAddr("127.0.0.8"), Fabric: f},
		Pod: func() *corev1.Pod {
			return pod
		},
		Container: &corev1.Container{Name: "main",
			Ports: []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ProtocolTCP}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { instance.Stop(0) })
	return f
}

func ask(t *testing.T, f *fabric.Fabric) string {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _,
		_ string) (net.Conn, error) {
		return f.Dial(ctx, netip.MustParseAddrPort("10.9.1.2:80"), shopClient)
	}}
	resp, err := (&http.Client{Transport: transport}).Get("http://pod/a")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestServerKnowsItsPod(t *testing.T) {
	var got PodInfo
	f := run(t, Server(func(pod PodInfo) http.Handler {
		got = pod
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RemoteAddr) })
	}))
	if want := (PodInfo{Namespace: "shop", Name: "web-1", Node: "node-1"}); got != want {
		t.Errorf("pod %+v, want %+v", got, want)
	}
	if body := ask(t, f); !strings.HasPrefix(body, shopClient.String()+":") {
		t.Errorf("the handler saw %q, want %s", body, shopClient)
	}
}

func TestWebServer(t *testing.T) {
	f := run(t, WebServer())
	if got, want := ask(t, f), "pod: web-1\nnode: node-1\npath: /a\nremote: 127.0.0.9:"; !strings.HasPrefix(got, want) {
		t.Errorf("page = %q, want %q", got, want)
	}
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	dir, err := os.Getwd() // without links
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		image Image
		want  program.Runtime
	}{
		{"defaults", Program("/bin/ccm"), program.Runtime{Path: "/bin/ccm", KubeconfigFlags: []string{"kubeconfig"}}},
		{"flags", Program("/bin/ccm", "a", "b"), program.Runtime{Path: "/bin/ccm", KubeconfigFlags: []string{"a",
			"b"}}},
		{"relative path", Program("bin/ccm"), program.Runtime{Path: filepath.Join(dir, "bin/ccm"),
			KubeconfigFlags: []string{"kubeconfig"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := tt.image.runtime.(program.Runtime)
			if !ok || got.Path != tt.want.Path || !slices.Equal(got.KubeconfigFlags, tt.want.KubeconfigFlags) {
				t.Errorf("Program = %+v, want %+v", tt.image.runtime, tt.want)
			}
		})
	}
}

func TestImageSet(t *testing.T) {
	for name, images := range map[string]map[string]Image{
		"tag":     {"web:1": WebServer()},
		"digest":  {"web@sha256:0": WebServer()},
		"nothing": {"web": {}},
	} {
		if _, err := imageSet(images); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	set, err := imageSet(map[string]Image{"localhost:5000/web": Program("/bin/true")})
	if err != nil || len(set) != 1 {
		t.Errorf("imageSet = %v, %v", set, err)
	}
}

func TestWebPage(t *testing.T) {
	handler := webPage(PodInfo{Name: "web-1", Node: "node-1"})
	for path, want := range map[string]string{
		"/a/b?c":   "pod: web-1\nnode: node-1\npath: /a/b\nremote: 192.0.2.1:1234\n",
		"/healthz": "ok\n",
	} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		if got := recorder.Body.String(); got != want {
			t.Errorf("page %s = %q, want %q", path, got, want)
		}
	}
}
