package apiserver

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestHistoryIsBounded: changes are forgotten when all watches have reported them, and watches that end leave nothing.
func TestHistoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Kinds: []*Kind{{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Node"),
			Resource: "nodes", Object: &corev1.Node{}, Cluster: true}}})
		client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://memory.invalid", Transport: s.Transport(),
			ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}})
		if err != nil {
			t.Fatal(err)
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		s.Do(func(objects State) { objects.Add(node) })
		ctx, cancel := context.WithCancel(t.Context())
		w, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{ResourceVersion: "1"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 * remembered {
			want := strconv.Itoa(i)
			s.Do(func(objects State) {
				Change(objects, NameOf(node), func(n *corev1.Node) { n.Labels = map[string]string{"step": want} })
			})
			if reported, _ := (<-w.ResultChan()).Object.(*corev1.Node); reported.Labels["step"] != want {
				t.Fatalf("reported %v, want step %s", reported.Labels, want)
			}
		}
		cancel()
		synctest.Wait()
		if len(s.events.changes) >= 4*remembered || len(s.watches) > 0 {
			t.Errorf("%d changes and %d watches are left", len(s.events.changes), len(s.watches))
		}
	})
}
