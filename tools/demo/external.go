package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

const (
	// externalNamespace holds everything of the demo in a cluster of the user's own.
	externalNamespace = "thalassa-ccm-demo"
	// externalKey labels and taints the demo's nodes there, so that nothing else is scheduled on them.
	externalKey = "thalassa-ccm-demo"
)

// errRefused ends the demo because the user did not agree.
var errRefused = errors.New("you did not answer yes; nothing was touched")

// preflight connects to the user's own cluster and asks whether the demo may happen there. It changes nothing yet.
func (s *stage) preflight(ctx context.Context) (*cluster, error) {
	config, err := userConfig(s.options.Cluster)
	if err != nil {
		return nil, err
	}
	if _, _, err := virtualnode.APIServer(config); err != nil {
		return nil, fmt.Errorf("this cluster cannot have the demo's nodes: %w", err)
	}
	c, err := newCluster(config)
	if err != nil {
		return nil, err
	}
	c.external, c.systemNamespace, c.webNamespace = true, externalNamespace, externalNamespace
	if err := errors.Join(c.noLoadBalancers(ctx), c.noOtherDemo(ctx)); err != nil {
		return nil, err
	}
	return c, s.ask(ctx, config.Host)
}

// noLoadBalancers refuses a cluster that serves load balancers: its cloud controller manager would take the demo's
// nodes for targets, and the demo's would take its Services.
func (c *cluster) noLoadBalancers(ctx context.Context) error {
	services, err := c.client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing load balancers in this cluster: %w", err)
	}
	for _, service := range services.Items {
		if service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Namespace != externalNamespace {
			return fmt.Errorf("this cluster has the Service %s/%s of type LoadBalancer, and the demo's nodes would "+
				"become targets of it: "+
				"use a cluster without such Services, or make demo without CLUSTER", service.Namespace, service.Name)
		}
	}
	return nil
}

// leaseLimit is how old the Lease of the node of a running demo may be: kubelets, and ours, renew their lease every 10
// s.
const leaseLimit = 40 * time.Second

// noOtherDemo refuses a cluster in which another demo runs at the moment.
func (c *cluster) noOtherDemo(ctx context.Context) error {
	leases, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("checking for another demo in this cluster: %w", err)
	}
	for _, lease := range leases.Items {
		if slices.Contains(c.nodeNames(), lease.Name) && lease.Spec.RenewTime != nil &&
			time.Since(lease.Spec.RenewTime.Time) < leaseLimit {
			return fmt.Errorf("another demo runs in this cluster: its node %s renewed its Lease at %s", lease.Name,
				lease.Spec.RenewTime.Format(time.TimeOnly))
		}
	}
	return nil
}

// enter begins to use the cluster that the user has allowed.
func (s *stage) enter(ctx context.Context) error {
	c := s.cluster
	if err := c.removeEarlierDemo(ctx); err != nil {
		return err
	}
	s.later("namespace "+externalNamespace, c.removeNamespace)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: externalNamespace, Labels: map[string]string{
		externalKey: "true",
		// The chart's pod uses the host network, which stricter levels refuse.
		"pod-security.kubernetes.io/enforce": "privileged",
	}}}
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, namespace,
		metav1.CreateOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", externalNamespace, err)
	}
	s.printer.say("Using the cluster at %s", c.config.Host)
	return nil
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

// ask names the cluster and what would happen in it, and waits for the word yes.
func (s *stage) ask(ctx context.Context, host string) error {
	s.printer.plain("\nThis uses YOUR cluster: context %q at %s", s.options.Cluster, host)
	s.printer.plain("It creates namespace %s, a Helm release in it, cluster roles and one role binding in kube-system "+
		"named %s*,", externalNamespace, externalKey)
	s.printer.plain(
		"and four nodes named %s-*, which run only pods of that namespace. Its cloud controller manager may "+
			"write", externalKey)
	s.printer.plain("to nothing but those. Pods of yours that tolerate every taint stay pending on these nodes " +
		"meanwhile. Do not create")
	s.printer.plain("other Services of type LoadBalancer until it is over. Everything is removed at the end.")
	s.printer.plain("Type yes to go on:")
	answer := make(chan string, 1)
	go func() {
		// No answer, at the end of the input, is no yes either.
		line, _ := bufio.NewReader(s.options.Input).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case line := <-answer:
		if line != "yes" {
			return errRefused
		}
		return nil
	}
}

// removeEarlierDemo removes what an earlier demo in this cluster left behind because it was killed.
func (c *cluster) removeEarlierDemo(ctx context.Context) error {
	err := errors.Join(
		c.client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{LabelSelector: externalKey}),
		c.removeRoles(ctx),
	)
	if err != nil {
		return fmt.Errorf("removing what an earlier demo left in this cluster: %w", err)
	}
	return c.removeNamespace(ctx)
}

