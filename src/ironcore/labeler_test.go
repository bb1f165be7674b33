package ironcore

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// withSelector runs a test with the machines a and b, that have the label of the cluster. IronCore chooses the
// destinations.
func withSelector(t *testing.T, test func(r *rig, c *Cloud)) {
	t.Helper()
	inBubble(t, func(r *rig) {
		r.selector = true
		for _, name := range []string{"a", "b"} {
			r.addMachine(name)
			r.former().setLabels(name)
		}
		r.server.ForgetRequests()
		test(r, r.start())
	})
}

// wantLabel checks the label of the network interface of a machine.
func (r *rig) wantLabel(what, machine, wanted string) {
	r.Helper()
	one, _ := r.server.NetworkInterface(interfaceOf(machine))
	want(r, "label of "+machine+" "+what, one.Labels[label.Cluster], wanted)
}

// touchMachine changes a machine, so that the labeler gets an event.
func (r *rig) touchMachine(name string) {
	r.Helper()
	r.setState(name, computev1alpha1.MachineStateShutdown)
	synctest.Wait()
	r.setState(name, computev1alpha1.MachineStateRunning)
	synctest.Wait()
}

// deleteNode deletes a Node.
func (r *rig) deleteNode(cluster *fake.Clientset, name string) {
	r.Helper()
	if err := cluster.CoreV1().Nodes().Delete(r.ctx, name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
}

// TestLabelOfNodeThatWasNotSeen: a network interface keeps the label if the Node of its machine has never been seen: it
// may be created later.
func TestLabelOfNodeThatWasNotSeen(t *testing.T) {
	withSelector(t, func(r *rig, c *Cloud) {
		r.label(c, fake.NewClientset(node("b")))
		r.touchMachine("a")
		pass(time.Hour)
		r.wantLabel("without a Node", "a", testCluster)
		want(r, "writes", len(r.server.Writes()), 0)
	})
}

// TestLabelBeforeNodesAreListed: nothing is written before the Nodes have been listed.
func TestLabelBeforeNodesAreListed(t *testing.T) {
	withSelector(t, func(r *rig, c *Cloud) {
		cluster, listed := fake.NewClientset(node("a"), node("b")), make(chan struct{})
		cluster.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			<-listed
			return false, nil, nil
		})
		factory := informers.NewSharedInformerFactory(cluster, 0)
		c.labeler.setInformers(factory)
		factory.StartWithContext(r.ctx)
		go c.labeler.run(r.ctx)
		pass(time.Second)
		r.touchMachine("a")
		c.labeler.queue.Add("a")
		pass(time.Minute)
		for _, name := range []string{"a", "b"} {
			r.wantLabel("before the list", name, testCluster)
			want(r, "error before the list", c.labeler.label(r.ctx, name), nil)
		}
		want(r, "writes", len(r.server.Writes()), 0)
		close(listed)
		pass(time.Minute)
		want(r, "Nodes are listed", c.labeler.informer.HasSynced(), true)
		want(r, "writes after the list", len(r.server.Writes()), 0)
	})
}

// TestLabelOfDeletedNode: the label is removed after the Node was deleted or excluded, and added when it is back.
func TestLabelOfDeletedNode(t *testing.T) {
	withSelector(t, func(r *rig, c *Cloud) {
		cluster := fake.NewClientset(node("a"), node("b"))
		r.label(c, cluster)
		r.changeNode(cluster, "a", func(n *corev1.Node) {
			n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
		})
		r.wantLabel("of an excluded Node", "a", "")
		r.changeNode(cluster, "a", func(n *corev1.Node) { n.Labels = nil })
		r.wantLabel("of a Node that is not excluded any more", "a", testCluster)
		r.deleteNode(cluster, "a")
		r.wantLabel("of a deleted Node", "a", "")
		machine, _ := r.server.Machine("a")
		want(r, "label of the machine", machine.Labels[label.Cluster], testCluster)
		_, err := cluster.CoreV1().Nodes().Create(r.ctx, node("a"), metav1.CreateOptions{})
		want(r, "error", err, nil)
		synctest.Wait()
		r.wantLabel("of a Node that was created again", "a", testCluster)
	})
}

