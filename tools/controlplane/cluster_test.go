package controlplane

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// TestCluster tests two control planes that run side by side, one with all defaults and one
// with everything changed, and stops them.
func TestCluster(t *testing.T) {
	tier.NeedFull(t)
	standard := Options{Dir: t.TempDir()}
	changed := Options{
		Dir:                    t.TempDir(),
		Address:                netip.MustParseAddr("127.0.0.2"),
		ServiceCIDR:            "10.97.0.0/20,fd00:97::/112",
		PodCIDR:                "10.128.0.0/9,fd00:98::/48",
		NodeMonitorGracePeriod: 2 * time.Second,
		Flags: map[string][]string{ControllerManager: {"--node-monitor-period=500ms"},
			APIServer: {"--service-node-port-range=20000-20009"}},
	}
	planes := startAll(t, standard, changed)
	a, b := newCluster(t, planes[0]), newCluster(t, planes[1])
	t.Run("version", func(t *testing.T) { testVersion(t, a) })
	t.Run("kubeconfig", func(t *testing.T) { testKubeconfig(t, a) })
	t.Run("addresses", func(t *testing.T) { testAddress(t, a, "127.0.0.1"); testAddress(t, b, "127.0.0.2") })
	t.Run("service account", func(t *testing.T) { testServiceAccount(t, a) })
	t.Run("controllers", func(t *testing.T) { testControllers(t, a) })
	t.Run("services", func(t *testing.T) { testServices(t, a, "10.96.", 30000); testServices(t, b, "10.97.", 20000) })
	t.Run("pod ranges", func(t *testing.T) { testPodRanges(t, a, "10.244."); testPodRanges(t, b, "10.128.") })
	t.Run("request headers", func(t *testing.T) { testRequestHeaders(t, a) })
	t.Run("separate", func(t *testing.T) { testSeparate(t, a, b) })
	t.Run("user", func(t *testing.T) { testUser(t, a) })
	t.Run("foreign credentials", func(t *testing.T) { testForeignCredentials(t, a, b) })
	t.Run("privacy", func(t *testing.T) { testPrivacy(t, a.plane) })
	t.Run("silent node", func(t *testing.T) { testSilentNode(t, b) })
	t.Run("stop", func(t *testing.T) { testStop(t, planes[0]) })
	t.Run("component ends", func(t *testing.T) { testErr(t, planes[1]) })
}

// startAll starts control planes at the same time.
func startAll(t *testing.T, options ...Options) []*ControlPlane {
	t.Helper()
	planes := make([]*ControlPlane, len(options))
	errs := make(chan error)
	for i, o := range options {
		o.Progress = func(line string) { t.Log(line) }
		go func() {
			var err error
			planes[i], err = Start(t.Context(), o)
			errs <- err
		}()
	}
	t.Cleanup(func() {
		for _, c := range planes {
			if c != nil {
				_ = c.Stop() // a second time, unless the test failed early
			}
		}
	})
	for range options {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return planes
}

// cluster is a control plane with a client of its own.
type cluster struct {
	plane *ControlPlane
	*kubernetes.Clientset
}

func newCluster(t *testing.T, c *ControlPlane) *cluster {
	t.Helper()
	return &cluster{c, clientOf(t, c.Config())}
}

// clientOf returns a client whose connections are closed with the test: left open, they count as
// goroutines that leak.
func clientOf(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(config, transport)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func testVersion(t *testing.T, c *cluster) {
	t.Helper()
	got, err := c.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../lab/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "k8s.io/kubernetes "+got.GitVersion+"\n") || got.Major != "1" || got.Minor == "" {
		t.Errorf("the API server says %s (%s.%s), which is not the lab's version of Kubernetes", got.GitVersion,
			got.Major, got.Minor)
	}
}

func testKubeconfig(t *testing.T, c *cluster) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.plane.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	_, err = clientOf(t, config).CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "made"}, Data: map[string]string{"a": "b"}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), "made", metav1.GetOptions{})
	if err != nil || got.Data["a"] != "b" {
		t.Errorf("read back %v, %v", got.Data, err)
	}
}

func testAddress(t *testing.T, c *cluster, want string) {
	t.Helper()
	host, port := c.plane.Address()
	address := net.JoinHostPort(host, strconv.Itoa(port))
	if host != want || c.plane.Config().Host != "https://"+address {
		t.Errorf("Address() = %s, %d; Config().Host = %s; want host %s", host, port, c.plane.Config().Host, want)
	}
	if l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address); err == nil {
		_ = l.Close()
		t.Errorf("nothing listens on %s", address)
	}
}

// testServiceAccount proves that tokens authenticate, that RBAC decides, and that the audit log
// tells both.
func testServiceAccount(t *testing.T, c *cluster) {
	t.Helper()
	const user = "system:serviceaccount:default:robot"
	robot := c.robot(t)
	who, err := robot.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil || who.Status.UserInfo.Username != user {
		t.Fatalf("the token is taken for %q, %v", who.Status.UserInfo.Username, err)
	}
	list := func(ctx context.Context) error {
		_, err := robot.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{})
		return err
	}
	if err := list(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("listing Secrets without a permission: got %v, want Forbidden", err)
	}
	c.allowSecrets(t, "robot")
	eventually(t, func() error { return list(t.Context()) })
	seen := map[string]bool{}
	for _, e := range auditEvents(t, c.plane.AuditLog()) {
		if e.User.Username == user && e.ObjectRef.Resource == "secrets" {
			seen[e.Verb+" "+e.Annotations["authorization.k8s.io/decision"]] = true
		}
	}
	if !seen["list forbid"] || !seen["list allow"] {
		t.Errorf("the audit log has %v of %s, want a list that was forbidden and one that was allowed", seen, user)
	}
}

