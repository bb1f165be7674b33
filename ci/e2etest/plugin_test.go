//go:build e2e

package e2etest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/ci/terminal"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

// pluginShows proves that the commands of kubectl thalassa find a cluster in order, and that what they show fits a
// terminal. They run where the control plane is, which reaches the API server and the cloud.
func pluginShows(t *testing.T, l *lab) {
	t.Helper()
	namespace := l.runServers(t, "worker-1", "worker-2")
	name := l.createService(t, namespace, portHTTP)
	l.awaitWeb(t, l.addressOf(t, namespace, name), "worker-1", "worker-2")
	l.othersEnded(t)
	program := filepath.Join(t.TempDir(), "kubectl-thalassa")
	if err := os.Symlink(host.Program(t), program); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	server := l.serverOnMachines(t)
	command := func(line string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "nsenter", append([]string{
			fmt.Sprintf("--target=%d", l.Node(cluster.ControlPlane).PID()), "--net", "--", program,
			"--kubeconfig=" + l.Kubeconfig(), "--server=" + server}, strings.Fields(line)...)...)
		cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
		return cmd
	}
	for line, want := range map[string]string{
		"doctor": "Configuration", "nodes": "worker-1", "plan -A": "No changes: ",
		"orphans": "Every object of this cluster", "migrate": "Ready: ", "top --once -A": "IN SYNC",
	} {
		if output, err := command(line).CombinedOutput(); err != nil {
			t.Errorf("kubectl thalassa %s: %v\n%s", line, err, output)
		}
		terminal.Check(t, want, func() *exec.Cmd { return command(line) })
	}
	want := "Calls are not known: reading the metrics of pod "
	if l.Values()["extraArgs"] != nil { // which permit it
		want = " calls per minute, "
	}
	if output, _ := command("top --once").Output(); !strings.Contains(string(output), want) {
		t.Errorf("kubectl thalassa top lacks %q:\n%s", want, output)
	}
}

// othersEnded waits until no namespace is being deleted. Those of earlier proofs are, and the cluster is not in order
// until their Services are gone.
func (l *lab) othersEnded(t *testing.T) {
	t.Helper()
	eventually(t, "no namespace is being deleted", func(ctx context.Context) error {
		namespaces, err := l.API().CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, namespace := range namespaces.Items {
			if namespace.DeletionTimestamp != nil {
				return fmt.Errorf("namespace %s is being deleted", namespace.Name)
			}
		}
		return nil
	})
}

// serverOnMachines is where machines find the API server. The kubeconfig has its address on this machine.
func (l *lab) serverOnMachines(t *testing.T) string {
	t.Helper()
	slice, err := l.API().DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Get(t.Context(), "kubernetes",
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(int(*slice.Ports[0].Port))
	return "https://" + net.JoinHostPort(slice.Endpoints[0].Addresses[0], port)
}
