//go:build e2e

package e2etest

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
)

// execAndLogs proves that the API server reaches the kubelets, as kubectl exec and kubectl logs need it.
func execAndLogs(t *testing.T, l *lab) {
	t.Helper()
	nodes := []string{"worker-1", "worker-2"}
	namespace := l.runServers(t, nodes...)
	for _, node := range nodes {
		output, err := l.exec(t, namespace, "on-"+node, "/guest", "no-such-command")
		if err == nil || !strings.Contains(err.Error(), "exit code 2") || !strings.Contains(output, "usage: guest") {
			t.Errorf("on %s the program says %q and %v", node, output, err)
		}
		log, err := l.API().CoreV1().Pods(namespace).GetLogs("on-"+node, &corev1.PodLogOptions{}).DoRaw(t.Context())
		if err != nil || !strings.Contains(string(log), "serves on-"+node) {
			t.Errorf("the log of the pod on %s is %q and %v", node, log, err)
		}
	}
}

// exec runs a command in a pod's container, and returns what it writes.
func (l *lab) exec(t *testing.T, namespace, pod string, command ...string) (output string, err error) {
	t.Helper()
	request := l.API().CoreV1().RESTClient().Get().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(l.Config(), http.MethodGet, request.URL().String())
	if err != nil {
		t.Fatal(err)
	}
	var out, trouble bytes.Buffer
	err = executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out, Stderr: &trouble})
	return out.String() + trouble.String(), err
}
