package virtualnode

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

// foreign is what other people have on a node that their cluster was lent: a web server behind a
// Service, a program with a Secret, as of a DaemonSet that tolerates everything, and a pod that is
// being deleted.
func foreign(node string) []runtime.Object {
	server, agent, leaving := webPod(node), webPod(node), webPod(node)
	server.UID = "foreign-server"
	agent.Name, agent.UID = "agent", "foreign-agent"
	agent.Spec.HostNetwork = true // leaves the first pod address to the server
	agent.Spec.Volumes = []corev1.Volume{{Name: "key",
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "key"}}}}
	agent.Spec.Containers = []corev1.Container{{
		Name: "agent", Image: "idle:1", Args: []string{"-test.run=^$"},
		VolumeMounts: []corev1.VolumeMount{{Name: "key", MountPath: "/key"}},
	}}
	leaving.Name, leaving.UID, leaving.DeletionTimestamp = "leaving", "foreign-leaving", &metav1.Time{Time: time.Now()}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"},
		Data: map[string][]byte{"key": []byte("secret")}}
	objects := []runtime.Object{server, agent, leaving, webService(nodePort + 1), webSlice(node, "10.9.1.2"), secret}
	for _, o := range objects {
		o.(metav1.Object).SetNamespace("system")
	}
	return objects
}

// touched lists the requests about a namespace by name.
func touched(client *fake.Clientset, namespace string) []string {
	var calls []string
	for _, action := range client.Actions() {
		if action.GetNamespace() == namespace {
			calls = append(calls, action.GetVerb()+" "+action.GetResource().Resource)
		}
	}
	return calls
}

func TestNamespacesKeepOthersOut(t *testing.T) {
	objects := append(foreign("one"), webPod("one"), webService(nodePort), webSlice("one", "10.9.1.2"))
	node, client := startWith(t, Options{Name: "one", Address: netip.MustParseAddr("127.0.75.7"),
		Namespaces: []string{"shop"}}, objects...)
	serves(t, node, nodePort)
	arriveLate(t, node, client)
	if body, err := fetch(node, nodePort+1); err == nil {
		t.Errorf("the node port of another namespace answers: %q", body)
	}
	if err := node.Stop(context.Background()); err != nil { // nothing is under way after that
		t.Fatal(err)
	}
	if found, err := filepath.Glob(filepath.Join(node.options.Dir, "pods", "foreign*")); err != nil || len(found) != 0 {
		t.Errorf("files of other namespaces' pods: %v, %v", found, err)
	}
	if calls := touched(client, "system"); len(calls) != 0 {
		t.Errorf("calls about another namespace: %v, want none", calls)
	}
	for _, name := range []string{"web", "agent", "leaving", "late"} {
		pod, err := client.CoreV1().Pods("system").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || !reflect.DeepEqual(pod.Status, corev1.PodStatus{}) {
			t.Errorf("pod %s: %v, status %+v; want it untouched", name, err, pod.Status)
		}
	}
}

// arriveLate gives the node an event about another namespace, with a pod that was not in the list at its
// start and of the Service.
func arriveLate(t *testing.T, node *Node, client *fake.Clientset) {
	t.Helper()
	network := node.network
	late := foreign("one")[1].(*corev1.Pod)
	late.Name, late.UID = "late", "foreign-late"
	if err := client.Tracker().Add(late); err != nil { // past the client, which counts calls
		t.Fatal(err)
	}
	until(t, func() error { // each time again: a watch of the fake client misses what happens while it begins
		if _, exists, _ := network.watches.pods.GetStore().GetByKey("system/late"); exists {
			return nil
		}
		return errors.Join(errors.New("the watch has not seen the pod"),
			client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), late, "system"))
	})
	// The same that the watch's handlers do, but done when it returns.
	node.syncPod(nameOf(late))
	node.syncService(nameOf(foreign("one")[3].(*corev1.Service)))
}

// The same pods and Services are a node's business where it has no list, or a list with them.
func TestNamespacesLetIn(t *testing.T) {
	for i, namespaces := range [][]string{nil, {"other", "system"}} {
		t.Run(fmt.Sprint(namespaces), func(t *testing.T) {
			address := netip.AddrFrom4([4]byte{127, 0, 75, byte(8 + i)})
			node, client := startWith(t, Options{Name: "one", Address: address, Namespaces: namespaces},
				foreign("one")...)
			serves(t, node, nodePort+1)
			until(t, func() error {
				if _, err := client.CoreV1().Pods("system").Get(t.Context(), "leaving",
					metav1.GetOptions{}); !apierrors.IsNotFound(err) {
					return fmt.Errorf("the pod that is being deleted: %w, want not found", err)
				}
				pod, err := client.CoreV1().Pods("system").Get(t.Context(), "agent", metav1.GetOptions{})
				if err == nil && pod.Status.Phase != corev1.PodRunning {
					err = fmt.Errorf("the pod is %q, want Running", pod.Status.Phase)
				}
				return err
			})
			if calls := strings.Join(touched(client, "system"), ", "); !strings.Contains(calls, "get secrets") {
				t.Errorf("calls: %s; want that the Secret was read", calls)
			}
			if _, err := os.Stat(filepath.Join(node.options.Dir, "pods", "foreign-agent")); err != nil {
				t.Error(err)
			}
		})
	}
}

// serves waits until a node port answers.
func serves(t *testing.T, node *Node, port uint16) {
	t.Helper()
	until(t, func() error {
		_, err := fetch(node, port)
		return err
	})
}
