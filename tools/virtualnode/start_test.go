package virtualnode

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

// soon is how long something may take that ends at once.
const soon = 30 * time.Second

// startFor starts a node, and fails the test when Start does not end with the context.
func startFor(ctx context.Context, t *testing.T, network *Network) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		node, err := Start(ctx, Options{Network: network, Name: "one", Address: netip.MustParseAddr("127.0.75.11"),
			Dir: t.TempDir()})
		if err == nil {
			err = errors.Join(errors.New("the node has started"), node.Stop(context.Background()))
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(soon):
		t.Fatal("Start goes on although its context has ended")
		return nil
	}
}

// silentServer is an API server without objects that never answers one kind of request. It calls
// reached at each of them.
func silentServer(t *testing.T, silent string, reached func()) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		watching := r.URL.Query().Get("watch") != ""
		switch {
		case r.Method+" "+r.URL.Path == silent:
			_, _ = io.Copy(io.Discard, r.Body) // the server notices that a client has gone only after that
			reached()
			<-r.Context().Done()
		case watching && r.URL.Query().Get("sendInitialEvents") != "":
			http.Error(w, "lists only", http.StatusUnprocessableEntity)
		case watching:
			<-r.Context().Done()
		case r.URL.Path == "/version":
			_, _ = io.WriteString(w, `{"gitVersion": "v1.37.0"}`)
		default:
			_, _ = io.WriteString(w, `{"metadata": {"resourceVersion": "1"}, "items": []}`)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server
}

func networkOf(t *testing.T, server *httptest.Server) *Network {
	t.Helper()
	network, err := NewNetwork(&rest.Config{Host: server.URL}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Close)
	return network
}

func TestStartEndsWithItsContext(t *testing.T) {
	tests := []struct {
		name, silent, want string
	}{
		{"version", "GET /version", "version"},
		{"list", "GET /api/v1/services", "reading Nodes, Pods, Services and EndpointSlices for the first time"},
		{"registration", "POST /api/v1/nodes", "registering node"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := startFor(ctx, t, networkOf(t, silentServer(t, tt.silent, cancel)))
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Start = %v, want that the context was cancelled, and %q", err, tt.want)
			}
		})
	}
}

func TestStartSaysWhatIsForbidden(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("not for you"))
	})
	network := fakeNetwork(t, client)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := startFor(ctx, t, network)
	if !errors.Is(err, context.DeadlineExceeded) || !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), "pods is forbidden") {
		t.Errorf("Start = %v, want that pods are forbidden", err)
	}
}
