package program

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/container"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/paths"
)

// roleEnv makes this test binary a program, whose value says what it does.
const roleEnv = "PROGRAM_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	// Not os.Exit: when coverage is measured that would write to the log.
	syscall.Exit(play(role))
}

// play is what the program does; it returns the exit status.
func play(role string) int {
	switch role {
	case "print":
		fmt.Println(strings.Join(os.Args[1:], " "))
		fmt.Println(strings.Join(os.Environ(), "\n"))
	case "fail":
		fmt.Println("cannot go on")
		return 7
	case "wait", "stubborn":
		terminated := make(chan os.Signal, 1)
		signal.Notify(terminated, syscall.SIGTERM)
		fmt.Println("waiting")
		<-terminated
		if role == "stubborn" {
			<-make(chan struct{})
		}
	}
	return 0
}

// newLaunch is a container of this test binary in a role.
func newLaunch(t *testing.T, role string, change func(*corev1.Pod)) image.Launch {
	t.Helper()
	dir := t.TempDir()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u1"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main",
			Env: []corev1.EnvVar{{Name: roleEnv, Value: role}}}}},
		Status: corev1.PodStatus{PodIP: "10.244.1.2", HostIP: "127.0.0.8"},
	}
	if change != nil {
		change(pod)
	}
	return image.Launch{
		Machine: image.Machine{
			Name: "one", Address: netip.MustParseAddr("127.0.0.8"), APIServerHost: "127.0.0.1", APIServerPort: 6443,
			Client: fake.NewClientset(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"},
				Data:       map[string]string{"a.yaml": "a"},
			}),
			Fabric: &fabric.Fabric{},
		},
		Pod: func() *corev1.Pod { return pod }, Container: &pod.Spec.Containers[0],
		Dir: filepath.Join(dir, "pod"), Log: filepath.Join(dir, "log"), Event: func(_, _, _ string) {},
	}
}

func runtime(t *testing.T) Runtime {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Runtime{Path: self, KubeconfigFlags: []string{"kubeconfig"}}
}

func await(t *testing.T, i container.Instance) container.Exit {
	t.Helper()
	select {
	case <-i.Done():
	case <-time.After(30 * time.Second):
		i.Stop(0)
		t.Fatal("the program did not end")
	}
	return i.Exit()
}

func TestStartGivesExactlyWhatThePodHas(t *testing.T) {
	l := newLaunch(t, "print", func(pod *corev1.Pod) {
		c := &pod.Spec.Containers[0]
		c.Command, c.Args = []string{"/app", "run"}, []string{"--config=/etc/app/a.yaml", "--address=$(ADDRESS)",
			"/var/etc/app"}
		c.Env = append(c.Env,
			corev1.EnvVar{Name: "ADDRESS",
				ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}},
			corev1.EnvVar{Name: "CONFIG", Value: "/etc/app/a.yaml"},
			corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: "127.0.0.5"})
		c.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app"}}
		pod.Spec.Volumes = []corev1.Volume{
			{Name: "config",
				VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "settings"},
				}}},
		}
	})
	t.Setenv("OURS", "must not be seen")
	i, err := runtime(t).Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if exit := await(t, i); exit.Code != 0 {
		t.Fatalf("exit = %+v", exit)
	}
	log, err := os.ReadFile(l.Log)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(l.Dir, "containers/main/volumes/config/a.yaml")
	want := []string{
		"run --config=" + config + " --address=127.0.0.8 /var/etc/app",
		"ADDRESS=127.0.0.8", "CONFIG=" + config,
		"HOME=" + filepath.Join(l.Dir, "containers/main/home"), "HOSTNAME=web-1",
		"KUBERNETES_SERVICE_HOST=127.0.0.5", "KUBERNETES_SERVICE_PORT=6443", "KUBERNETES_SERVICE_PORT_HTTPS=6443",
		"PATH=" + searchPath, roleEnv + "=print",
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(log)), "\n")); diff != "" {
		t.Errorf("command line and environment (-want +got):\n%s", diff)
	}
}

func TestExit(t *testing.T) {
	tests := []struct {
		role  string
		stop  bool
		grace time.Duration
		want  container.Exit
	}{
		{"fail", false, 0, container.Exit{Code: 7, Log: "cannot go on"}},
		{"wait", true, 30 * time.Second, container.Exit{Log: "waiting"}},
		{"stubborn", true, 100 * time.Millisecond, container.Exit{Code: 137, Signal: 9, Log: "waiting"}},
	}
	for _, tt := range tests {
		t.Run(tt.role, func(t *testing.T) {
			l := newLaunch(t, tt.role, nil)
			i, err := runtime(t).Start(t.Context(), l)
			if err != nil {
				t.Fatal(err)
			}
			if tt.stop {
				awaitLog(t, l.Log, i)
				i.Stop(tt.grace)
			}
			if diff := cmp.Diff(tt.want, await(t, i)); diff != "" {
				t.Errorf("exit (-want +got):\n%s", diff)
			}
		})
	}
}

