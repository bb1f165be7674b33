package virtualnode_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

const (
	programImage = "registry.test/program"
	webImage     = "registry.test/web"

	// waitTimeout bounds every wait; nothing here takes a tenth of it on an idle machine.
	waitTimeout = 90 * time.Second
)

// cluster is a namespace of the shared control plane with nodes of its own.
type cluster struct {
	client    kubernetes.Interface
	network   *virtualnode.Network
	namespace string
	dir       string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	tier.NeedFull(t) // tests of the full tier, and the demo, use all of this
	config := controlplanetest.Get(t).Config()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	network, err := virtualnode.NewNetwork(config, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Close)
	return &cluster{client: client, network: network, namespace: controlplanetest.Namespace(t), dir: t.TempDir()}
}

// start starts a node that only this cluster's pods choose.
func (c *cluster) start(t *testing.T, name, address string, change func(*virtualnode.Options)) *virtualnode.Node {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := virtualnode.Options{
		Network: c.network, Name: c.namespace + "-" + name, Address: netip.MustParseAddr(address), Dir: c.dir,
		Labels: map[string]string{"test": c.namespace},
		Images: map[string]virtualnode.Image{programImage: virtualnode.Program(self),
			webImage: virtualnode.WebServer()},
	}
	if change != nil {
		change(&o)
	}
	node, err := virtualnode.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout) // the test's own has ended
		defer cancel()
		if err := node.Remove(ctx); err != nil {
			t.Error(err)
		}
	})
	return node
}

// spec is a pod spec for this cluster's nodes, whatever their taints.
func (c *cluster) spec(container corev1.Container) corev1.PodSpec {
	second := int64(5)
	return corev1.PodSpec{
		NodeSelector: map[string]string{"test": c.namespace}, Containers: []corev1.Container{container},
		Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		TerminationGracePeriodSeconds: &second,
	}
}

func (c *cluster) createPod(t *testing.T, name string, spec corev1.PodSpec) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}, Spec: spec}
	if _, err := c.client.CoreV1().Pods(c.namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// pod waits until a pod satisfies a condition and returns it.
func (c *cluster) pod(t *testing.T, name, what string, ok func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	eventually(t, fmt.Sprintf("pod %s %s", name, what), func() error {
		var err error
		if pod, err = c.client.CoreV1().Pods(c.namespace).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		if !ok(pod) {
			return fmt.Errorf("its status is %+v", pod.Status)
		}
		return nil
	})
	return pod
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// eventually repeats an attempt until it succeeds.
func eventually(t *testing.T, what string, attempt func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := attempt()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waiting until %s: %v", what, err)
		}
	}
}

// get returns the body of a page.
func get(url string) (string, error) {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return string(body), err
}
