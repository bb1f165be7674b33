//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

// taintToBeDeleted is what the cluster autoscaler gives a node that it is about to remove.
const taintToBeDeleted = "ToBeDeletedByClusterAutoscaler"

// retired proves that a node leaves as its owner wants it to: traffic goes to other nodes, first while it is only
// excluded, then when it is drained to be removed. No request fails but those whose connections the load balancer
// itself ends: the ones through the node that are under way when the cloud stops sending to it. Then its machine is
// switched off and deleted in the cloud, and another one takes its place, whose pods are reached by new routes.
func retired(t *testing.T, l *lab) {
	t.Helper()
	namespace, address, d := l.deploymentUnderLoad(t)
	c := l.counts(t, namespace, "worker-2")
	c.busy(t, d)
	l.excluded(t, address, c, d)
	l.drained(t, namespace, address, c, d)
	d.serves(t)

	if err := l.SetPower(t.Context(), "worker-2", false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.ensureMachine(t, "worker-2") })
	l.shutDown(t, "worker-2")
	if err := l.DeleteMachine(t.Context(), "worker-2"); err != nil {
		t.Fatal(err)
	}
	l.nodeGone(t, "worker-2")
	l.hasEvent(t, "worker-2", "DeletingNode")
	l.wantRoutes(t, "control-plane", "worker-1")
	d.serves(t)
	d.finish(t, l.cuts.explain)
	l.replaced(t)
	l.leadsTo(t, address, "worker-1", "worker-2")
}

// excluded proves that a node gets no traffic while it has the label, and gets it again without.
func (l *lab) excluded(t *testing.T, address netip.Addr, c counter, d *load) {
	t.Helper()
	l.label(t, "worker-2", corev1.LabelNodeExcludeBalancers, new("true"))
	t.Cleanup(func() { l.label(t, "worker-2", corev1.LabelNodeExcludeBalancers, nil) }) // if it was not reached below
	l.leadsTo(t, address, "worker-1")
	c.silent(t, d)
	l.label(t, "worker-2", corev1.LabelNodeExcludeBalancers, nil)
	l.leadsTo(t, address, "worker-1", "worker-2")
	c.busy(t, d)
}

// drained does what the cluster autoscaler does with a node: taint it, and evict its pods.
func (l *lab) drained(t *testing.T, namespace string, address netip.Addr, c counter, d *load) {
	t.Helper()
	patch := fmt.Appendf(nil,
		`{"spec":{"unschedulable":true,"taints":[{"key":%q,"value":"1700000000","effect":"NoSchedule"}]}}`,
		taintToBeDeleted)
	if _, err := l.API().CoreV1().Nodes().Patch(t.Context(), "worker-2", types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.uncordon(t, "worker-2") }) // if its machine was not replaced below
	l.leadsTo(t, address, "worker-1")
	c.silent(t, d)
	pods, err := l.API().CoreV1().Pods(namespace).List(t.Context(),
		metav1.ListOptions{FieldSelector: "spec.nodeName=worker-2"})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		evict := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: namespace}}
		if err := l.API().PolicyV1().Evictions(namespace).Evict(t.Context(), evict); err != nil {
			t.Fatal(err)
		}
	}
	l.deployed(t, namespace)
}

// uncordon lets pods run on a node again; one that is gone needs none of it.
func (l *lab) uncordon(t *testing.T, name string) {
	t.Helper()
	ctx, nodes := context.WithoutCancel(t.Context()), l.API().CoreV1().Nodes()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Spec.Unschedulable = false
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == taintToBeDeleted
		})
		_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// shutDown waits until a Node says that its machine is switched off.
func (l *lab) shutDown(t *testing.T, name string) {
	t.Helper()
	eventually(t, "Node "+name+" says that its machine is shut down", func(ctx context.Context) error {
		node, err := l.API().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if isReady(node) || !hasTaint(node, taintShutdown) {
			return fmt.Errorf("ready %t, taints %v", isReady(node), node.Spec.Taints)
		}
		return nil
	})
}

// replaced proves that a new machine with the name of one that is gone becomes a node, whose pods others reach.
func (l *lab) replaced(t *testing.T) {
	t.Helper()
	if err := l.AddNode(t.Context(), "worker-2"); err != nil {
		t.Fatal(err)
	}
	l.nodeUsable(t, "worker-2")
	l.podsTalk(t)
}

// ensureMachine makes a machine that a proof which failed has left out.
func (l *lab) ensureMachine(t *testing.T, name string) {
	t.Helper()
	if l.Node(name) == nil && t.Failed() {
		ctx := context.WithoutCancel(t.Context())
		_ = errors.Join(l.DeleteMachine(ctx, name), l.AddNode(ctx, name))
	}
}

// label sets a label of a node, or removes it.
func (l *lab) label(t *testing.T, node, key string, value *string) {
	t.Helper()
	text := "null"
	if value != nil {
		text = fmt.Sprintf("%q", *value)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, key, text)
	_, err := l.API().CoreV1().Nodes().Patch(context.WithoutCancel(t.Context()), node, types.MergePatchType, patch,
		metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// leadsTo waits until the load balancer with that address has exactly the machines of the nodes as its targets,
// whatever the port, and that of the control plane, which is not excluded.
func (l *lab) leadsTo(t *testing.T, address netip.Addr, nodes ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s has the targets %v", address, nodes), func(ctx context.Context) error {
		var want []string
		for _, name := range append([]string{cluster.ControlPlane}, nodes...) {
			node, err := l.API().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			want = append(want, path.Base(node.Spec.ProviderID))
		}
		slices.Sort(want)
		all := l.Cloud().State().LoadBalancers
		i := slices.IndexFunc(all, func(lb emulator.LoadBalancerState) bool {
			return slices.Contains(lb.Addresses, address.String())
		})
		if i < 0 {
			return errors.New("the cloud has no such load balancer")
		}
		for _, listener := range all[i].Listeners {
			if got := targets(listener); !slices.Equal(got, want) {
				return fmt.Errorf("port %d leads to the machines %v, want %v", listener.Port, got, want)
			}
		}
		return nil
	})
}

// targets are the identities of the machines that a listener leads to.
func targets(listener emulator.ListenerState) (machines []string) {
	for _, target := range listener.Targets {
		machines = append(machines, target.Machine)
	}
	slices.Sort(machines)
	return slices.Compact(machines)
}
