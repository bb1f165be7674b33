package workerpooltest

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Node is a Node as it is; that there is none ends the test.
func Node(tb testing.TB, client kubernetes.Interface, name string) *corev1.Node {
	tb.Helper()
	node, err := client.CoreV1().Nodes().Get(tb.Context(), name, metav1.GetOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return node
}

// ChangeNode changes a Node of a fake clientset, and its version, which such a one leaves alone.
func ChangeNode(tb testing.TB, client kubernetes.Interface, name string, change func(*corev1.Node)) {
	tb.Helper()
	node := Node(tb, client, name)
	change(node)
	version, err := strconv.Atoi("0" + node.ResourceVersion)
	if err != nil {
		tb.Fatal(err)
	}
	node.ResourceVersion = strconv.Itoa(version + 1)
	if _, err := client.CoreV1().Nodes().Update(tb.Context(), node, metav1.UpdateOptions{}); err != nil {
		tb.Fatal(err)
	}
}

// DeleteNode deletes a Node.
func DeleteNode(tb testing.TB, client kubernetes.Interface, name string) {
	tb.Helper()
	if err := client.CoreV1().Nodes().Delete(tb.Context(), name, metav1.DeleteOptions{}); err != nil {
		tb.Fatal(err)
	}
}