// removeRoles removes all roles and bindings that carry the demo's label.
func (c *cluster) removeRoles(ctx context.Context) error {
	selector := metav1.ListOptions{LabelSelector: externalKey}
	roles := c.client.RbacV1()
	return errors.Join(
		roles.ClusterRoleBindings().DeleteCollection(ctx, metav1.DeleteOptions{}, selector),
		roles.ClusterRoles().DeleteCollection(ctx, metav1.DeleteOptions{}, selector),
		roles.RoleBindings(metav1.NamespaceSystem).DeleteCollection(ctx, metav1.DeleteOptions{}, selector),
	)
}

// removeNamespace removes the demo's namespace, if it is the demo's, and waits until it is gone. Services in it lose
// their finalizer first: no program is left that would remove it.
func (c *cluster) removeNamespace(ctx context.Context) error {
	namespace, err := c.client.CoreV1().Namespaces().Get(ctx, externalNamespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading namespace %s: %w", externalNamespace, err)
	}
	if namespace.Labels[externalKey] != "true" {
		return fmt.Errorf("namespace %s exists and is not the demo's: it lacks the label %s; rename or remove it",
			externalNamespace, externalKey)
	}
	if err := c.releaseServices(ctx); err != nil {
		return err
	}
	if err := ignoreNotFound(c.client.CoreV1().Namespaces().Delete(ctx, externalNamespace,
		metav1.DeleteOptions{})); err != nil {
		return fmt.Errorf("deleting namespace %s: %w", externalNamespace, err)
	}
	return until(ctx, "namespace "+externalNamespace+" is gone", func(ctx context.Context) (bool, error) {
		_, err := c.client.CoreV1().Namespaces().Get(ctx, externalNamespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	})
}

// endServices deletes all Services of the demo's namespace and waits until they are gone.
func (c *cluster) endServices(ctx context.Context) error {
	services := c.client.CoreV1().Services(externalNamespace)
	list, err := services.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the demo's Services: %w", err)
	}
	for _, service := range list.Items {
		if err := ignoreNotFound(services.Delete(ctx, service.Name, metav1.DeleteOptions{})); err != nil {
			return fmt.Errorf("deleting Service %s: %w", service.Name, err)
		}
	}
	// Half of the time at most: what cannot be taken down loses its finalizer afterwards.
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout/2)
	defer cancel()
	return until(ctx, "the demo's Services are gone", func(ctx context.Context) (bool, error) {
		left, err := services.List(ctx, metav1.ListOptions{})
		return err == nil && len(left.Items) == 0, err
	})
}

// releaseServices takes the finalizers off all Services that are left in the demo's namespace.
func (c *cluster) releaseServices(ctx context.Context) error {
	services := c.client.CoreV1().Services(externalNamespace)
	list, err := services.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the demo's Services: %w", err)
	}
	for _, service := range list.Items {
		_, err := services.Patch(ctx, service.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
			metav1.PatchOptions{FieldManager: fieldManager})
		if ignoreNotFound(err) != nil {
			return fmt.Errorf("taking the finalizers off Service %s: %w", service.Name, err)
		}
	}
	return nil
}

// release is the name of the Helm release, and of its cluster roles.
func (c *cluster) release() string {
	if c.external {
		return externalKey
	}
	return releaseName
}

// nodeName is what a server and its node are called.
func (c *cluster) nodeName(role string) string {
	if c.external {
		return externalKey + "-" + role
	}
	return "demo-" + role
}

func (c *cluster) nodeLabels() map[string]string {
	if !c.external {
		return nil
	}
	return map[string]string{externalKey: "true"}
}

func (c *cluster) nodeTaints() []corev1.Taint {
	if !c.external {
		return nil
	}
	return []corev1.Taint{{Key: externalKey, Effect: corev1.TaintEffectNoSchedule}}
}

// podNamespaces are the only ones whose pods the demo's nodes run; nil is all. In the user's cluster, pods of others
// may be scheduled there, and neither they nor their Secrets are the demo's business.
func (c *cluster) podNamespaces() []string {
	if !c.external {
		return nil
	}
	return []string{externalNamespace}
}

// adapt makes the chart's values fit a cluster with nodes of its own: the workload runs on the demo's first node only.
func (c *cluster) adapt(values map[string]any) {
	if !c.external {
		return
	}
	values["affinity"] = map[string]any{"nodeAffinity": nil}
	values["priorityClassName"] = ""
	values["nodeSelector"] = map[string]any{corev1.LabelHostname: c.nodeName("control-plane")}
}

// place keeps the example's pods on the demo's nodes.
func (c *cluster) place(deployment *appsv1.Deployment) {
	if !c.external {
		return
	}
	deployment.Spec.Template.Spec.NodeSelector = c.nodeLabels()
	deployment.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: externalKey,
		Operator: corev1.TolerationOpExists}}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
