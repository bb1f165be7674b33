package ironcore

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/conformance"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

const (
	testNamespace = "shoot"
	testNetwork   = "nodes"
	testCluster   = "blue"
	provision     = 30 * time.Second
)

// TestConformance: all controllers work with IronCore, whether or not it chooses the destinations of load balancers.
// They react within a second, and never poll.
func TestConformance(t *testing.T) {
	for name, selector := range map[string]bool{"destinations": false, "selector": true} {
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, func(t *testing.T) conformance.Cloud {
				t.Helper()
				return newUserView(t, selector).cloud()
			})
		})
	}
}

// userView is what the users of IronCore see and do.
type userView struct {
	t        testing.TB
	server   *simulator.Simulator
	selector bool
	machines int
}

func newUserView(tb testing.TB, selector bool) *userView {
	tb.Helper()
	return newUserViewOf(tb, selector, simulator.Options{})
}

// newUserViewOf returns what users see of a server with other options.
func newUserViewOf(tb testing.TB, selector bool, options simulator.Options) *userView {
	tb.Helper()
	options.Namespace, options.Network, options.Provision, options.Deletion = testNamespace, testNetwork, provision,
		provision
	return &userView{t: tb, selector: selector, server: simulator.New(options)}
}

func testConfig() cloudconfig.Config {
	c := cloudconfig.Default()
	c.NetworkName, c.ClusterName, c.PrefixName, c.PrefixNameIPv6 = testNetwork, testCluster, "internal", "internal6"
	return c
}

// connect returns the cloud as a new process makes it.
func connect(tb testing.TB, server *simulator.Simulator, c cloudconfig.Config, selector bool) *Cloud {
	tb.Helper()
	api, err := client.New(server.Config(), testNamespace)
	if err != nil {
		tb.Fatal(err)
	}
	return build(c, api, selector)
}

func (u *userView) cloud() conformance.Cloud {
	return conformance.Cloud{
		New: func() *cloud.Cloud {
			c := testConfig()
			c.LoadBalancer.RemoveOrphans = true
			c.InstancesV2.MaxRemovals, c.InstancesV2.RemovalGracePeriod = 100, 10
			return connect(u.t, u.server, c, u.selector).offer()
		},
		Reaction: time.Second, Provision: provision, ReadsPerHour: 0, Reads: u.reads,
		Writes:      func() int { return len(u.server.Writes()) },
		AddMachine:  u.addMachine,
		StopMachine: func(name string) { u.setState(name, computev1alpha1.MachineStateShutdown) },
		StartMachine: func(name string) {
			u.setState(name, computev1alpha1.MachineStateRunning)
		},
		DeleteMachine: func(name string) { u.server.DeleteMachine(name) },
		LoadBalancer:  u.loadBalancer,
		RemoveTarget:  u.removeTarget,
		NextHop:       u.nextHop,
		DeleteRoute: func(destination netip.Prefix) {
			u.server.ChangeNetworkInterface(interfaceOf(u.nextHop(destination)),
				func(n *networkingv1alpha1.NetworkInterface) {
					n.Spec.Prefixes = slices.DeleteFunc(n.Spec.Prefixes, func(s networkingv1alpha1.PrefixSource) bool {
						return s.Value != nil && s.Value.Prefix == destination
					})
				})
		},
	}
}

// reads counts requests that read objects. A watch that begins again is not one.
func (u *userView) reads() int {
	count := 0
	for _, request := range u.server.Requests() {
		if request.Verb == "get" || request.Verb == "list" {
			count++
		}
	}
	return count
}

func (u *userView) addMachine(name string) {
	u.machines++
	u.server.AddMachine(simulator.Machine{Name: name, Addresses: []netip.Addr{
		netip.AddrFrom4([4]byte{10, 0, byte(u.machines >> 8), byte(u.machines)})}})
}

// interfaceOf returns the name of the network interface of a machine that the simulator has added.
func interfaceOf(machine string) string { return machine + "-primary" }

func (u *userView) setState(name string, state computev1alpha1.MachineState) {
	u.server.ChangeMachine(name, func(m *computev1alpha1.Machine) { m.Status.State = state })
}

// find returns the load balancer of a Service.
func (u *userView) find(service types.NamespacedName) (*networkingv1alpha1.LoadBalancer, bool) {
	for _, one := range u.server.LoadBalancers() {
		if label.OwnerOf(one).Service == service {
			return one, true
		}
	}
	return nil, false
}

func (u *userView) loadBalancer(service types.NamespacedName) (conformance.LoadBalancer, bool) {
	balancer, exists := u.find(service)
	if !exists {
		return conformance.LoadBalancer{}, false
	}
	var seen conformance.LoadBalancer
	carried, _ := u.server.CarriedOut(balancer.Name)
	for _, port := range carried.Ports {
		seen.Ports = append(seen.Ports, port.Port)
	}
	if routing, exists := u.server.LoadBalancerRouting(balancer.Name); exists {
		for _, one := range routing.Destinations {
			if nic, exists := u.server.NetworkInterface(one.TargetRef.Name); exists {
				seen.Machines = append(seen.Machines, nic.Spec.MachineRef.Name)
			}
		}
	}
	slices.Sort(seen.Machines)
	return seen, true
}

// removeTarget changes what decides about destinations, behind the back of the controllers.
func (u *userView) removeTarget(service types.NamespacedName, machine string) {
	if u.selector {
		u.server.ChangeNetworkInterface(interfaceOf(machine), func(n *networkingv1alpha1.NetworkInterface) {
			delete(n.Labels, label.Cluster)
		})
		return
	}
	balancer, _ := u.find(service)
	u.server.ChangeLoadBalancerRouting(balancer.Name, func(r *networkingv1alpha1.LoadBalancerRouting) {
		r.Destinations = slices.DeleteFunc(r.Destinations, func(d networkingv1alpha1.LoadBalancerDestination) bool {
			return d.TargetRef.Name == interfaceOf(machine)
		})
	})
}

func (u *userView) nextHop(destination netip.Prefix) string {
	for _, nic := range u.server.NetworkInterfaces() {
		for _, source := range nic.Spec.Prefixes {
			if source.Value != nil && source.Value.Prefix == destination {
				return nic.Spec.MachineRef.Name
			}
		}
	}
	return ""
}
