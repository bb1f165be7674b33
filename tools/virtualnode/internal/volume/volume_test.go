package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const accountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name}
}

// newClient knows one ConfigMap and one Secret, and issues tokens that say for what they are.
func newClient(lifetime time.Duration) *fake.Clientset {
	client := fake.NewClientset(
		&corev1.ConfigMap{
			ObjectMeta: meta("settings"),
			Data:       map[string]string{"main.yaml": "dir: /etc/app/keys", "extra": "x"},
			BinaryData: map[string][]byte{"logo": []byte("/etc/app\x00")},
		},
		&corev1.Secret{ObjectMeta: meta("login"), Data: map[string][]byte{"user": []byte("me"), "path": []byte("/etc/app")}},
	)
	issued := 0
	client.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := action.(clienttesting.CreateActionImpl)
		if !ok || create.GetSubresource() != "token" {
			return false, nil, nil
		}
		request, ok := create.GetObject().(*authenticationv1.TokenRequest)
		if !ok {
			return true, nil, fmt.Errorf("unexpected request %T", create.GetObject())
		}
		issued++
		ref := request.Spec.BoundObjectRef
		request.Status.Token = fmt.Sprintf("%d %s %v %d %s/%s/%s", issued, create.Name, request.Spec.Audiences, *request.Spec.ExpirationSeconds, ref.Kind, ref.Name, ref.UID)
		request.Status.ExpirationTimestamp = metav1.NewTime(time.Now().Add(lifetime))
		return true, request, nil
	})
	return client
}

func newOptions(t *testing.T, client *fake.Clientset, volumes []corev1.Volume, mounts []corev1.VolumeMount) Options {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "uid-1", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			ServiceAccountName: "robot", Volumes: volumes,
			Containers: []corev1.Container{{Name: "main", VolumeMounts: mounts}},
		},
	}
	return Options{
		Client: client, Pod: func() *corev1.Pod { return pod }, Container: &pod.Spec.Containers[0],
		Node: corev1.ResourceList{"cpu": resource.MustParse("4")},
		Dir:  filepath.Join(t.TempDir(), "own"), Shared: filepath.Join(t.TempDir(), "shared"),
	}
}

func configMap(name string, change func(*corev1.ConfigMapVolumeSource)) corev1.Volume {
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
	if change != nil {
		change(source)
	}
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: source}}
}

func secret(name string, change func(*corev1.SecretVolumeSource)) corev1.Volume {
	source := &corev1.SecretVolumeSource{SecretName: name}
	if change != nil {
		change(source)
	}
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Secret: source}}
}

func TestPrepare(t *testing.T) {
	yes, mode := true, int32(0o400)
	tests := []struct {
		name   string
		volume corev1.Volume
		want   map[string]string // KEYS stands for the directory of the volume
	}{
		{"ConfigMap", configMap("settings", nil), map[string]string{"main.yaml": "dir: KEYS/keys", "extra": "x", "logo": "/etc/app\x00"}},
		{"ConfigMap items", configMap("settings", func(s *corev1.ConfigMapVolumeSource) {
			s.Items = []corev1.KeyToPath{{Key: "extra", Path: "sub/file", Mode: &mode}}
		}), map[string]string{"sub/file": "x"}},
		{"optional ConfigMap", configMap("absent", func(s *corev1.ConfigMapVolumeSource) { s.Optional = &yes }), map[string]string{}},
		{"optional key", configMap("settings", func(s *corev1.ConfigMapVolumeSource) {
			s.Optional, s.Items = &yes, []corev1.KeyToPath{{Key: "absent", Path: "absent"}}
		}), map[string]string{}},
		{"Secret is not rewritten", secret("login", nil), map[string]string{"user": "me", "path": "/etc/app"}},
		{"optional Secret", secret("absent", func(s *corev1.SecretVolumeSource) { s.Optional = &yes }), map[string]string{}},
		{"downward API", corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
			{Path: "cpu", ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "main", Resource: "limits.cpu"}},
		}}}}, map[string]string{"labels": `app="web"`, "cpu": "4"}},
		{"projected", corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Items: []corev1.KeyToPath{{Key: "extra", Path: "extra"}}}},
			{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "login"}, Items: []corev1.KeyToPath{{Key: "user", Path: "user"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}}},
		}}}}, map[string]string{"token": "1 robot [] 3600 Pod/web-1/uid-1", "extra": "x", "user": "me", "namespace": "shop"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := newOptions(t, newClient(time.Hour), []corev1.Volume{tt.volume}, []corev1.VolumeMount{{Name: "v", MountPath: "/etc/app/"}})
			s, err := Prepare(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			dir := s.Table()["/etc/app"]
			got, modes := read(t, dir)
			for name, text := range got {
				got[name] = strings.ReplaceAll(text, dir, "KEYS")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if m, ok := modes["sub/file"]; ok && m != 0o400 {
				t.Errorf("mode = %o, want that of the item", m)
			}
		})
	}
}

