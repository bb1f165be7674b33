//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/patience"
)

const (
	// Release is the name of the Helm release.
	Release = "thalassa-ccm"
	// Namespace is where it is.
	Namespace = "kube-system"
	// credentials is the Secret with the credentials of the cloud.
	credentials = "thalassa-credentials"
	// Name is what the cluster is called in the cloud.
	Name = "k8s-lab"

	taintUninitialized = cloudproviderapi.TaintExternalCloudProvider
)

// Install installs the chart, and waits until all nodes are initialised and ready.
func (c *Cluster) Install(ctx context.Context) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: credentials},
		StringData: map[string]string{"clientID": emulator.DefaultClientID, "clientSecret": emulator.DefaultClientSecret},
	}
	if _, err := c.api.CoreV1().Secrets(Namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making the Secret with the cloud's credentials: %w", err)
	}
	release := chart.Release{Name: Release, Namespace: Namespace, Values: c.Values()}
	if _, err := chart.Install(ctx, c.config, filepath.Join(c.options.Root, "charts", "thalassa-ccm"), release, io.Discard); err != nil {
		return err
	}
	c.say("The chart is installed")
	return c.nodesReady(ctx, true)
}

// Values are the values that the chart is installed with: those that have no default, and Options.Values.
func (c *Cluster) Values() map[string]any {
	values := map[string]any{
		"cloudConfig": map[string]any{
			"organisation": emulator.DefaultOrganisation, "vpcIdentity": emulator.DefaultVPC, "cluster": Name, "endpoint": c.cloudEndpoint,
		},
		"credentials": map[string]any{"existingSecret": credentials},
	}
	maps.Copy(values, c.options.Values)
	return values
}

// nodesReady waits until all machines have a node that is ready, and initialised, if there is somebody to do that.
func (c *Cluster) nodesReady(ctx context.Context, initialised bool) error {
	want := c.options.Workers + 1
	err := limits().Until(ctx, fmt.Sprintf("%d nodes are ready", want), func(ctx context.Context) error {
		if err := c.machines.broken(); err != nil {
			return patience.Final(err)
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
			trouble = append(trouble, readiness(&nodes.Items[i], initialised))
		}
		return errors.Join(trouble...)
	})
	if err == nil {
		c.say("%d nodes are ready", want)
	}
	return err
}

// readiness is why a node is not ready.
func readiness(node *corev1.Node, initialised bool) error {
	for _, taint := range node.Spec.Taints {
		if initialised && taint.Key == taintUninitialized {
			return fmt.Errorf("node %s is not initialised", node.Name)
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			if condition.Status == corev1.ConditionTrue {
				return nil
			}
			return fmt.Errorf("node %s is not ready: %s", node.Name, condition.Message)
		}
	}
	return fmt.Errorf("node %s has not said whether it is ready", node.Name)
}
