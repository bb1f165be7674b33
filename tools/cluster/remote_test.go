//go:build linux

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestRemote changes a cluster that another process runs; here, only its cloud.
func TestRemote(t *testing.T) {
	root := t.TempDir()
	folder := StateFolder(root)
	if _, err := Find(folder); err == nil || !strings.Contains(err.Error(), "make cluster") {
		t.Errorf("got %v, want what to do", err)
	}
	url := serve(t)
	state := `{"CloudURL": "` + url + `", "Folder": "` + root + `"}`
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, stateName), []byte(state),
		0o600)); err != nil {
		t.Fatal(err)
	}
	r, err := Find(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AddNode(t.Context(), "worker-9"); err == nil || !strings.Contains(err.Error(), "kubeconfig") {
		t.Errorf("got %v, want that it is not known whether the node came", err)
	}
	if got := slugs(t, url); got != "worker-9" {
		t.Errorf("the cloud has the machines %q", got)
	}
	if err := r.RemoveNode(t.Context(), "worker-8"); err == nil {
		t.Error("a machine that is not there was deleted")
	}
	if err := r.RemoveNode(t.Context(), ControlPlane); err == nil || !strings.Contains(err.Error(), "Ctrl-C") {
		t.Errorf("got %v, want how to end the cluster", err)
	}
	if err := r.RemoveNode(t.Context(), "worker-9"); err != nil {
		t.Error(err)
	}
	if err := (Remote{}).AddNode(t.Context(), "worker-9"); !errors.Is(err, errInIronCore) {
		t.Errorf("got %v, want that the machine is added in IronCore", err)
	}
	if _, err := r.LoadImage(t.Context(), filepath.Join(root, "none")); err == nil {
		t.Error("an archive that is not there was loaded")
	}
	archive := filepath.Join(root, "image")
	if err := os.WriteFile(archive, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.LoadImage(t.Context(), archive); err == nil || !strings.Contains(err.Error(), "has none") {
		t.Errorf("got %v, want that there are no nodes", err)
	}
}

// TestLoadKeepsWhatNodesTake keeps an archive for nodes to come, but not one that nodes refuse: no node would start any
// more.
func TestLoadKeepsWhatNodesTake(t *testing.T) {
	for _, test := range []struct {
		name   string
		refuse string // part of the names of nodes that refuse it
		taken  string
		kept   bool
	}{
		{"all take it", "none", "control-plane worker-1", true},
		{"one is off", "worker-1", "control-plane", true},
		{"all refuse it", "", "", false},
	} {
		r := Remote{Folder: t.TempDir()}
		archive, tried := filepath.Join(r.Folder, "image"), []string{}
		err := os.WriteFile(archive, []byte("content"), 0o600)
		for _, node := range []string{"control-plane", "worker-1"} {
			err = errors.Join(err, os.MkdirAll(filepath.Join(r.Folder, "machines", node), 0o700))
		}
		if err != nil {
			t.Fatal(err)
		}
		taken, err := r.load(t.Context(), archive, func(_ context.Context, node, _ string) error {
			tried = append(tried, filepath.Base(node))
			if strings.Contains(node, test.refuse) {
				return errors.New("not a tar")
			}
			return nil
		})
		if refused := test.refuse != "none"; refused != (err != nil) || refused &&
			!strings.Contains(err.Error(), "not a tar") {
			t.Errorf("%s: %v", test.name, err)
		}
		if got := strings.Join(taken, " "); got != test.taken {
			t.Errorf("%s: taken by %q, want %q", test.name, got, test.taken)
		}
		if got := strings.Join(tried, " "); got != "control-plane worker-1" {
			t.Errorf("%s: tried %s", test.name, got)
		}
		got, err := os.ReadFile(filepath.Join(r.Folder, "images", "image.tar"))
		if test.kept && (err != nil || string(got) != "content") || !test.kept && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: kept for nodes to come: %q and %v", test.name, got, err)
		}
	}
}

func slugs(t *testing.T, url string) string {
	t.Helper()
	cloud, err := customer(url)
	if err != nil {
		t.Fatal(err)
	}
	machines, err := cloud.ListMachines(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range machines {
		names = append(names, one.Slug)
	}
	return strings.Join(names, " ")
}

// TestAddNodeWaits until the node is what nodes of that cluster become, and no longer.
func TestAddNodeWaits(t *testing.T) {
	ready := []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: corev1.NodeNetworkUnavailable,
			Status: corev1.ConditionFalse},
	}
	for _, test := range []struct {
		name    string
		remote  Remote
		becomes corev1.NodeStatus
		want    string // part of why it waits in vain; empty: it does not
	}{
		{"ready", Remote{}, corev1.NodeStatus{Conditions: ready}, ""},
		{"silent", Remote{}, corev1.NodeStatus{}, "has not said"},
		{"without a route", Remote{}, corev1.NodeStatus{Conditions: ready[:1]}, "no route"},
		{"without a route that another program makes", Remote{Networks: OwnNetworks},
			corev1.NodeStatus{Conditions: ready[:1]}, ""},
		{"silent, as it has no networks", Remote{Bare: true}, corev1.NodeStatus{}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			api := fake.NewClientset()
			began := time.Now()
			go func() {
				<-time.After(time.Minute)
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-9"}, Status: test.becomes}
				if _, err := api.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}()
			err := test.remote.awaitNode(t.Context(), api, "worker-9")
			took := time.Since(began)
			if test.want == "" && (err != nil || took < time.Minute || took > time.Minute+time.Second) {
				t.Errorf("%s: %v after %s, want it after a minute", test.name, err, took)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), "says why")) {
				t.Errorf("%s: %v, want %q and where there is more", test.name, err, test.want)
			}
		})
	}
}