// TestLastLabelStays: without any label, the load balancers would have no destinations.
func TestLastLabelStays(t *testing.T) {
	withSelector(t, func(r *rig, c *Cloud) {
		cluster := fake.NewClientset(node("a"), node("b"))
		r.label(c, cluster)
		r.deleteNode(cluster, "a")
		r.deleteNode(cluster, "b")
		r.wantLabel("of the first Node", "a", "")
		r.wantLabel("of the last Node", "b", testCluster)
		_, err := cluster.CoreV1().Nodes().Create(r.ctx, node("a"), metav1.CreateOptions{})
		want(r, "error", err, nil)
		synctest.Wait()
		r.wantLabel("of a new Node", "a", testCluster)
		r.wantLabel("that is not the last any more", "b", "")
	})
}

// TestLabelsAfterOutage: labels that could not be written in an outage are written soon after its end, however long it
// was, and those of deleted Nodes are removed.
func TestLabelsAfterOutage(t *testing.T) {
	withSelector(t, func(r *rig, c *Cloud) {
		r.addMachine("c")
		cluster := fake.NewClientset(node("a"), node("b"))
		r.label(c, cluster)
		r.server.Fail(func(simulator.Request) *metav1.Status { return simulator.Fault(simulator.Unreachable) })
		_, err := cluster.CoreV1().Nodes().Create(r.ctx, node("c"), metav1.CreateOptions{})
		want(r, "error", err, nil)
		r.deleteNode(cluster, "a")
		pass(time.Hour)
		r.server.Fail(nil)
		pass(afterOutage)
		r.wantLabel("after the outage", "c", testCluster)
		r.wantLabel("of a Node that was deleted in the outage", "a", "")
	})
}

// TestDeletedNodesAreForgotten: when its machine is gone, too, nothing of a deleted Node is remembered.
func TestDeletedNodesAreForgotten(t *testing.T) {
	withSelector(t, func(r *rig, c *Cloud) {
		cluster := fake.NewClientset(node("a"), node("b"))
		r.label(c, cluster)
		r.deleteNode(cluster, "a")
		want(r, "remembered while the machine exists", len(c.labeler.deleted), 1)
		r.server.DeleteMachine("a")
		synctest.Wait()
		r.server.DeleteMachine("b")
		synctest.Wait()
		r.deleteNode(cluster, "b")
		want(r, "remembered at the end", len(c.labeler.deleted), 0)
	})
}

// TestLabelStaysWithoutSelector: nothing reads the label if this program chooses the destinations.
func TestLabelStaysWithoutSelector(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.addMachine("b")
		c, cluster := r.start(), fake.NewClientset(node("a"), node("b"))
		r.label(c, cluster)
		r.deleteNode(cluster, "a")
		r.wantLabel("of a deleted Node", "a", testCluster)
	})
}

// labelBefore labels the machines of Nodes in an earlier process, and returns what ends it.
func (r *rig) labelBefore(nodes ...runtime.Object) (end func()) {
	r.Helper()
	first := *r
	ctx, stop := context.WithCancel(r.ctx)
	first.ctx = ctx
	first.label(first.start(), fake.NewClientset(nodes...))
	return func() { stop(); synctest.Wait() }
}

// TestLabelOfNodeDeletedBetweenProcesses: a process removes a label that an earlier one has added, although the Node
// was deleted while no process ran. It keeps the one that another program has added.
func TestLabelOfNodeDeletedBetweenProcesses(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.selector = true
		for _, name := range []string{"a", "b", "c"} {
			r.addMachine(name)
		}
		r.former().setLabels("c")
		r.labelBefore(node("a"), node("b"), node("c"))()
		r.wantLabel("of the first process", "a", testCluster)
		r.server.ForgetRequests()
		r.label(r.start(), fake.NewClientset(node("b")))
		r.wantLabel("of a Node that is gone", "a", "")
		r.wantLabel("of a Node that exists", "b", testCluster)
		r.wantLabel("of another program", "c", testCluster)
		nic, _ := r.server.NetworkInterface(interfaceOf("a"))
		want(r, "annotation", nic.Annotations[label.Node], "")
		want(r, "writes", len(r.server.Writes()), 1)
	})
}

