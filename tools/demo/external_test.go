package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// watched are the kinds whose objects a demo in somebody's cluster could touch.
var watched = []schema.GroupVersionResource{
	{Version: "v1", Resource: "nodes"}, {Version: "v1", Resource: "services"}, {Version: "v1", Resource: "namespaces"},
	{Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "configmaps"},
	{Version: "v1", Resource: "serviceaccounts"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
}

// inventory is all watched objects with the version they have.
func inventory(t *testing.T, config *rest.Config) []string {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, kind := range watched {
		list, err := client.Resource(kind).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			// The control plane renews its own leases, and the namespaces of earlier tests take their time to go.
			if kind.Resource == "leases" && strings.HasPrefix(object.GetName(), "apiserver-") ||
				strings.HasPrefix(object.GetNamespace()+object.GetName(), "test") {
				continue
			}
			version := object.GetResourceVersion()
			if kind.Resource == "nodes" {
				// Kubernetes itself reports on a node without a kubelet; what a cloud controller manager would change
				// counts.
				providerID, _, _ := unstructured.NestedString(object.Object, "spec", "providerID")
				taint := strings.Contains(fmt.Sprint(object.Object["spec"]), "uninitialized")
				version = fmt.Sprintf("labels %v, providerID %q, uninitialized %v", object.GetLabels(), providerID,
					taint)
			}
			all = append(all, fmt.Sprintf("%s %s/%s %s", kind.Resource, object.GetNamespace(), object.GetName(),
				version))
		}
	}
	slices.Sort(all)
	return all
}

// clientOf is an administrator of the cluster.
func clientOf(t *testing.T, c *controlplane.ControlPlane) *kubernetes.Clientset {
	t.Helper()
	clients, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// usersCluster is a cluster that the context "lab" of KUBECONFIG names, with a node that waits for another cloud and,
// below a DaemonSet of the very image that the demo knows to run, a Secret that must not reach this machine.
func usersCluster(t *testing.T) (c *controlplane.ControlPlane, namespace string) {
	t.Helper()
	c = controlplanetest.Get(t)
	t.Setenv("KUBECONFIG", c.Kubeconfig())
	namespace = controlplanetest.Namespace(t) // its name begins with "test"
	clients := clientOf(t, c)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs"},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized",
			Effect: corev1.TaintEffectNoSchedule}}},
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "theirs"},
		StringData: map[string]string{"token": "THE-REAL-TOKEN"}}
	labels := map[string]string{"app": "theirs"}
	workload := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Volumes: []corev1.Volume{{Name: "s",
				VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "theirs"}}}},
			Containers: []corev1.Container{{Name: "ccm", Image: imageCCM + ":1",
				VolumeMounts: []corev1.VolumeMount{{Name: "s", MountPath: "/s"}}}},
		}},
	}}
	_, nodeErr := clients.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	_, secretErr := clients.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{})
	_, workloadErr := clients.AppsV1().DaemonSets(namespace).Create(t.Context(), workload, metav1.CreateOptions{})
	if err := errors.Join(nodeErr, secretErr, workloadErr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clients.CoreV1().Nodes().Delete(context.WithoutCancel(t.Context()), "theirs",
			metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return c, namespace
}

func TestInTheUsersOwnCluster(t *testing.T) {
	tier.NeedFull(t)
	theirs, namespace := usersCluster(t)
	dir := ownTemp(t)
	before := inventory(t, theirs.Config())

	out := &story{when: map[string]func(){"is a target of the load balancer": func() {
		foreignPodsUntouched(t, theirs, namespace, dir)
	}}}
	if err := Run(t.Context(), Options{Root: sources(t), Output: out, Input: strings.NewReader("yes\n"),
		Cluster: "lab"}); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inOrder(t, out.String(), `Service thalassa-ccm-demo/web has the address`, `pod: web-`,
		`is a target of the load balancer`, `the cloud is empty`)
	if diff := cmp.Diff(before, inventory(t, theirs.Config())); diff != "" {
		t.Errorf("touched (-before +after):\n%s", diff)
	}
	nothingLeft(t, dir)
}

// foreignPodsUntouched fails the test unless the user's pods on the demo's nodes are as the scheduler left them, and
// their Secret is nowhere below dir.
func foreignPodsUntouched(t *testing.T, theirs *controlplane.ControlPlane, namespace, dir string) {
	t.Helper()
	pods, err := clientOf(t, theirs).CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("%d pods of the user's, error %v; want some on the demo's nodes", len(pods.Items), err)
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodPending || len(pod.Status.ContainerStatuses) > 0 {
			t.Errorf("pod %s on %s was run: %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase)
		}
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // what goes while it is walked over is no secret any more
		}
		if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), "THE-REAL-TOKEN") {
			t.Errorf("the user's Secret is on this machine: %s", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestNothingWithoutConsent(t *testing.T) {
	tier.NeedFull(t)
	theirs, namespace := usersCluster(t)
	ownTemp(t)
	before := inventory(t, theirs.Config())
	run := func(input io.Reader, ctx context.Context, want error) string {
		t.Helper()
		out := &story{}
		if err := Run(ctx, Options{Root: sources(t), Output: out, Input: input, Cluster: "lab"}); err == nil ||
			(want != nil && !errors.Is(err, want)) {
			t.Errorf("error = %v, want %v", err, want)
		}
		if strings.Contains(out.String(), "Building") {
			t.Error("it built before it asked")
		}
		return out.String()
	}
	for _, answer := range []string{"", "no\n", "y\n"} {
		inOrder(t, run(strings.NewReader(answer), t.Context(), errRefused),
			`YOUR cluster: context "lab" at https://127`, `Type yes`, `nothing was touched`)
	}

	// Ctrl-C at the question, while nothing is typed.
	silence, typing := io.Pipe()
	defer typing.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	inOrder(t, run(silence, ctx, context.DeadlineExceeded), `Type yes`, `Stopped: interrupted`)
	if diff := cmp.Diff(before, inventory(t, theirs.Config())); diff != "" {
		t.Errorf("touched without consent (-before +after):\n%s", diff)
	}

	served := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 443}},
	}}
	if _, err := clientOf(t, theirs).CoreV1().Services(namespace).Create(t.Context(), served,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	inOrder(t, run(strings.NewReader("yes\n"), t.Context(), nil),
		`this cluster has the Service `+namespace+`/shop of type LoadBalancer`)
	if err := clientOf(t, theirs).CoreV1().Services(namespace).Delete(t.Context(), "shop",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestInterruptedInTheUsersOwnCluster(t *testing.T) {
	tier.NeedFull(t)
	theirs, _ := usersCluster(t)
	before := inventory(t, theirs.Config())
	second := func() {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "second"}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 81}},
		}}
		if _, err := clientOf(t, theirs).CoreV1().Services(externalNamespace).Create(t.Context(), service,
			metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		moment string
		keep   bool
		also   func()
	}{
		{"== helm install", false, func() {}},
		{`is "creating"`, false, func() {}},
		{"keeps running until Ctrl-C", true, second},
	} {
		t.Run(tt.moment, func(t *testing.T) {
			dir := ownTemp(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &story{when: map[string]func(){tt.moment: func() { tt.also(); cancel() }}}
			err := Run(ctx, Options{Root: sources(t), Output: out, Input: strings.NewReader("yes\n"),
				Cluster: "lab", Keep: tt.keep})
			if tt.keep == (err != nil) {
				t.Errorf("error = %v", err)
			}
			inOrder(t, out.String(), `Nothing is left running`)
			if diff := cmp.Diff(before, inventory(t, theirs.Config())); diff != "" {
				t.Errorf("left behind (-before +after):\n%s", diff)
			}
			nothingLeft(t, dir)
		})
	}
}

