//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

const (
	// programUser calls the program by sudo, so to say.
	programUser = 54321
	loadedImage = "lab.local/loaded:1"
)

// program is the program of `make cluster`, as its user has it.
type program struct {
	root, state string // the folders of the repository and of the cluster's state file
	running     *process.Process
	remote      cluster.Remote
	api         kubernetes.Interface
}

// TestProgram uses the program of `make cluster` from its beginning to Ctrl-C: the user who called sudo has a
// kubeconfig, nodes come and go and images are loaded by one command, mistakes break nothing, and nothing is left.
func TestProgram(t *testing.T) {
	t.Parallel()
	p := &program{root: checkout.Path(t, checkout.Everything), state: t.TempDir()}
	p.start(t)
	p.connect(t)
	p.example(t)
	p.refuses(t, "takes what is no archive", "load-image", filepath.Join(p.root, "README.md"))
	p.refuses(t, "deletes the control plane", "remove-node", cluster.ControlPlane)
	p.must(t, "load-image", p.archive(t))
	p.must(t, "add-node", "worker-2")
	p.usable(t, "worker-2")
	for _, node := range []string{"worker-1", "worker-2"} { // one that was there, and one that came later
		p.runs(t, node)
	}
	p.must(t, "remove-node", "worker-2")
	eventually(t, "the node is gone", func(ctx context.Context) error {
		_, err := p.api.CoreV1().Nodes().Get(ctx, "worker-2", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
	p.interrupt(t)
}

// command runs the program beside the one that runs the cluster. It has longer than it gives itself.
func (p *program) command(t *testing.T, arguments ...string) (output string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(p.root, "bin", "cluster"), append([]string{"--state=" + p.state},
		arguments...)...)
	command.Dir = p.root
	began := time.Now()
	all, err := command.CombinedOutput()
	t.Logf("%5.1fs  cluster %s", time.Since(began).Seconds(), strings.Join(arguments, " "))
	return string(all), err
}

func (p *program) must(t *testing.T, arguments ...string) {
	t.Helper()
	if output, err := p.command(t, arguments...); err != nil {
		t.Fatalf("cluster %s: %v\n%s\nThe cluster says:\n%s", strings.Join(arguments, " "), err, output, p.says())
	}
}

func (p *program) refuses(t *testing.T, what string, arguments ...string) {
	t.Helper()
	if output, err := p.command(t, arguments...); err == nil {
		t.Errorf("it %s: %s", what, output)
	}
}

func (p *program) says() string {
	if p.running == nil {
		return ""
	}
	return p.running.Tail()
}

// start starts the cluster as sudo does, and waits until it is said to run.
func (p *program) start(t *testing.T) {
	t.Helper()
	var err error
	p.running, err = process.Start(t.Context(), process.Spec{
		Name: "cluster", Path: filepath.Join(p.root, "bin", "cluster"), Args: []string{"--built", "--state=" + p.state,
			"--workers=1"},
		Dir: p.root, LogPath: filepath.Join(t.TempDir(), "log"), Grace: waitTimeout,
		Env: append(os.Environ(), fmt.Sprintf("SUDO_UID=%d", programUser), fmt.Sprintf("SUDO_GID=%d", programUser)),
	})
	if err != nil {
		t.Fatal(err)
	}
	awaitRunning(t, p.running)
}

// awaitRunning waits until the program says that its cluster runs.
func awaitRunning(t *testing.T, p *process.Process) {
	t.Helper()
	eventually(t, "the cluster runs", func(context.Context) error {
		select {
		case <-p.Done():
			t.Fatal(p.Err())
		default:
		}
		if !strings.Contains(p.Tail(), "until Ctrl-C") {
			return fmt.Errorf("it says %s", p.Tail())
		}
		return nil
	})
}

// connect connects with the kubeconfig, which the caller of sudo alone reads.
func (p *program) connect(t *testing.T) {
	t.Helper()
	var err error
	if p.remote, err = cluster.Find(p.state); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(p.state, "kubeconfig"); p.remote.Kubeconfig != want {
		t.Errorf("the kubeconfig is %s, want %s", p.remote.Kubeconfig, want)
	}
	info, err := os.Stat(p.remote.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if by := info.Sys().(*syscall.Stat_t); by.Uid != programUser || by.Gid != programUser || info.Mode() != 0o600 {
		t.Errorf("the kubeconfig is of user %d and group %d, with mode %v", by.Uid, by.Gid, info.Mode())
	}
	config, err := clientcmd.BuildConfigFromFlags("", p.remote.Kubeconfig)
	if err == nil {
		p.api, err = kubernetes.NewForConfig(config)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.usable(t, "worker-1")
	dns, err := p.api.AppsV1().Deployments(cluster.Namespace).Get(t.Context(), "coredns", metav1.GetOptions{})
	if err != nil || dns.Status.AvailableReplicas == 0 {
		t.Errorf("nothing resolves names: %v", err)
	}
}

// usable checks once: the command that added the node has waited for that.
func (p *program) usable(t *testing.T, name string) {
	t.Helper()
	node, err := p.api.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ready := false
	for _, condition := range node.Status.Conditions {
		ready = ready || condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	}
	if !ready || len(node.Spec.Taints) > 0 {
		t.Errorf("node %s is not usable: taints %v, conditions %v", name, node.Spec.Taints, node.Status.Conditions)
	}
}

// archive makes an image that no node has.
func (p *program) archive(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loaded")
	pause := image.Program{Name: "guest", Title: loadedImage, Description: "Loaded by a test",
		Arguments: []string{"pause"}}
	if err := image.Archive(path, loadedImage, pause, image.Stamp{Version: "devel"},
		filepath.Join(p.root, "bin", "guest")); err != nil {
		t.Fatal(err)
	}
	return path
}

// runs runs a pod of the image that was loaded on a node.
func (p *program) runs(t *testing.T, node string) {
	t.Helper()
	pods := p.api.CoreV1().Pods(metav1.NamespaceDefault)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "on-" + node},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelHostname: node},
			Containers:   []corev1.Container{{Name: "pause", Image: loadedImage, ImagePullPolicy: corev1.PullNever}},
		},
	}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the image runs on "+node, func(ctx context.Context) error {
		pod, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && !podReady(pod) {
			err = fmt.Errorf("it is %s: %+v", pod.Status.Phase, pod.Status.ContainerStatuses)
		}
		return err
	})
}

