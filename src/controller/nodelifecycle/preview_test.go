package nodelifecycle

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// previews returns what a program that only looks says about each Node.
func (r *rig) previews() map[string]Preview {
	r.Helper()
	r.fakeCloud.set(func(c *fakeCloud) { c.listed = nil }) // the list of the process before
	found, err := Previews(r.Context(), r.provider, r.behaviour, r.cluster.Nodes())
	if err != nil {
		r.Fatal(err)
	}
	return found
}

// TestPreviews: it shows the state of each machine, and what the controller then does.
func TestPreviews(t *testing.T) {
	inBubble(t, []string{"a", "b", "c", "d", "e", "f"}, func(r *rig) {
		r.process.End()
		r.want("a ready Node", r.previews()["a"], Preview{State: cloud.MachineRunning})
		r.deleteMachines("b")
		r.fakeCloud.machine("c", cloud.MachineStopped)
		r.stopKubelets("c")
		found := r.previews()
		r.want("a machine that is missing", found["b"].State, cloud.MachineGone)
		r.want("what blocks its removal", found["b"].Blocked, "")
		r.want("its removal", strings.HasPrefix(found["b"].Action, "Its machine does not exist. It is deleted "+
			"if "), true)
		r.want("a machine that is shut down", found["c"].Action,
			"It gets the taint node.cloudprovider.kubernetes.io/shutdown.")
		r.want("Nodes", r.names(), "a b c d e f")
		r.want("taints", r.tainted(), "")
		r.start()
		r.settle()
		r.pass(removalTime)
		r.want("Nodes after the controller ran", r.names(), "a c d e f")
		r.want("taints after it ran", r.tainted(), "c")
		r.fakeCloud.machine("c", cloud.MachineRunning)
		r.want("after the machine runs again", r.previews()["c"].Action,
			"It loses the taint node.cloudprovider.kubernetes.io/shutdown.")
	})
}

// TestPreviewsOfBlockedRemovals: the reasons are those of the controller.
func TestPreviewsOfBlockedRemovals(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*rig)
		want   string
	}{
		"kept": {func(r *rig) {
			r.change("b", func(n *corev1.Node) { n.Labels = map[string]string{"example.com/keep-node": "true"} })
		}, "it has the annotation or label example.com/keep-node"},
		"a dry run":   {func(r *rig) { r.behaviour.DryRun = true }, whyDryRun},
		"too many":    {func(r *rig) { r.deleteMachines("c", "d") }, "no more than 20 % of the Nodes may be deleted"},
		"no machine":  {func(r *rig) { r.deleteMachines("a", "c", "d") }, whyNoMachines},
		"no removals": {func(r *rig) { r.behaviour.MaxRemovals = 0 }, "no Node is ever deleted"},
		"it is drained": {func(r *rig) {
			r.deleteMachines("c", "d")
			r.change("b", func(n *corev1.Node) { n.Spec.Unschedulable = true })
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, []string{"a", "b", "c", "d"}, func(r *rig) {
				r.process.End()
				r.deleteMachines("b")
				test.change(r)
				blocked := r.previews()["b"].Blocked
				if !strings.HasPrefix(blocked, test.want) || (blocked == "") != (test.want == "") {
					r.Errorf("the removal is blocked because %q, want %q", blocked, test.want)
				}
			})
		})
	}
}
