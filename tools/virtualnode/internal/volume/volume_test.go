package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name}
}

// newClient knows one ConfigMap and one Secret, and issues tokens that say for what they are.
func newClient(lifetime time.Duration) *fake.Clientset {
	client := fake.NewClientset(
		&corev1.ConfigMap{
			ObjectMeta: meta("settings"),
			Data:       map[string]string{"main.yaml": "dir: /etc/app/keys", "extra": "x"},
		},
		&corev1.Secret{ObjectMeta: meta("login"), Data: map[string][]byte{"user": []byte("me"),
			"path": []byte("/etc/app")}},
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
		request.Status.Token = fmt.Sprintf("%d %s %v %d %s/%s/%s", issued, create.Name, request.Spec.Audiences,
			ptr.Deref(request.Spec.ExpirationSeconds, 3600), ref.Kind, ref.Name, ref.UID)
		request.Status.ExpirationTimestamp = metav1.NewTime(time.Now().Add(lifetime))
		return true, request, nil
	})
	return client
}

func newOptions(t *testing.T, client *fake.Clientset, volumes []corev1.Volume, mounts []corev1.VolumeMount) Options {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "uid-1",
			Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			ServiceAccountName: "robot", Volumes: volumes,
			Containers: []corev1.Container{{Name: "main", VolumeMounts: mounts}},
		},
	}
	return Options{
		Client: client, Pod: func() *corev1.Pod { return pod }, Container: &pod.Spec.Containers[0],
		Dir: filepath.Join(t.TempDir(), "own"),
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
	mode, seconds := int32(0o400), int64(600)
	tests := []struct {
		name   string
		volume corev1.Volume
		want   map[string]string // KEYS stands for the directory of the volume
	}{
		{"ConfigMap", configMap("settings", nil), map[string]string{"main.yaml": "dir: KEYS/keys", "extra": "x"}},
		{"ConfigMap items", configMap("settings", func(s *corev1.ConfigMapVolumeSource) {
			s.Items = []corev1.KeyToPath{{Key: "extra", Path: "sub/file", Mode: &mode}}
		}), map[string]string{"sub/file": "x"}},
		{"Secret is not rewritten", secret("login", nil), map[string]string{"user": "me", "path": "/etc/app"}},
		{"projected",
			projected(
				corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token",
					ExpirationSeconds: &seconds}},
				corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "settings"},
					Items:                []corev1.KeyToPath{{Key: "extra", Path: "extra"}},
				}},
				corev1.VolumeProjection{Secret: &corev1.SecretProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "login"},
					Items:                []corev1.KeyToPath{{Key: "user", Path: "user"}},
				}},
				corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{
					Items: []corev1.DownwardAPIVolumeFile{
						{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}},
					},
				}},
			),
			map[string]string{
				"token": "1 robot [] 600 Pod/web-1/uid-1", "extra": "x", "user": "me", "namespace": "shop",
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := newOptions(t, newClient(time.Hour), []corev1.Volume{tt.volume},
				[]corev1.VolumeMount{{Name: "v", MountPath: "/etc/app/"}})
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
	yes := true
	mount := []corev1.VolumeMount{{Name: "v", MountPath: "/etc/app"}}
	tests := []struct {
		name   string
		volume corev1.Volume
		mounts []corev1.VolumeMount
		want   string
	}{
		{"no ConfigMap", configMap("absent", nil), mount, `preparing volume "v": reading ConfigMap "absent"`},
		{"no Secret", secret("absent", nil), mount, `preparing volume "v": reading Secret "absent"`},
		{"no key",
			secret("login",
				func(s *corev1.SecretVolumeSource) { s.Items = []corev1.KeyToPath{{Key: "absent", Path: "a"}} }), mount,
			`it has no key "absent"`},
		{"hostPath",
			corev1.Volume{Name: "v",
				VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}}}, mount,
			`preparing volume "v": virtual nodes have configMap`},
		{"optional ConfigMap", configMap("settings", func(s *corev1.ConfigMapVolumeSource) { s.Optional = &yes }),
			mount, "none that is optional"},
		{"optional Secret", secret("login", func(s *corev1.SecretVolumeSource) { s.Optional = &yes }), mount,
			"none that is optional"},
		{"claim",
			corev1.Volume{Name: "v",
				VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}},
			mount, "virtual nodes have configMap"},
		{"trust bundle",
			projected(corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}}),
			mount, "virtual nodes have configMap"},
		{"no such volume", configMap("settings", nil), []corev1.VolumeMount{{Name: "w", MountPath: "/x"}},
			`mounting at /x: the pod has no volume "w"`},
		{"subPathExpr", configMap("settings", nil),
			[]corev1.VolumeMount{{Name: "v", MountPath: "/x", SubPathExpr: "$(A)"}}, "do not support subPath"},
		{"subPath", configMap("settings", nil), []corev1.VolumeMount{{Name: "v", MountPath: "/x", SubPath: "y"}},
			"do not support subPath"},
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

func TestKeepFollowsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(time.Hour)
		s, _ := prepared(t, client, configMap("settings", nil))
		change := &corev1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{"new": "/etc/app"}}
		if _, err := client.CoreV1().ConfigMaps("shop").Update(t.Context(), change,
			metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		holds(t, s, resync, "new", s.Table()["/etc/app"])
		before, _ := os.Readlink(s.Table()["/etc/app"])
		<-time.After(10 * resync)
		if after, _ := os.Readlink(s.Table()["/etc/app"]); after != before {
			t.Errorf("version went from %s to %s without a change", before, after)
		}
	})
}

// projected is a volume of several sources.
func projected(sources ...corev1.VolumeProjection) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: sources},
	}}
}

func TestKeepRefreshesTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := prepared(t, newClient(time.Hour),
			projected(corev1.VolumeProjection{
				ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "cloud"},
			}))
		holds(t, s, 47*time.Minute, "token", "1 robot [cloud] 3600 Pod/web-1/uid-1")
		holds(t, s, 2*time.Minute, "token", "2 robot [cloud] 3600 Pod/web-1/uid-1")
	})
}

func TestKeepReportsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(time.Hour)
		s, failed := prepared(t, client, secret("login", nil))
		client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("gone")
		})
		if err := <-failed; !strings.Contains(err.Error(), `reading Secret "login": gone`) {
			t.Errorf("reported %v, want that the Secret cannot be read", err)
		}
		holds(t, s, 0, "user", "me")
	})
}

// prepared is the volume of a container, kept up to date until the test ends, with the failures.
func prepared(t *testing.T, client *fake.Clientset, v corev1.Volume) (*Set, <-chan error) {
	t.Helper()
	s, err := Prepare(t.Context(), newOptions(t, client, []corev1.Volume{v},
		[]corev1.VolumeMount{{Name: "v", MountPath: "/etc/app"}}))
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 100)
	go s.Keep(t.Context(), func(err error) { failed <- err })
	return s, failed
}

// holds wants a file of the volume to have a content after a while.
func holds(t *testing.T, s *Set, while time.Duration, name, want string) {
	t.Helper()
	<-time.After(while)
	synctest.Wait()
	if got, err := os.ReadFile(filepath.Join(s.Table()["/etc/app"], name)); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
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
	s := &Set{options: newOptions(t, client, nil, nil), tokens: map[*corev1.ServiceAccountTokenProjection]token{}}
	if _, err := s.token(t.Context(), &corev1.ServiceAccountTokenProjection{}); err == nil ||
		!strings.Contains(err.Error(), `ServiceAccount "robot"`) {
		t.Errorf("error = %v, want one that names the ServiceAccount", err)
	}
}
