package ironcore

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// TestShutdownTaintStays: the Node of a machine that is shut down and then deleted keeps the shutdown taint until it is
// deleted, although the last list of machines has the machine as it was while it ran.
func TestShutdownTaintStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newWholeCluster(newUserView(t, false), testConfig())
		for i, name := range []string{"a", "b", "c"} {
			addNode(name, i+1)(c)
		}
		c.begin()
		defer func() { c.stop() }()
		pass(20 * time.Minute)
		c.changeNode("b", setUnknown)
		c.server.DeleteMachine("c") // therefore, all machines are listed
		pass(10 * time.Second)
		c.setState("b", computev1alpha1.MachineStateShutdown)
		pass(10 * time.Second)
		want(t, "Node b", c.shutDown("b"), "tainted")
		c.server.DeleteMachine("b")
		for range 60 {
			pass(time.Second)
			got := c.shutDown("b")
			if got == "deleted" {
				return
			}
			want(t, "Node b", got, "tainted")
		}
		t.Error("Node b is not deleted")
	})
}

// shutDown reports whether a Node has the shutdown taint, or is deleted.
func (c *wholeCluster) shutDown(name string) string {
	nodes := c.objects.Nodes()
	at := slices.IndexFunc(nodes, func(n *corev1.Node) bool { return n.Name == name })
	switch {
	case at < 0:
		return "deleted"
	case slices.ContainsFunc(nodes[at].Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == cloudproviderapi.TaintNodeShutdown
	}):
		return "tainted"
	}
	return "not tainted"
}
