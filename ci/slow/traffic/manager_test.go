package traffic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

const (
	// container is that of the cloud controller manager.
	container = "cloud-controller-manager"
	// values make the manager read the cloud every two seconds: the more it relies on what it reads, the more harm a
	// stale read does. What the test waits for takes less long than by default: calls that hang, a lease that is not
	// renewed, and readiness probes.
	values = `
bindAddress: $(HOST_IP)
credentials: {existingSecret: cloud}
cloudConfig:
  loadBalancer: {creationPollInterval: 1, driftPeriod: 2}
  api: {callTimeout: 3}
advanced: {inventory: {machineAge: 2, balancerAge: 2}}
readinessProbe: {periodSeconds: 1}
extraArgs: {leader-elect-lease-duration: 10s, leader-elect-renew-deadline: 8s}
`
)

// install installs the chart and waits until it runs on both control-plane nodes.
func (c *cluster) install(t *testing.T) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloud"},
		StringData: map[string]string{"personalAccessToken": emulator.DefaultToken}}
	if _, err := c.api.CoreV1().Secrets(c.system).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	set := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &set); err != nil {
		t.Fatal(err)
	}
	config, _ := set["cloudConfig"].(map[string]any)
	maps.Copy(config, c.cloud.Config("traffic"))
	manifest, _, err := chart.Render(t.Context(), checkout.Path(t, "charts/thalassa-ccm"), chart.Release{
		Name: "thalassa-ccm", Namespace: c.system, Values: set})
	if err != nil {
		t.Fatal(err)
	}
	if output, err := kubectl.New(c.plane.Kubeconfig()).Apply(manifest, "--server-side"); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.logTails(t)
		}
	})
	eventually(t, "two cloud controller managers run", c.bothReady)
}

// managers are the pods of the cloud controller manager that are not about to end.
func (c *cluster) managers(ctx context.Context) ([]corev1.Pod, error) {
	list, err := c.api.CoreV1().Pods(c.system).List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=" + container})
	if err != nil {
		return nil, err
	}
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

func (c *cluster) bothReady(ctx context.Context) error {
	pods, err := c.managers(ctx)
	if err != nil {
		return err
	}
	ready := 0
	for _, pod := range pods {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	if ready != 2 {
		return fmt.Errorf("%d of %d pods are ready", ready, len(pods))
	}
	return nil
}

// leader is who has the lease.
type leader struct {
	// identity is that of the process: no other has the same one, also in the same pod.
	identity string
	pod      corev1.Pod
}

func (c *cluster) leader(ctx context.Context) (leader, error) {
	lease, err := c.api.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, "cloud-controller-manager",
		metav1.GetOptions{})
	if err != nil {
		return leader{}, err
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	pods, err := c.managers(ctx)
	if err != nil || holder == "" {
		return leader{}, errors.Join(err, fmt.Errorf("the lease is held by %q", holder))
	}
	for _, pod := range pods {
		log, err := os.ReadFile(c.log(pod))
		if err != nil {
			return leader{}, err
		}
		if bytes.Contains(log, []byte(holder+" became leader")) {
			return leader{holder, pod}, nil
		}
	}
	return leader{}, fmt.Errorf("no pod says that it is %s, who has the lease", holder)
}

func (c *cluster) log(pod corev1.Pod) string {
	return c.nodes[pod.Spec.NodeName].Logs(pod.Namespace, pod.Name, container)
}

// awaitLeader waits until a process has the lease that is not the one that had it before.
func (c *cluster) awaitLeader(t *testing.T, before leader) leader {
	t.Helper()
	var now leader
	eventually(t, "a cloud controller manager leads", func(ctx context.Context) (err error) {
		if now, err = c.leader(ctx); err == nil && now.identity == before.identity {
			err = fmt.Errorf("%s still leads", before.pod.Name)
		}
		return err
	})
	return now
}

// kill ends the process of a pod as the kernel does when memory is short: it finishes nothing and gives nothing back.
func (c *cluster) kill(t *testing.T, pod corev1.Pod) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte(pod.UID)) {
			continue // it has ended meanwhile, or is another one
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(id, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no process of pod %s is there", pod.Name)
}

// remove deletes pods, whose processes are asked to end; others take their places.
func (c *cluster) remove(t *testing.T, pods ...corev1.Pod) {
	t.Helper()
	for _, pod := range pods {
		if err := c.api.CoreV1().Pods(pod.Namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// logLines is how many lines of a log are printed.
const logLines = 60

// logTails prints the last lines of the managers' logs.
func (c *cluster) logTails(t *testing.T) {
	t.Helper()
	pods, err := c.managers(context.Background())
	if err != nil {
		t.Log(err)
	}
	for _, pod := range pods {
		if c.nodes[pod.Spec.NodeName] == nil {
			continue
		}
		log, err := os.ReadFile(c.log(pod))
		lines := strings.Split(string(log), "\n")
		t.Logf("the end of the log of %s: %v\n%s", pod.Name, err, strings.Join(lines[max(0, len(lines)-logLines):],
			"\n"))
	}
}