// example runs the pod with a volume that the program names. It runs when the cluster ends.
func (p *program) example(t *testing.T) {
	t.Helper()
	const path = "examples/volume.yaml"
	if says := p.says(); !strings.Contains(says, "kubectl apply -f "+path) {
		t.Errorf("the program does not say how to apply %s: %s", path, says)
	}
	manifest, err := os.ReadFile(filepath.Join(p.root, path))
	if err != nil {
		t.Fatal(err)
	}
	if output, err := kubectl.New(p.remote.Kubeconfig).Apply(string(manifest)); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	eventually(t, "the pod of "+path+" is ready", func(ctx context.Context) error {
		pod, err := p.api.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, "volume", metav1.GetOptions{})
		if err == nil && !podReady(pod) {
			err = fmt.Errorf("it is %s: %+v", pod.Status.Phase, pod.Status.ContainerStatuses)
		}
		return err
	})
}

// interrupt ends the cluster as Ctrl-C does, whose signal its children get as well: all of it is gone, and the program
// content.
func (p *program) interrupt(t *testing.T) {
	t.Helper()
	left := leftBehind(t, p.remote)
	for _, kind := range []string{"process", "namespace", "cgroup", "file", "device"} {
		if !strings.Contains(left, kind) {
			t.Errorf("while it runs, no %s of it is seen: %s", kind, left)
		}
	}
	began := time.Now()
	if err := p.running.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := p.running.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	t.Logf("%5.1fs  Ctrl-C", time.Since(began).Seconds())
	// The reaper ends last, because it checks that nothing is left.
	eventually(t, "nothing is left", func(context.Context) error {
		if left := leftBehind(t, p.remote); left != "" {
			return errors.New("there are " + left)
		}
		return nil
	})
	if files, err := os.ReadDir(p.state); err != nil || len(files) > 0 {
		t.Errorf("of its state, there are %v and %v", files, err)
	}
}