// awaitLog waits until a program has written something.
func awaitLog(t *testing.T, path string, i container.Instance) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if data, err := os.ReadFile(path); err == nil && len(data) > 0 {
			return
		}
		select {
		case <-tick.C:
		case <-i.Done():
			t.Fatalf("the program ended early: %+v", i.Exit())
		}
	}
}

func TestStartSurvivesItsContext(t *testing.T) {
	l := newLaunch(t, "wait", nil)
	ctx, cancel := context.WithCancel(t.Context())
	i, err := runtime(t).Start(ctx, l)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	awaitLog(t, l.Log, i)
	i.Stop(30 * time.Second)
}

func TestStartErrors(t *testing.T) {
	missing := corev1.LocalObjectReference{Name: "absent"}
	tests := []struct {
		name   string
		change func(*corev1.Pod)
		path   string
		reason string
		event  string
	}{
		{"volume", func(pod *corev1.Pod) {
			pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/etc/app"}}
			pod.Spec.Volumes = []corev1.Volume{{Name: "v",
				VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: missing,
				}}}}
		}, "", container.ReasonCreating, "FailedMount"},
		{"environment", func(pod *corev1.Pod) {
			pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{}}
		}, "", container.ReasonConfig, ""},
		{"executable", nil, "/no/such/program", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := runtime(t)
			if tt.path != "" {
				r.Path = tt.path
			}
			_, err := r.Start(t.Context(), newLaunch(t, "print", tt.change))
			wait := &container.WaitError{}
			if err == nil || errors.As(err, &wait) != (tt.reason != "") || wait.Reason != tt.reason ||
				wait.Event != tt.event {
				t.Errorf("error = %v (%+v), want reason %q, event %q", err, wait, tt.reason, tt.event)
			}
		})
	}
}

func TestAlias(t *testing.T) {
	l := newLaunch(t, "wait", nil)
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(l.Machine.Address, 0)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	at := netip.AddrPortFrom(netip.MustParseAddr("10.244.1.2"), listener.Addr().(*net.TCPAddr).AddrPort().Port())
	find := func() error {
		conn, err := l.Machine.Fabric.Dial(t.Context(), at, l.Machine.Address)
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	i, err := runtime(t).Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if err := find(); err != nil {
		t.Errorf("the pod's address leads nowhere: %v", err)
	}
	i.Stop(0)
	if err := find(); err == nil {
		t.Error("the pod's address leads somewhere after the end of the program")
	}
}

func TestAddKubeconfig(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "kubeconfig")
	table := paths.Table{accountMount: "/private/account"}
	values := map[string]string{"KUBERNETES_SERVICE_HOST": "127.0.0.5", "KUBERNETES_SERVICE_PORT": "6443"}
	two := []string{"kubeconfig", "authentication-kubeconfig"}
	tests := []struct {
		name  string
		flags []string
		table paths.Table
		args  []string
		want  []string // further arguments
	}{
		{"appended", two, table, []string{"--v=2"}, []string{"--kubeconfig=" + file, "--authentication-kubeconfig=" +
			file}},
		{"no token mounted", two, paths.Table{"/etc": "/x"}, nil, nil},
		{"given with =", two[:1], table, []string{"--kubeconfig=/x"}, nil},
		{"given as two words", two[:1], table, []string{"-kubeconfig", "/x"}, nil},
		{"one of them given", two, table, []string{"--kubeconfig=/x"}, []string{"--authentication-kubeconfig=" + file}},
		{"another flag that starts alike", two[:1], table, []string{"--kubeconfig-x=/x", "kubeconfig"},
			[]string{"--kubeconfig=" + file}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Runtime{KubeconfigFlags: tt.flags}.addKubeconfig(slices.Clone(tt.args), tt.table, values, file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append(slices.Clone(tt.args), tt.want...), got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
	loaded, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cluster, user := loaded.Clusters["in-cluster"], loaded.AuthInfos["in-cluster"]
	if cluster.Server != "https://127.0.0.5:6443" || cluster.CertificateAuthority != "/private/account/ca.crt" ||
		user.TokenFile != "/private/account/token" || user.Token != "" {
		t.Errorf("kubeconfig leads to %+v as %+v", cluster, user)
	}
}
