package ironcore

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// eachElsewhere runs a test with a Node that does not belong to the machine that it names, and a Node of the machine
// own.
func eachElsewhere(t *testing.T, test func(r *rig, c *Cloud, elsewhere *corev1.Node)) {
	t.Helper()
	renamed := node("a") // the machine a is not that of the Node b
	renamed.Name = "b"
	for title, tt := range map[string]struct {
		node  *corev1.Node
		label string // of the machines a and b
	}{"another name": {renamed, ""}, "another cluster": {node("a"), "green"}} {
		t.Run(title, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				for _, name := range []string{"a", "b", "own"} {
					r.addMachine(name)
				}
				if tt.label != "" {
					r.server.ChangeMachine("a", func(m *computev1alpha1.Machine) {
						m.Labels = map[string]string{label.Cluster: tt.label}
					})
				}
				test(r, r.start(), tt.node)
			})
		})
	}
}

// TestElsewhereIsNoMachine: the Node gets nothing of the machine.
func TestElsewhereIsNoMachine(t *testing.T) {
	eachElsewhere(t, func(r *rig, c *Cloud, elsewhere *corev1.Node) {
		_, err := c.offer().Machines.Find(r.ctx, elsewhere, time.Now())
		problem, is := errors.AsType[*cloud.MachineProblem](err)
		if !is {
			r.Fatalf("got %v, want a problem", err)
		}
		want(r, "reason", problem.Reason, cloud.MachineElsewhere)
		wantText(r, "message", problem.Message, "machine a", "delete the Node")
	})
}

// TestElsewhereIsNoRoute: the Node is not a member of the network, so that it gets no route.
func TestElsewhereIsNoRoute(t *testing.T) {
	eachElsewhere(t, func(r *rig, c *Cloud, elsewhere *corev1.Node) {
		members, err := c.offer().Routes.Members(r.ctx, []*corev1.Node{elsewhere, node("own")})
		want(r, "error", err, nil)
		if len(members) != 1 {
			r.Fatalf("got %d members, want 1", len(members))
		}
		want(r, "member", members[0].Node.Name, "own")
		want(r, "is known", members[0].Known && members[0].Confirmed, true)
	})
}

// TestElsewhereIsNoTarget: the machine does not become a destination.
func TestElsewhereIsNoTarget(t *testing.T) {
	eachElsewhere(t, func(r *rig, c *Cloud, elsewhere *corev1.Node) {
		identity, _ := c.balancers.Identify(elsewhere)
		want(r, "identity", identity, "")
		identity, ours := c.balancers.Identify(node("own"))
		want(r, "identity of another Node", identity, "own")
		want(r, "another Node is ours", ours, true)
		chosen := cloud.ChooseTargets([]*corev1.Node{elsewhere, node("own")}, c.balancers.Identify)
		found, err := c.balancers.Diff(r.ctx, service(), chosen, false)
		want(r, "error", err, nil)
		r.apply(c, service(), found.Plan)
		want(r, "destinations", r.destinations(serviceName), "10.0.0.3")
	})
}

// TestElsewhereIsNotLabelled: neither the machine that the Node names nor the one with its name gets the label, and
// their network interfaces do not either.
func TestElsewhereIsNotLabelled(t *testing.T) {
	eachElsewhere(t, func(r *rig, c *Cloud, elsewhere *corev1.Node) {
		r.label(c, fake.NewClientset(elsewhere, node("own")))
		want(r, "writes", strings.Join(r.server.Writes(), ", "),
			"patch machines/own, patch networkinterfaces/own-primary")
		r.server.ChangeMachine("a", func(m *computev1alpha1.Machine) {
			m.Status.State = computev1alpha1.MachineStateShutdown
		})
		synctest.Wait()
		want(r, "writes after a change", len(r.server.Writes()), 2)
	})
}

// TestIdentify: a Node without a provider ID may get one of this cloud, and one of another cloud never does.
func TestIdentify(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.start()
		for id, ours := range map[string]bool{"": true, "ironcore://other/a": true, "aws:///eu-1a/i-1": false} {
			one := node("a")
			one.Spec.ProviderID = id
			identity, is := c.balancers.Identify(one)
			want(r, "identity of "+id, identity, "")
			want(r, "is ours: "+id, is, ours)
		}
	})
}
