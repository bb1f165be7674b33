package ironcore

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

// reaction is the time that a change in IronCore may take until it is in the cluster: a second, and slack for a machine
// that does other things.
const reaction = 3 * time.Second

func (r *rig) eventually(what string, check func(context.Context) error) {
	r.Helper()
	controlplanetest.Eventually(r, waitLimit, what, check)
}

// reacts waits for a change in IronCore, and measures the time from then on until it is in the cluster.
func (r *rig) reacts(what string, within time.Duration, ironcore, cluster func(context.Context) error) {
	r.Helper()
	every := 10 * time.Millisecond
	r.must(poll.Limits{Every: every, For: waitLimit}.Until(r.Context(), what+" in IronCore", ironcore))
	began := time.Now()
	r.must(poll.Limits{Every: every, For: waitLimit}.Until(r.Context(), what+" in the cluster", cluster))
	took := time.Since(began)
	r.Logf("%s is in the cluster after %s", what, took.Round(time.Millisecond))
	if took > within && !r.faulty {
		r.Errorf("%s is in the cluster after %s, want at most %s", what, took, within)
	}
}

// addNode creates a Node as a kubelet of a cluster with a cloud does.
func (r *rig) addNode(name string) {
	r.Helper()
	node, err := r.cluster.CoreV1().Nodes().Create(r.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized",
			Value: "true", Effect: corev1.TaintEffectNoSchedule}}}}, metav1.CreateOptions{})
	r.must(err)
	r.nodes = append(r.nodes, name)
	r.Cleanup(func() {
		_ = r.cluster.CoreV1().Nodes().Delete(context.WithoutCancel(r.Context()), name, metav1.DeleteOptions{})
	})
	r.setReady(node.Name, corev1.ConditionTrue)
}

// setReady writes what a kubelet reports, or, with Unknown, what Kubernetes writes for one that is silent.
func (r *rig) setReady(name string, status corev1.ConditionStatus) {
	r.Helper()
	patch := fmt.Sprintf(`{"status": {"conditions": [{"type": "Ready", "status": %q, "reason": "Test"}]}}`, status)
	_, err := r.cluster.CoreV1().Nodes().Patch(r.Context(), name, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status")
	r.must(err)
}

func (r *rig) addMachine(name string, number byte) {
	r.Helper()
	r.must(r.lab.AddMachine(r.Context(), r.machine(name, number)))
}

func (r *rig) machine(name string, number byte) role.Machine {
	return role.Machine{Name: name, Pool: r.namespace, Zone: "z1", Region: "r1",
		Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, number})}}
}

// interfaceOf returns the name of the network interface of a machine.
func interfaceOf(machine string) string { return machine + "-primary" }

func (r *rig) node(ctx context.Context, name string) (*corev1.Node, error) {
	return r.cluster.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

// initialised returns an error unless a Node has what its machine has.
func (r *rig) initialised(name, address string) func(context.Context) error {
	return func(ctx context.Context) error {
		node, err := r.node(ctx, name)
		if err != nil {
			return err
		}
		internal := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address}
		return errors.Join(
			equal("addresses", slices.Contains(node.Status.Addresses, internal), true),
			equal("provider ID", node.Spec.ProviderID, "ironcore://"+r.namespace+"/"+name),
			equal("type", node.Labels[corev1.LabelInstanceTypeStable], "class"),
			equal("zone", node.Labels[corev1.LabelTopologyZone], "z1"),
			equal("region", node.Labels[corev1.LabelTopologyRegion], "r1"),
			equal("uninitialized", tainted(node, "node.cloudprovider.kubernetes.io/uninitialized"), false))
	}
}

