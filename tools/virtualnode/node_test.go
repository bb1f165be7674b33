package virtualnode

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const nodePort = 30080

func webPod(node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"},
		Spec: corev1.PodSpec{
			NodeName: node, RestartPolicy: corev1.RestartPolicyAlways,
			Containers: []corev1.Container{{Name: "web", Image: "web:1",
				Ports: []corev1.ContainerPort{{ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}}},
		},
	}
}

func webService(port int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort,
			Ports: []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: port}}},
	}
}

func webSlice(node, address string) *discoveryv1.EndpointSlice {
	port, protocol := int32(8080), corev1.ProtocolTCP
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-x",
			Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: &port, Protocol: &protocol}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}, NodeName: &node}},
	}
}

// startOne starts a node on an API server that exists only in this process.
func startOne(t *testing.T, name, address string, objects ...runtime.Object) (*Node, *fake.Clientset) {
	t.Helper()
	return startWith(t, Options{Name: name, Address: netip.MustParseAddr(address)}, objects...)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func fakeNetwork(t *testing.T, client *fake.Clientset) *Network {
	t.Helper()
	network, err := newNetwork(client, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Close)
	return network
}

// startWith is startOne with further options.
func startWith(t *testing.T, o Options, objects ...runtime.Object) (*Node, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset(objects...)
	// Addresses are allocated when the Node object exists.
	client.PrependReactor("create", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
		action.(clienttesting.CreateAction).GetObject().(*corev1.Node).Spec.PodCIDR = "10.9.1.0/24"
		return false, nil, nil
	})
	o.Network, o.Dir = fakeNetwork(t, client), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Images = map[string]Image{"web": WebServer(), "idle": Program(self)}
	node, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return node, client
}

// fetch reads the page on the node port.
func fetch(node *Node, port uint16) (string, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	resp, err := client.Get("http://" + netip.AddrPortFrom(node.Address(), port).String())
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// until repeats an attempt until it succeeds.
func until(t *testing.T, attempt func() error) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := attempt()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

func TestNodeFindsWhatIsThereAlready(t *testing.T) {
	node, _ := startOne(t, "one", "127.0.75.1", webPod("one"), webService(nodePort), webSlice("one", "10.9.1.2"))
	until(t, func() error {
		body, err := fetch(node, nodePort)
		if err == nil && !strings.HasPrefix(body, "pod: web\nnode: one\n") {
			t.Errorf("page = %q", body)
		}
		return err
	})
}

func TestNodeFollowsServices(t *testing.T) {
	node, client := startOne(t, "one", "127.0.75.2", webPod("one"), webService(nodePort), webSlice("one", "10.9.1.2"))
	until(t, func() error {
		_, err := fetch(node, nodePort)
		return err
	})
	until(t, func() error { // each time again: a watch of the fake client misses what happens while it begins
		if _, err := client.CoreV1().Services("shop").Update(t.Context(), webService(nodePort+1),
			metav1.UpdateOptions{}); err != nil {
			return err
		}
		_, err := fetch(node, nodePort+1)
		return err
	})
	if body, err := fetch(node, nodePort); err == nil {
		t.Errorf("the old node port still answers: %q", body)
	}
	until(t, func() error {
		if _, err := client.DiscoveryV1().EndpointSlices("shop").Update(t.Context(), webSlice("one", "10.9.1.99"),
			metav1.UpdateOptions{}); err != nil {
			return err
		}
		if body, err := fetch(node, nodePort+1); err == nil {
			return fmt.Errorf("the port answers without an endpoint: %q", body)
		}
		return nil
	})
}

func TestSyncPodIgnoresOtherNodes(t *testing.T) {
	node, client := startOne(t, "one", "127.0.75.3", webPod("two"))
	node.syncPod(types.NamespacedName{Namespace: "shop", Name: "web"})
	node.syncPod(types.NamespacedName{Namespace: "shop", Name: "absent"})
	node.syncNode("unknown")
	if node.seen.Load() == nil {
		t.Error("the node took another Node object for its own")
	}
	pod, err := client.CoreV1().Pods("shop").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || pod.Status.Phase != "" {
		t.Errorf("phase = %q, %v; want a pod that this node does not touch", pod.Status.Phase, err)
	}
}

// Nothing runs on after everything has been stopped.
func TestStopLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("node", func(t *testing.T) {
		node, _ := startOne(t, "one", "127.0.75.4", webPod("one"), webService(nodePort), webSlice("one", "10.9.1.2"))
		until(t, func() error {
			_, err := fetch(node, nodePort)
			return err
		})
		open, err := net.Dial("tcp", netip.AddrPortFrom(node.Address(), nodePort).String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = open.Close() })
	})
	t.Run("failed start", func(t *testing.T) {
		network := fakeNetwork(t, fake.NewClientset())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		o := Options{Network: network, Name: "one", Address: netip.MustParseAddr("127.0.75.5"), Dir: t.TempDir()}
		if _, err := Start(ctx, o); err == nil {
			t.Error("started although the context had ended")
		}
	})
}

func TestLogs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	o := Options{Network: fakeNetwork(t, fake.NewClientset()), Name: "one", Address: netip.MustParseAddr("127.0.75.6"),
		Dir: "state"}
	node, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = node.Stop(t.Context()) }()
	if got, want := node.Logs("shop", "web", "main"), filepath.Join(dir, "state/logs/shop_web_main.log"); got != want {
		t.Errorf("Logs = %q, want %q", got, want)
	}
}