func TestPrepareErrors(t *testing.T) {
	mount := []corev1.VolumeMount{{Name: "v", MountPath: "/etc/app"}}
	tests := []struct {
		name   string
		volume corev1.Volume
		mounts []corev1.VolumeMount
		want   string
	}{
		{"no ConfigMap", configMap("absent", nil), mount, `preparing volume "v": reading ConfigMap "absent"`},
		{"no Secret", secret("absent", nil), mount, `preparing volume "v": reading Secret "absent"`},
		{"no key", secret("login", func(s *corev1.SecretVolumeSource) { s.Items = []corev1.KeyToPath{{Key: "absent", Path: "a"}} }), mount, `it has no key "absent"`},
		{"hostPath", corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}}}, mount, "it is of type hostPath: virtual nodes have configMap"},
		{"claim", corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}, mount, "it is of type persistentVolumeClaim"},
		{"trust bundle", corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}},
		}}}}, mount, "it projects a clusterTrustBundle"},
		{"no such volume", configMap("settings", nil), []corev1.VolumeMount{{Name: "w", MountPath: "/x"}}, `mounting at /x: the pod has no volume "w"`},
		{"subPathExpr", configMap("settings", nil), []corev1.VolumeMount{{Name: "v", MountPath: "/x", SubPathExpr: "$(A)"}}, "do not support subPathExpr"},
		{"subPath", configMap("settings", nil), []corev1.VolumeMount{{Name: "v", MountPath: "/x", SubPath: "../y"}}, "leads out of it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Prepare(t.Context(), newOptions(t, newClient(time.Hour), []corev1.Volume{tt.volume}, tt.mounts))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Prepare = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestEmptyDir(t *testing.T) {
	volumes := []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	o := newOptions(t, newClient(time.Hour), volumes, []corev1.VolumeMount{
		{Name: "v", MountPath: "/tmp"}, {Name: "v", MountPath: "/cache", SubPath: "a/b"},
	})
	first, err := Prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(first.Table()["/cache"], "file"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(t.TempDir(), "another container")
	second, err := Prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(second.Table()["/tmp"], "a/b/file")); err != nil || string(got) != "kept" {
		t.Errorf("another container reads %q, %v; want what the first one wrote", got, err)
	}
}

func TestKeepFollowsChanges(t *testing.T) {
	client := newClient(time.Hour)
	s, err := Prepare(t.Context(), newOptions(t, client, []corev1.Volume{configMap("settings", nil)}, []corev1.VolumeMount{{Name: "v", MountPath: "/etc/app"}}))
	if err != nil {
		t.Fatal(err)
	}
	keep(t, s)
	dir := s.Table()["/etc/app"]
	change := &corev1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{"new": "/etc/app"}}
	appears(t, filepath.Join(dir, "new"), dir, func() error {
		_, err := client.CoreV1().ConfigMaps("shop").Update(t.Context(), change, metav1.UpdateOptions{})
		return err
	})
}

func TestKeepRefreshesTokens(t *testing.T) {
	volumes := []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "cloud"}},
	}}}}}
	s, err := Prepare(t.Context(), newOptions(t, newClient(time.Second), volumes, []corev1.VolumeMount{{Name: "v", MountPath: accountPath}}))
	if err != nil {
		t.Fatal(err)
	}
	keep(t, s)
	appears(t, filepath.Join(s.Table()[accountPath], "token"), "2 robot [cloud] 3600 Pod/web-1/uid-1", func() error { return nil })
}

func TestKeepTellsFailures(t *testing.T) {
	client := newClient(time.Hour)
	s, err := Prepare(t.Context(), newOptions(t, client, []corev1.Volume{secret("login", nil)}, []corev1.VolumeMount{{Name: "v", MountPath: "/etc/app"}}))
	if err != nil {
		t.Fatal(err)
	}
	client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("gone")
	})
	select {
	case err := <-keep(t, s):
		if !strings.Contains(err.Error(), `reading Secret "login": gone`) {
			t.Errorf("told %v, want that the Secret cannot be read", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing was told about a Secret that has gone")
	}
	if got, err := os.ReadFile(filepath.Join(s.Table()["/etc/app"], "user")); err != nil || string(got) != "me" {
		t.Errorf("file = %q, %v; want the last content", got, err)
	}
}

// keep runs Keep until the test ends and returns its failures.
func keep(t *testing.T, s *Set) <-chan error {
	t.Helper()
	failed, done := make(chan error, 100), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		s.Keep(ctx, func(err error) { failed <- err })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return failed
}

// appears waits until a file has a content, repeating a change: a watch of the fake client misses
// what happens while it begins.
func appears(t *testing.T, path, want string, change func() error) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err == nil && string(got) == want {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s holds %q, %v; want %q", path, got, err, want)
		}
	}
}

func TestRefreshAt(t *testing.T) {
	now := time.Unix(0, 0)
	for lifetime, want := range map[time.Duration]time.Duration{
		time.Hour:            48 * time.Minute,
		10 * time.Minute:     8 * time.Minute,
		365 * 24 * time.Hour: 24 * time.Hour,
	} {
		if got := refreshAt(now, now.Add(lifetime)).Sub(now); got != want {
			t.Errorf("a token for %s is replaced after %s, want %s", lifetime, got, want)
		}
	}
}

func TestTokenError(t *testing.T) {
	client := newClient(time.Hour)
	client.PrependReactor("create", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no such account")
	})
	s := &Set{options: newOptions(t, client, nil, nil), tokens: map[tokenKey]token{}}
	if _, err := s.token(t.Context(), &corev1.ServiceAccountTokenProjection{}); err == nil || !strings.Contains(err.Error(), `ServiceAccount "robot"`) {
		t.Errorf("error = %v, want one that names the ServiceAccount", err)
	}
}
