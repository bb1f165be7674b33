package ironcore

import (
	"strings"
	"testing"

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

// TestNodesOfOtherMachines: the Node is not a member of the network, so that it gets no route, the machine does not
// become a destination, and neither it nor the machine with the name of the Node gets the label.
func TestNodesOfOtherMachines(t *testing.T) {
	eachElsewhere(t, func(r *rig, c *Cloud, elsewhere *corev1.Node) {
		nodes := []*corev1.Node{elsewhere, node("own")}
		members, err := c.offer().Routes.Members(r.ctx, nodes)
		want(r, "error of Members", err, nil)
		if len(members) != 1 {
			r.Fatalf("got %d members, want 1", len(members))
		}
		want(r, "member", members[0].Node.Name, "own")
		found, err := c.balancers.Diff(r.ctx, service(), cloud.ChooseTargets(nodes, c.balancers.Identify), false)
		want(r, "error of Diff", err, nil)
		r.apply(c, service(), found.Plan)
		want(r, "destinations", r.destinations(serviceName), "10.0.0.3")
		r.server.ForgetRequests()
		r.label(c, fake.NewClientset(elsewhere, node("own")))
		r.touchMachine("a")
		want(r, "writes of labels", strings.Join(r.server.Writes(), ", "),
			"patch machines/own, patch networkinterfaces/own-primary")
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