func tainted(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

func equal[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

// available returns an error unless the network interface of a machine is available.
func (r *rig) available(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		nic, err := r.nic(ctx, name)
		return errors.Join(err, equal("state", nic.Status.State, networkingv1alpha1.NetworkInterfaceStateAvailable))
	}
}

func (r *rig) nic(ctx context.Context, machine string) (*networkingv1alpha1.NetworkInterface, error) {
	interfaces := r.lab.Client().NetworkingV1alpha1().NetworkInterfaces(r.namespace)
	return interfaces.Get(ctx, interfaceOf(machine), metav1.GetOptions{})
}

// serve creates a Service, and returns the name of its load balancer.
func (r *rig) serve(name string, annotations map[string]string) string {
	r.Helper()
	service, err := r.cluster.CoreV1().Services(r.services).Create(r.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": name},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}, metav1.CreateOptions{})
	r.must(err)
	return strings.ReplaceAll(string(service.UID), "-", "")
}

func (r *rig) balancer(ctx context.Context, name string) (*networkingv1alpha1.LoadBalancer, error) {
	balancers := r.lab.Client().NetworkingV1alpha1().LoadBalancers(r.namespace)
	return balancers.Get(ctx, name, metav1.GetOptions{})
}

// addressed returns an error unless a load balancer has an address.
func (r *rig) addressed(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		lb, err := r.balancer(ctx, name)
		return errors.Join(err, equal("has an address", len(lb.Status.IPs) > 0, true))
	}
}

// shown returns an error unless a Service has the address of its load balancer.
func (r *rig) shown(service, balancer string) func(context.Context) error {
	return func(ctx context.Context) error {
		s, err := r.cluster.CoreV1().Services(r.services).Get(ctx, service, metav1.GetOptions{})
		if err != nil {
			return err
		}
		lb, err := r.balancer(ctx, balancer)
		if err != nil {
			return err
		}
		if len(s.Status.LoadBalancer.Ingress) != 1 || len(lb.Status.IPs) != 1 {
			return fmt.Errorf("addresses: %v and %v", s.Status.LoadBalancer.Ingress, lb.Status.IPs)
		}
		return equal("address", s.Status.LoadBalancer.Ingress[0].IP, lb.Status.IPs[0].String())
	}
}

// sends returns an error unless a load balancer sends traffic to these machines.
func (r *rig) sends(balancer string, machines ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		routings := r.lab.Client().NetworkingV1alpha1().LoadBalancerRoutings(r.namespace)
		routing, err := routings.Get(ctx, balancer, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var names []string
		for _, d := range routing.Destinations {
			names = append(names, strings.TrimSuffix(d.TargetRef.Name, "-primary"))
		}
		slices.Sort(names)
		return equal("destinations", fmt.Sprint(names), fmt.Sprint(machines))
	}
}

// routed returns an error unless the network of a Node's pods is routed to its machine.
func (r *rig) routed(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		node, err := r.node(ctx, name)
		if err != nil {
			return err
		}
		nic, err := r.nic(ctx, name)
		if err != nil {
			return err
		}
		unavailable := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionFalse
		})
		return errors.Join(equal("prefixes", fmt.Sprint(nic.Status.Prefixes), fmt.Sprint(node.Spec.PodCIDRs)),
			equal("NetworkUnavailable is False", unavailable, true))
	}
}

// missing returns an error if a Node exists.
func (r *rig) missing(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		node, err := r.node(ctx, name)
		if err == nil {
			return fmt.Errorf("its conditions are %v", node.Status.Conditions)
		}
		return equal("not found", apierrors.IsNotFound(err), true)
	}
}

// machineMissing returns an error if a Machine exists.
func (r *rig) machineMissing(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := r.lab.Client().ComputeV1alpha1().Machines(r.namespace).Get(ctx, name, metav1.GetOptions{})
		return equal("not found", apierrors.IsNotFound(err), true)
	}
}

// inState returns an error unless a machine is in a state.
func (r *rig) inState(name string, state computev1alpha1.MachineState) func(context.Context) error {
	return func(ctx context.Context) error {
		m, err := r.lab.Client().ComputeV1alpha1().Machines(r.namespace).Get(ctx, name, metav1.GetOptions{})
		return errors.Join(err, equal("state", m.Status.State, state))
	}
}

// hasTaint returns an error unless a Node has the taint of a machine that is shut down, or not.
func (r *rig) hasTaint(name string, want bool) func(context.Context) error {
	return func(ctx context.Context) error {
		node, err := r.node(ctx, name)
		return errors.Join(err, equal("taint", tainted(node, "node.cloudprovider.kubernetes.io/shutdown"), want))
	}
}

// names returns the names of load balancers, and of Nodes.
func (r *rig) names(ctx context.Context) (text string, err error) {
	balancers, err := r.lab.Client().NetworkingV1alpha1().LoadBalancers(r.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, lb := range balancers.Items {
		text += fmt.Sprint(lb.Name, " with port ", lb.Spec.Ports[0].Port, ", deleted ", lb.DeletionTimestamp, " ")
	}
	nodes, err := r.cluster.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, node := range nodes.Items {
		text += node.Name + " "
	}
	return text, nil
}
