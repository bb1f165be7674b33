package ironcore

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// find returns the machine of a Node.
func (r *rig) findMachine(c *Cloud, node *corev1.Node) cloud.Machine {
	r.Helper()
	found, err := c.offer().Machines.Find(r.ctx, node, time.Now())
	if err != nil {
		r.Fatal(err)
	}
	return found
}

// internal returns the internal addresses of a machine.
func internal(machine cloud.Machine) string {
	var addresses []string
	for _, one := range machine.Addresses {
		if one.Type == corev1.NodeInternalIP {
			addresses = append(addresses, one.Address)
		}
	}
	return strings.Join(addresses, " ")
}

// TestDefect01_DeletedMachineIsGone: the Node of a deleted machine can be removed, because "gone" is no error.
func TestDefect01_DeletedMachineIsGone(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		machines := r.start().offer().Machines
		r.server.DeleteMachine("a")
		synctest.Wait()
		state, err := machines.State(r.ctx, node("a"), time.Now())
		want(r, "error of State", err, nil)
		want(r, "State", state, cloud.MachineGone)
		state, err = machines.Confirm(r.ctx, node("a"))
		want(r, "error of Confirm", err, nil)
		want(r, "Confirm", state, cloud.MachineGone)
	})
}

// TestDefect05_MachineWithoutPool: a machine that is not scheduled has no pool, and no zone.
func TestDefect05_MachineWithoutPool(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.server.ChangeMachine("a", func(m *computev1alpha1.Machine) { m.Spec.MachinePoolRef = nil })
		found := r.findMachine(r.start(), node("a"))
		want(r, "zone", found.Zone, "")
		want(r, "addresses", internal(found), "10.0.0.1")
	})
}

// TestDefect06_InterfaceWithAnotherName: a network interface that the machine refers to has any name. Its address is
// that of the Node and of the destination, and it gets the label.
func TestDefect06_InterfaceWithAnotherName(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.server.AddMachine(simulator.Machine{Name: "a", Interface: "ordered-before",
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 7})}})
		c := r.start()
		fresh := node("a")
		fresh.Spec.ProviderID = ""
		want(r, "addresses", internal(r.findMachine(c, fresh)), "10.0.0.7")
		r.reconcile(c, service(), "a")
		want(r, "destinations", r.destinations(serviceName), "10.0.0.7")
		r.label(c, fake.NewClientset(node("a")))
		nic, _ := r.server.NetworkInterface("ordered-before")
		want(r, "label", nic.Labels[label.Cluster], testCluster)
	})
}

// TestDefect13_LabelIsSelected: the label of network interfaces is the one that load balancers select: both have the
// clusterName of the cloud-config file.
func TestDefect13_LabelIsSelected(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.selector = true
		r.addMachine("a")
		c := r.start()
		r.reconcile(c, service(), "a")
		want(r, "destinations without the label", r.destinations(serviceName), "")
		r.label(c, fake.NewClientset(node("a")))
		want(r, "destinations", r.destinations(serviceName), "10.0.0.1")
	})
}

// TestDefect24_ReadsDoNotWrite: finding machines writes nothing, and needs no permission to write. The label is written
// once.
func TestDefect24_ReadsDoNotWrite(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.start()
		r.server.Fail(func(request simulator.Request) *metav1.Status {
			if !request.IsWrite() {
				return nil
			}
			denied := apierrors.NewForbidden(schema.GroupResource{Resource: request.Resource}, request.Name, nil)
			return &denied.ErrStatus
		})
		want(r, "addresses", internal(r.findMachine(c, node("a"))), "10.0.0.1")
		_, err := c.offer().Machines.State(r.ctx, node("a"), time.Now())
		want(r, "error of State", err, nil)
		want(r, "writes of reads", len(r.server.Writes()), 0)
		r.server.Fail(nil)
		cluster := fake.NewClientset(node("a"))
		r.label(c, cluster)
		want(r, "writes of labels", strings.Join(r.server.Writes(), ", "),
			"patch machines/a, patch networkinterfaces/a-primary")
		r.touch(cluster, "a")
		want(r, "writes after the Node has changed", len(r.server.Writes()), 2)
	})
}

// touch changes something of a Node that has no meaning for its machine.
func (r *rig) touch(cluster *fake.Clientset, name string) {
	r.Helper()
	r.changeNode(cluster, name, func(n *corev1.Node) { n.Annotations = map[string]string{"touched": "yes"} })
}

func (r *rig) changeNode(cluster *fake.Clientset, name string, change func(*corev1.Node)) {
	r.Helper()
	one, err := cluster.CoreV1().Nodes().Get(r.ctx, name, metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	change(one)
	if _, err := cluster.CoreV1().Nodes().Update(r.ctx, one, metav1.UpdateOptions{}); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
}

// TestDefect25_InterfaceOfAnotherNetwork: only addresses in the network of the cluster are addresses of the Node and
// destinations.
func TestDefect25_InterfaceOfAnotherNetwork(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.server.AddMachine(simulator.Machine{Name: "other", Interface: "storage", Network: "storage-network",
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 9, 9, 9})}})
		r.server.ChangeMachine("a", func(m *computev1alpha1.Machine) {
			m.Spec.NetworkInterfaces = append([]computev1alpha1.NetworkInterface{{Name: "storage",
				NetworkInterfaceSource: computev1alpha1.NetworkInterfaceSource{
					NetworkInterfaceRef: &corev1.LocalObjectReference{Name: "storage"}}}}, m.Spec.NetworkInterfaces...)
		})
		machine, _ := r.server.Machine("a")
		r.server.ChangeNetworkInterface("storage", func(n *networkingv1alpha1.NetworkInterface) {
			n.Spec.MachineRef = commonv1alpha1.NewLocalObjUIDRef(machine)
		})
		c := r.start()
		want(r, "addresses", internal(r.findMachine(c, node("a"))), "10.0.0.1")
		r.reconcile(c, service(), "a")
		want(r, "destinations", r.destinations(serviceName), "10.0.0.1")
	})
}

// TestDefect25_LongNames: names that cannot be values of labels are left out and reported.
func TestDefect25_LongNames(t *testing.T) {
	inBubble(t, func(r *rig) {
		long := strings.Repeat("x", 64)
		r.server.AddMachine(simulator.Machine{Name: "a", Class: "class-" + long, Pool: "pool-" + long,
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 1})}})
		found := r.findMachine(r.start(), node("a"))
		want(r, "type", found.Type, "")
		want(r, "zone", found.Zone, "")
		for i, name := range []string{"class-" + long, "pool-" + long} {
			if !slices.ContainsFunc(found.Problems, func(p cloud.MachineProblem) bool {
				return p.Reason == cloud.InvalidSetting && strings.Contains(p.Message, name)
			}) {
				r.Errorf("problem %d: want one that names %s in %v", i, name, found.Problems)
			}
		}
	})
}
