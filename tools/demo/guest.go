package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// guestNamespace holds everything of the demo in a cluster of the user's own.
	guestNamespace = "thalassa-ccm-demo"
	// guestKey labels and taints the demo's nodes there, so that nothing else is scheduled on them.
	guestKey = "thalassa-ccm-demo"
)

// errRefused ends the demo because the user did not agree.
var errRefused = errors.New("you did not answer yes; nothing was touched")

// guest connects to the user's own cluster, after having asked.
func (s *stage) guest(ctx context.Context) (*cluster, error) {
	config, err := userConfig(s.options.Cluster)
	if err != nil {
		return nil, err
	}
	c, err := newCluster(config)
	if err != nil {
		return nil, err
	}
	if c.host, c.port, err = address(config); err != nil {
		return nil, err
	}
	c.guest, c.systemNamespace, c.webNamespace = true, guestNamespace, guestNamespace
	if err := s.ask(config.Host); err != nil {
		return nil, err
	}
	if err := c.clearLeftovers(ctx); err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: guestNamespace, Labels: map[string]string{guestKey: "true"}}}
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{FieldManager: fieldManager}); err != nil {
		return nil, fmt.Errorf("creating namespace %s: %w", guestNamespace, err)
	}
	s.later("namespace "+guestNamespace, c.removeNamespace)
	s.tell.say("Using the cluster at %s", config.Host)
	return c, nil
}

// userConfig reads the user's kubeconfig, the only place where KUBECONFIG counts.
func userConfig(name string) (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{CurrentContext: name}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("using context %q of your kubeconfig: %w", name, err)
	}
	return config, nil
}

// address is where pods on this machine find the API server.
func address(config *rest.Config) (host string, port int, err error) {
	u, err := url.Parse(config.Host)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return "", 0, fmt.Errorf("the cluster's address %q is not of the form https://host:port, which the demo needs", config.Host)
	}
	if u.Port() == "" {
		return u.Hostname(), 443, nil
	}
	port, err = strconv.Atoi(u.Port())
	return u.Hostname(), port, err
}

// ask names the cluster and what would happen in it, and waits for the word yes.
func (s *stage) ask(host string) error {
	s.tell.plain("\nThis uses YOUR cluster: context %q at %s", s.options.Cluster, host)
	s.tell.plain("It creates namespace %s, a Helm release in it, cluster roles named %s*, and four nodes named %s-*.", guestNamespace, guestKey, guestKey)
	s.tell.plain("The cloud controller manager may write to nothing but those; the cluster's own DaemonSets that tolerate every taint")
	s.tell.plain("will show a pending pod on each of the nodes meanwhile. Everything is removed at the end.")
	s.tell.plain("Type yes to go on:")
	// No answer, at the end of the input, is no yes either.
	answer, _ := bufio.NewReader(s.options.Input).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return errRefused
	}
	return nil
}

// clearLeftovers removes what an earlier demo in this cluster left behind because it was killed.
func (c *cluster) clearLeftovers(ctx context.Context) error {
	selector := metav1.ListOptions{LabelSelector: guestKey}
	roles := c.client.RbacV1()
	err := errors.Join(
		c.client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, selector),
		roles.ClusterRoleBindings().DeleteCollection(ctx, metav1.DeleteOptions{}, selector),
		roles.ClusterRoles().DeleteCollection(ctx, metav1.DeleteOptions{}, selector),
		roles.RoleBindings(metav1.NamespaceSystem).DeleteCollection(ctx, metav1.DeleteOptions{}, selector),
		roles.Roles(metav1.NamespaceSystem).DeleteCollection(ctx, metav1.DeleteOptions{}, selector),
	)
	if err != nil {
		return fmt.Errorf("removing what an earlier demo left in this cluster: %w", err)
	}
	return c.removeNamespace(ctx)
}

// removeNamespace removes the demo's namespace, if it is the demo's, and waits until it is gone. Services in it lose their
// finalizer first: nobody is left who would.
func (c *cluster) removeNamespace(ctx context.Context) error {
	namespace, err := c.client.CoreV1().Namespaces().Get(ctx, guestNamespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for namespace %s: %w", guestNamespace, err)
	}
	if namespace.Labels[guestKey] != "true" {
		return fmt.Errorf("namespace %s exists and is not the demo's: it lacks the label %s; rename or remove it", guestNamespace, guestKey)
	}
	if err := c.releaseService(ctx); err != nil {
		return err
	}
	if err := c.client.CoreV1().Namespaces().Delete(ctx, guestNamespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting namespace %s: %w", guestNamespace, err)
	}
	return until(ctx, "namespace "+guestNamespace+" to go", func(ctx context.Context) (bool, error) {
		_, err := c.client.CoreV1().Namespaces().Get(ctx, guestNamespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	})
}

func (c *cluster) releaseService(ctx context.Context) error {
	_, err := c.client.CoreV1().Services(c.webNamespace).Patch(ctx, webName, "application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{FieldManager: fieldManager})
	return ignoreNotFound(err)
}

// release is the name of the Helm release, and of its cluster roles.
func (c *cluster) release() string {
	if c.guest {
		return guestKey
	}
	return releaseName
}

// nodeName is what a server and its node are called.
func (c *cluster) nodeName(role string) string {
	if c.guest {
		return guestKey + "-" + role
	}
	return "demo-" + role
}

func (c *cluster) nodeLabels() map[string]string {
	if !c.guest {
		return nil
	}
	return map[string]string{guestKey: "true"}
}

func (c *cluster) nodeTaints() []corev1.Taint {
	if !c.guest {
		return nil
	}
	return []corev1.Taint{{Key: guestKey, Effect: corev1.TaintEffectNoSchedule}}
}

// adapt makes the chart's values fit a cluster with nodes of its own: the workload runs on the demo's first node only.
func (c *cluster) adapt(values map[string]any) {
	if !c.guest {
		return
	}
	values["affinity"] = map[string]any{"nodeAffinity": nil}
	values["nodeSelector"] = map[string]any{corev1.LabelHostname: c.nodeName("control-plane")}
}

// place keeps the example's pods on the demo's nodes.
func (c *cluster) place(object *unstructured.Unstructured) {
	if !c.guest || object.GetKind() != "Deployment" {
		return
	}
	var deployment appsv1.Deployment
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment) != nil {
		return
	}
	deployment.Spec.Template.Spec.NodeSelector = c.nodeLabels()
	deployment.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: guestKey, Operator: corev1.TolerationOpExists}}
	if content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&deployment); err == nil {
		delete(content, "status")
		object.Object = content
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
