package store

import (
	"testing"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// TestChangesOfMachines: a change of a field that nobody reads is not reported, any other is.
func TestChangesOfMachines(t *testing.T) {
	later := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for title, tt := range map[string]struct {
		change func(*computev1alpha1.Machine)
		want   string
	}{
		"times": {func(m *computev1alpha1.Machine) {
			m.Status.NetworkInterfaces[0].LastStateTransitionTime = &later
			m.Status.ObservedGeneration++
		}, ""},
		"annotations":   {func(m *computev1alpha1.Machine) { m.Annotations = map[string]string{"seen": "now"} }, ""},
		"another label": {func(m *computev1alpha1.Machine) { m.Labels = map[string]string{"app": "web"} }, ""},
		"state": {func(m *computev1alpha1.Machine) { m.Status.State = computev1alpha1.MachineStateShutdown },
			"Node a with routes"},
		"label of the cluster": {func(m *computev1alpha1.Machine) {
			m.Labels = map[string]string{label.Cluster: "blue"}
		}, "Node a with routes"},
		"network interface": {func(m *computev1alpha1.Machine) {
			m.Status.NetworkInterfaces[0].NetworkInterfaceRef.Name = "another"
		}, "Node a with routes"},
		"pool":  {func(m *computev1alpha1.Machine) { m.Spec.MachinePoolRef.Name = "other" }, "Node a with routes"},
		"class": {func(m *computev1alpha1.Machine) { m.Spec.MachineClassRef.Name = "other" }, "Node a with routes"},
	} {
		t.Run(title, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.addMachine("a", "10.0.0.1")
				r.sync()
				seen := r.changes()
				want(r, "first report", seen(), "all")
				want(r, "exists", r.server.ChangeMachine("a", tt.change), true)
				want(r, "changes", seen(), tt.want)
			})
		})
	}
}

// TestChangesOfInterfaces: the same holds for network interfaces. They are reported as changes of their machine.
func TestChangesOfInterfaces(t *testing.T) {
	prefix := commonv1alpha1.MustParseIPPrefix("10.244.1.0/24")
	for title, tt := range map[string]struct {
		change func(*networkingv1alpha1.NetworkInterface)
		want   string
	}{
		"times": {func(n *networkingv1alpha1.NetworkInterface) {
			now := metav1.Now()
			n.Status.LastStateTransitionTime = &now
		}, ""},
		"state": {func(n *networkingv1alpha1.NetworkInterface) {
			n.Status.State = networkingv1alpha1.NetworkInterfaceStateError
		}, "Node a with routes"},
		"address": {func(n *networkingv1alpha1.NetworkInterface) {
			n.Status.IPs = []commonv1alpha1.IP{commonv1alpha1.MustParseIP("10.0.0.9")}
		}, "Node a with routes"},
		"virtual address": {func(n *networkingv1alpha1.NetworkInterface) {
			n.Status.VirtualIP = commonv1alpha1.MustParseNewIP("192.0.2.9")
		}, "Node a with routes"},
		"prefix": {func(n *networkingv1alpha1.NetworkInterface) {
			n.Spec.Prefixes = []networkingv1alpha1.PrefixSource{{Value: &prefix}}
		}, "Node a with routes"},
		"record of routes": {func(n *networkingv1alpha1.NetworkInterface) {
			n.Annotations = map[string]string{label.Routes: "blue 10.244.1.0/24"}
		}, "Node a with routes"},
		"label": {func(n *networkingv1alpha1.NetworkInterface) { n.Labels = map[string]string{label.Cluster: "blue"} },
			"Node a with routes"},
		"provider ID": {func(n *networkingv1alpha1.NetworkInterface) { n.Spec.ProviderID = "moved" },
			"Node a with routes"},
	} {
		t.Run(title, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.addMachine("a", "10.0.0.1")
				r.sync()
				seen := r.changes()
				want(r, "first report", seen(), "all")
				want(r, "exists", r.server.ChangeNetworkInterface("a-primary", tt.change), true)
				want(r, "changes", seen(), tt.want)
			})
		})
	}
}

// TestChangesOfPoolsAndNetworks: the labels of a pool are those of the Nodes of its machines. A network that is
// replaced concerns all.
func TestChangesOfPoolsAndNetworks(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a", "10.0.0.1")
		r.sync()
		seen := r.changes()
		want(r, "first report", seen(), "all")
		r.server.ChangeMachinePool("pool", func(p *computev1alpha1.MachinePool) {
			p.Status.State = computev1alpha1.MachinePoolStateOffline
		})
		want(r, "status of the pool", seen(), "")
		r.server.ChangeMachinePool("pool", func(p *computev1alpha1.MachinePool) {
			p.Labels[string(commonv1alpha1.TopologyLabelZone)] = "zone-2"
		})
		want(r, "zone of the pool", seen(), "Node a")
		r.server.ChangeNetwork("nodes", func(n *networkingv1alpha1.Network) {
			n.Status.State = networkingv1alpha1.NetworkStatePending
		})
		want(r, "status of the network", seen(), "")
		r.server.DeleteMachine("a") // which uses the network
		want(r, "deletion of the machine", seen(), "Node a with routes")
		r.server.Delete("Network", "nodes")
		want(r, "deletion of the network", seen(), "all")
	})
}