// robot makes a ServiceAccount and returns a client with a token of it.
func (c *cluster) robot(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	accounts := c.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.plane.Config())
	config.BearerToken = token.Status.Token
	return clientOf(t, config)
}

func (c *cluster) allowSecrets(t *testing.T, account string) {
	t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"},
			Verbs: []string{"list"}}},
	}
	if _, err := c.RbacV1().Roles("default").Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
	}
	if _, err := c.RbacV1().RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// auditEvent is what these tests read of an audit event.
type auditEvent struct {
	Level       string
	Verb        string
	User        struct{ Username string }
	ObjectRef   struct{ Resource string }
	Annotations map[string]string
}

func auditEvents(t *testing.T, path string) []auditEvent {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var events []auditEvent
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e auditEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Level != "Metadata" {
			t.Fatalf("%v in audit event %s", err, lines.Bytes())
		}
		if e.User.Username == "system:apiserver" || e.User.Username == schedulerUser ||
			e.User.Username == controllerUser {
			t.Fatalf("the audit log has the control plane's own requests: %s", lines.Bytes())
		}
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

// testControllers has the controller manager make a pod and the scheduler find no node for it.
func testControllers(t *testing.T, c *cluster) {
	t.Helper()
	labels := map[string]string{"app": "web"}
	_, err := c.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"no": "such-node"},
					Containers:   []corev1.Container{{Name: "web", Image: "web"}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		pods, err := c.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil || len(pods.Items) == 0 {
			return fmt.Errorf("the controller manager made no pod: %w", err)
		}
		for _, condition := range pods.Items[0].Status.Conditions {
			if condition.Reason == corev1.PodReasonUnschedulable {
				return nil
			}
		}
		return fmt.Errorf("the scheduler says nothing about the pod: %v", pods.Items[0].Status)
	})
}

func testServices(t *testing.T, c *cluster, addresses string, firstPort int32) {
	t.Helper()
	got, err := c.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.Spec.ClusterIP, addresses) {
		t.Errorf("got cluster IP %s, want one in %s", got.Spec.ClusterIP, addresses)
	}
	if port := got.Spec.Ports[0].NodePort; port < firstPort || port > firstPort+2767 {
		t.Errorf("got node port %d, want one from %d on", port, firstPort)
	}
}

func testPodRanges(t *testing.T, c *cluster, want string) {
	t.Helper()
	nodes := c.CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ranged"}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		node, err := nodes.Get(t.Context(), "ranged", metav1.GetOptions{})
		if err == nil && !strings.HasPrefix(node.Spec.PodCIDR, want) {
			err = fmt.Errorf("the node has pod range %q, want one in %s", node.Spec.PodCIDR, want)
		}
		return err
	})
}

func testRequestHeaders(t *testing.T, c *cluster) {
	t.Helper()
	got, err := c.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication",
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"client-ca-file":                     "BEGIN CERTIFICATE",
		"requestheader-client-ca-file":       "BEGIN CERTIFICATE",
		"requestheader-allowed-names":        `["front-proxy-client"]`,
		"requestheader-username-headers":     `["X-Remote-User"]`,
		"requestheader-group-headers":        `["X-Remote-Group"]`,
		"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
	} {
		if !strings.Contains(got.Data[key], want) {
			t.Errorf("%s is %q, want %q", key, got.Data[key], want)
		}
	}
}

func testSeparate(t *testing.T, a, b *cluster) {
	t.Helper()
	name := metav1.ObjectMeta{Name: "only-here"}
	if _, err := a.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: name},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := b.CoreV1().Namespaces().Get(t.Context(), name.Name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("reading it from the other cluster: got %v, want NotFound", err)
	}
}

// testForeignCredentials proves that a cluster refuses the credentials of another, and that clients of that one refuse
// its server.
func testForeignCredentials(t *testing.T, a, b *cluster) {
	t.Helper()
	config := a.plane.Config()
	config.Host = b.plane.Config().Host
	if _, err := clientOf(t, config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("trusting the other authority: got %v, want a certificate error", err)
	}
	config.CAData = b.plane.Config().CAData
	if _, err := clientOf(t, config).CoreV1().Nodes().List(t.Context(),
		metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("using the other's certificate: got %v, want Unauthorized", err)
	}
}

// testSilentNode waits for the controller manager to give up a node that says nothing.
func testSilentNode(t *testing.T, c *cluster) {
	t.Helper()
	nodes := c.CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "silent"}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ready := []byte(`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Test"}]}}`)
	if _, err := nodes.Patch(t.Context(), "silent", types.MergePatchType, ready, metav1.PatchOptions{},
		"status"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		node, err := nodes.Get(t.Context(), "silent", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionUnknown {
				return nil
			}
		}
		return fmt.Errorf("the node still counts as ready: %v", node.Status.Conditions)
	})
}

// testUser is a user with a certificate of a name of the test's choice, who connects in a way of the test's choice.
func testUser(t *testing.T, c *cluster) {
	t.Helper()
	config, err := c.plane.User("system:node:worker-1", "system:nodes")
	if err != nil {
		t.Fatal(err)
	}
	used := false
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		used = true
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	who, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := who.Status.UserInfo.Username; got != "system:node:worker-1" || !used {
		t.Errorf("the API server sees %q", got)
	}
	if content, err := os.ReadFile(c.plane.CA()); err != nil || string(content) != string(config.CAData) {
		t.Errorf("the authority's certificate is not in %s: %v", c.plane.CA(), err)
	}
}