func TestUnknownContext(t *testing.T) {
	tier.NeedFull(t)
	ownTemp(t)
	t.Setenv("KUBECONFIG", controlplanetest.Get(t).Kubeconfig())
	err := Run(t.Context(), Options{Root: sources(t), Output: &story{}, Input: strings.NewReader("yes\n"),
		Cluster: "nowhere"})
	if err == nil || !strings.Contains(err.Error(), `context "nowhere" of your kubeconfig`) {
		t.Errorf("error = %v, want one that names the context", err)
	}
}

// TestEnvironmentChoosesNoCluster: only make's own command line does.
func TestEnvironmentChoosesNoCluster(t *testing.T) {
	dryRun := func(environment string, arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "make", append([]string{"--dry-run", "demo"}, arguments...)...)
		command.Dir = repotest.Root(t, "Makefile")
		command.Env = append(os.Environ(), environment, "MAKEFLAGS=", "MAKEOVERRIDES=")
		text, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := dryRun("CLUSTER=production") + dryRun("KEEP=1"); strings.Contains(text, "--cluster") ||
		strings.Contains(text, "--keep") {
		t.Errorf("a variable of the environment is obeyed:\n%s", text)
	}
	if text := dryRun("X=", "CLUSTER=mine", "KEEP=1"); !strings.Contains(text, "--keep --cluster='mine'") {
		t.Errorf("the command line is not obeyed:\n%s", text)
	}
}

func TestSplitRights(t *testing.T) {
	tier.NeedFull(t)
	c := &cluster{external: true}
	rule := func(resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
	}
	named := rule("nodes", "patch", "delete")
	named.ResourceNames = c.nodeNames()
	wide, local := c.split([]rbacv1.PolicyRule{
		rule("nodes", "get", "patch", "delete"), rule("services", "list", "watch"), rule("services/status", "patch"),
		rule("events", "create"), rule("tokenreviews", "create"),
	})
	if diff := cmp.Diff([]rbacv1.PolicyRule{rule("nodes", "get"), named, rule("services", "list", "watch"),
		rule("tokenreviews", "create")}, wide); diff != "" {
		t.Errorf("for the whole cluster (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]rbacv1.PolicyRule{rule("services/status", "patch"), rule("events", "create")},
		local); diff != "" {
		t.Errorf("for the demo's namespace (-want +got):\n%s", diff)
	}
}