// TestLabelsStayIfMostNodesAreMissing: the cluster has been restored or replaced while no process ran, and its machines
// still have traffic.
func TestLabelsStayIfMostNodesAreMissing(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.selector = true
		names := []string{"a", "b", "c", "d"}
		for _, name := range names {
			r.addMachine(name)
		}
		r.labelBefore(node("a"), node("b"), node("c"), node("d"))()
		r.server.ForgetRequests()
		r.label(r.start(), fake.NewClientset(node("a")))
		pass(time.Hour)
		for _, name := range names {
			r.wantLabel("whether its Node is there or not", name, testCluster)
		}
		want(r, "writes", len(r.server.Writes()), 0)
	})
}

// TestLabelIsRemovedWhenFewNodesAreMissing: the process that has kept labels because most Nodes are missing removes
// them when the other Nodes are back.
func TestLabelIsRemovedWhenFewNodesAreMissing(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.selector = true
		for _, name := range []string{"a", "b", "c"} {
			r.addMachine(name)
		}
		r.labelBefore(node("a"), node("b"), node("c"))()
		cluster := fake.NewClientset(node("a"))
		r.label(r.start(), cluster)
		pass(time.Hour)
		r.wantLabel("while most are missing", "c", testCluster)
		_, err := cluster.CoreV1().Nodes().Create(r.ctx, node("b"), metav1.CreateOptions{})
		want(r, "error", err, nil)
		synctest.Wait()
		r.wantLabel("of a Node that is back", "b", testCluster)
		r.wantLabel("of the one that is missing", "c", "")
	})
}

// TestLastUsableLabelStays: IronCore sends nothing to a network interface that is not available.
func TestLastUsableLabelStays(t *testing.T) {
	withSelector(t, func(r *rig, c *Cloud) {
		cluster := fake.NewClientset(node("a"), node("b"))
		r.label(c, cluster)
		r.server.ChangeNetworkInterface(interfaceOf("b"), func(n *networkingv1alpha1.NetworkInterface) {
			n.Status.State = networkingv1alpha1.NetworkInterfaceStatePending
		})
		synctest.Wait()
		r.deleteNode(cluster, "a")
		r.wantLabel("of the last one that is available", "a", testCluster)
	})
}

// attach adds a machine that has a network interface, by reference, which exists already.
func (r *rig) attach(machine, nic string) {
	r.Helper()
	r.server.AddMachine(simulator.Machine{Name: machine, Interface: nic,
		Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.99")}})
	one, _ := r.server.Machine(machine)
	r.server.ChangeNetworkInterface(nic, func(n *networkingv1alpha1.NetworkInterface) {
		n.Spec.MachineRef = commonv1alpha1.NewLocalObjUIDRef(one)
	})
	synctest.Wait()
}

// TestLabelOfInterfaceThatIsLeft: a network interface that outlives its machine loses the label.
func TestLabelOfInterfaceThatIsLeft(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.selector = true
		r.addMachine("b")
		r.attach("a", "shared")
		cluster := fake.NewClientset(node("a"), node("b"))
		r.label(r.start(), cluster)
		r.wantInterface("of a Node", "shared", testCluster, "a")
		r.server.DeleteMachine("a")
		pass(provision)
		r.wantInterface("without a machine", "shared", "", "")
		r.wantLabel("of the other Node", "b", testCluster)
	})
}

// TestLabelOfInterfaceThatMoves: the label goes with a network interface from Node to Node, and is removed when its
// machine has no Node, also if it was moved while no process ran.
func TestLabelOfInterfaceThatMoves(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.selector = true
		r.addMachine("c")
		r.attach("a", "shared")
		end := r.labelBefore(node("a"), node("b"), node("c"))
		r.server.DeleteMachine("a")
		r.attach("b", "shared")
		pass(provision)
		r.wantInterface("of another Node", "shared", testCluster, "b")
		end()
		r.server.DeleteMachine("b")
		r.attach("x", "shared")
		r.label(r.start(), fake.NewClientset(node("a"), node("c")))
		pass(provision)
		r.wantInterface("of a machine without a Node", "shared", "", "")
	})
}

// wantInterface checks the label of a network interface, and for which Node it got it.
func (r *rig) wantInterface(what, name, cluster, node string) {
	r.Helper()
	one, _ := r.server.NetworkInterface(name)
	want(r, "label of "+name+" "+what, one.Labels[label.Cluster], cluster)
	want(r, "Node of "+name+" "+what, one.Annotations[label.Node], node)
}
