//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

const (
	// Release is the name of the Helm release.
	Release = "thalassa-ccm"
	// Namespace is where it is.
	Namespace = "kube-system"
	// Credentials is the Secret with the credentials of the cloud.
	Credentials = "thalassa-credentials"
	// Name is what the cluster is called in the cloud.
	Name = "k8s-lab"

	taintUninitialized = cloudproviderapi.TaintExternalCloudProvider
)

// Install installs the chart, and waits until all nodes are initialised and ready.
func (c *Cluster) Install(ctx context.Context) error {
	if err := c.GiveCredentials(ctx); err != nil {
		return err
	}
	release := chart.Release{Name: Release, Namespace: Namespace, Values: c.Values()}
	if _, err := chart.Install(ctx, c.config, c.options.Chart, release, io.Discard); err != nil {
		return err
	}
	c.say("The chart is installed")
	return c.NodesReady(ctx)
}

// GiveCredentials makes the Secret with the cloud's credentials, unless it is there. Install does that, too; everybody
// who installs something otherwise needs it.
func (c *Cluster) GiveCredentials(ctx context.Context) error {
	content, err := c.cloud.credentials()
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: Credentials}, StringData: content}
	_, err = c.api.CoreV1().Secrets(Namespace).Create(ctx, secret, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the Secret with the cloud's credentials: %w", err)
	}
	return nil
}

// Values are the values that the chart is installed with: those that have no default, and Options.Values.
func (c *Cluster) Values() map[string]any {
	routes := map[string]any{}
	if c.options.Networks != OwnNetworks {
		routes["clusterCIDR"], routes["routes"] = PodCIDR, map[string]any{"enabled": true}
	}
	values := c.cloud.values(routes)
	if c.options.Networks == ManagerNetworks {
		values["allocateNodeCIDRs"] = map[string]any{"enabled": true}
	}
	return chartutil.MergeTables(maps.Clone(c.options.Values), values)
}

// NodesReady waits until all machines that the cluster began with have a node that is initialised and ready, and to
// whose pods there is a way.
func (c *Cluster) NodesReady(ctx context.Context) error {
	return c.awaitNodes(ctx, usableWith(false, c.options.Networks))
}

// usable is what is wanted of a node.
type usable struct {
	// initialised by a cloud controller manager; ready as its kubelet says; routed as the cloud controller manager
	// says.
	initialised, ready, routed bool
}

// usableWith is what nodes become with a cloud controller manager, or bare, without one.
func usableWith(bare bool, networks Networks) usable {
	if bare {
		return usable{ready: networks != ManagerNetworks}
	}
	return usable{initialised: true, ready: true, routed: networks != OwnNetworks}
}

func (c *Cluster) awaitNodes(ctx context.Context, wanted usable) error {
	want := c.options.Workers + 1
	err := limits().Until(ctx, fmt.Sprintf("%d nodes are usable", want), func(ctx context.Context) error {
		if err := c.machines.broken(); err != nil {
			return poll.Final(err)
		}
		nodes, err := c.api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(nodes.Items) < want {
			return fmt.Errorf("%d have registered", len(nodes.Items))
		}
		var trouble []error
		for i := range nodes.Items {
			trouble = append(trouble, wanted.lacking(&nodes.Items[i]))
		}
		return errors.Join(trouble...)
	})
	if err == nil {
		c.say("%d nodes are there%s", want, map[bool]string{true: " and ready"}[wanted.ready])
	}
	return err
}

// lacking is what a node lacks.
func (u usable) lacking(node *corev1.Node) error {
	conditions := map[corev1.NodeConditionType]corev1.NodeCondition{}
	for _, condition := range node.Status.Conditions {
		conditions[condition.Type] = condition
	}
	tainted := func(key string) bool {
		return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
	}
	ready, reported := conditions[corev1.NodeReady]
	route := conditions[corev1.NodeNetworkUnavailable]
	switch {
	case u.initialised && tainted(taintUninitialized):
		return fmt.Errorf("node %s is not initialised", node.Name)
	case u.ready && !reported:
		return fmt.Errorf("node %s has not said whether it is ready", node.Name)
	case u.ready && ready.Status != corev1.ConditionTrue:
		return fmt.Errorf("node %s is not ready: %s", node.Name, ready.Message)
	case u.ready && tainted(corev1.TaintNodeNotReady):
		// The node life cycle controller removes it a moment after the kubelet has reported that the node is ready.
		return fmt.Errorf("node %s is ready, and still has the taint %s", node.Name, corev1.TaintNodeNotReady)
	case u.routed && route.Status != corev1.ConditionFalse:
		return fmt.Errorf("node %s has no route to its pods: %s", node.Name, route.Message)
	}
	return nil
}
