package document_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/ci/authority"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

// serveLogs lets kubectl logs read what containers of a node print, which the API server asks the kubelet for.
func serveLogs(t *testing.T, api kubernetes.Interface, node *virtualnode.Node) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(node.Address().String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, node.Logs(r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")))
	})
	server := httptest.NewUnstartedServer(mux)
	server.Listener.Close()
	server.Listener, server.TLS = listener, authority.New(t).ServerTLS(t, node.Address().String())
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	patch := fmt.Sprintf(`{"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": %s}}}}`, port)
	if _, err := strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	if _, err := api.CoreV1().Nodes().Patch(t.Context(), node.Name(), types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}
