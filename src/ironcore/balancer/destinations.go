package balancer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// selection is the machines that should be destinations. Incomplete means that there may be others.
type selection struct {
	machines   []string
	incomplete bool
}

// targets returns the machines that can be destinations, over those that are destinations now: a machine whose network
// interface is not available stays if it is a destination, and is not added otherwise. The same is true of machines
// that do not exist, if these are most of the machines of the Nodes: the list of machines is not believed then.
func (r Request) targets(balancer *networkingv1alpha1.LoadBalancer) selection {
	var usable, unknown, missing []string
	for _, machine := range cloud.MachinesOf(r.Targets.Serving, r.Targets.Joining) {
		interfaces, exists := r.Observed.Interfaces[machine]
		switch {
		case slices.ContainsFunc(interfaces, IsUsable):
			usable = append(usable, machine)
		case exists:
			unknown = append(unknown, machine)
		default:
			missing = append(missing, machine)
		}
	}
	if len(missing) > len(usable)+len(unknown) {
		unknown = slices.Sorted(slices.Values(append(unknown, missing...)))
	}
	targets := r.Targets.Only(usable, unknown)
	if balancer == nil {
		return selection{cloud.MachinesOf(targets.Serving), targets.Incomplete()}
	}
	return selection{targets.Over(r.destinationMachines(r.Observed.Routings[balancer.Name])), targets.Incomplete()}
}

// IsUsable reports whether a network interface can be a destination: IronCore needs its provider ID to find its
// machine.
func IsUsable(one *networkingv1alpha1.NetworkInterface) bool {
	return one.DeletionTimestamp == nil && one.Status.State == networkingv1alpha1.NetworkInterfaceStateAvailable &&
		one.Spec.ProviderID != "" && len(one.Status.IPs) > 0
}

// destinationMachines returns the machines of the destinations, sorted. A destination whose network interface does not
// exist is of no machine.
func (r Request) destinationMachines(routing *networkingv1alpha1.LoadBalancerRouting) []string {
	if routing == nil {
		return nil
	}
	machines := map[string]bool{}
	for _, destination := range routing.Destinations {
		if machine := r.machineOf(destination); machine != "" {
			machines[machine] = true
		}
	}
	return slices.Sorted(maps.Keys(machines))
}

func (r Request) machineOf(destination networkingv1alpha1.LoadBalancerDestination) string {
	if destination.TargetRef == nil {
		return ""
	}
	return r.Observed.MachineOf[destination.TargetRef.Name]
}

// destinations returns the desired destinations: the addresses of the machines, of the IP families of the load
// balancer, sorted and without duplicates. A machine whose network interfaces are not usable now keeps the destinations
// that it has.
func (r Request) destinations(routing *networkingv1alpha1.LoadBalancerRouting, families []corev1.IPFamily,
	targets selection) []networkingv1alpha1.LoadBalancerDestination {
	desired := []networkingv1alpha1.LoadBalancerDestination{}
	for _, machine := range targets.machines {
		addresses := destinationsOf(r.Observed.Interfaces[machine], families)
		if len(addresses) == 0 && routing != nil {
			for _, one := range routing.Destinations {
				if r.machineOf(one) == machine {
					addresses = append(addresses, one)
				}
			}
		}
		desired = append(desired, addresses...)
	}
	// Destinations are never removed because nothing is known of the targets.
	if len(desired) == 0 && targets.incomplete && routing != nil {
		desired = append(desired, routing.Destinations...)
	}
	return slices.CompactFunc(sortedDestinations(desired), equalDestinations)
}

func destinationsOf(interfaces []*networkingv1alpha1.NetworkInterface,
	families []corev1.IPFamily) []networkingv1alpha1.LoadBalancerDestination {
	var destinations []networkingv1alpha1.LoadBalancerDestination
	for _, one := range interfaces {
		if !IsUsable(one) {
			continue
		}
		for _, ip := range one.Status.IPs {
			if slices.Contains(families, ip.Family()) {
				destinations = append(destinations, networkingv1alpha1.LoadBalancerDestination{IP: ip,
					TargetRef: &networkingv1alpha1.LoadBalancerTargetRef{UID: one.UID, Name: one.Name,
						ProviderID: one.Spec.ProviderID}})
			}
		}
	}
	return destinations
}

func sortedDestinations(
	all []networkingv1alpha1.LoadBalancerDestination) []networkingv1alpha1.LoadBalancerDestination {
	return slices.SortedFunc(slices.Values(all), func(a, b networkingv1alpha1.LoadBalancerDestination) int {
		return cmp.Or(a.IP.Compare(b.IP.Addr), cmp.Compare(targetName(a), targetName(b)))
	})
}

func targetName(destination networkingv1alpha1.LoadBalancerDestination) string {
	if destination.TargetRef == nil {
		return ""
	}
	return destination.TargetRef.Name
}

func equalDestinations(a, b networkingv1alpha1.LoadBalancerDestination) bool {
	return a.IP == b.IP && (a.TargetRef == nil) == (b.TargetRef == nil) &&
		(a.TargetRef == nil || *a.TargetRef == *b.TargetRef)
}

// destinationsText returns a difference for people: "destinations: added 10.0.0.3; removed 10.0.0.1 and 10.0.0.2".
func destinationsText(was, is []networkingv1alpha1.LoadBalancerDestination) string {
	var parts []string
	for _, part := range []struct {
		verb string
		all  []string
	}{{"added", addressesOnlyIn(is, was)}, {"removed", addressesOnlyIn(was, is)}} {
		if len(part.all) > 0 {
			parts = append(parts, part.verb+" "+event.Names(part.all))
		}
	}
	if len(parts) == 0 {
		return "destinations: the network interfaces of the addresses have changed"
	}
	return "destinations: " + strings.Join(parts, "; ")
}

// addressesOnlyIn returns the addresses of destinations that others do not have, in their order.
func addressesOnlyIn(destinations, others []networkingv1alpha1.LoadBalancerDestination) []string {
	existing := map[string]bool{}
	for _, one := range others {
		existing[one.IP.String()] = true
	}
	var found []string
	for _, one := range destinations {
		if address := one.IP.String(); !existing[address] {
			found = append(found, address)
		}
	}
	return found
}

// interfaceNotices returns a notice about machines that have no network interface in the network of the cluster.
func interfaceNotices(c Config, r Request) []cloud.Notice {
	var without []string
	for _, one := range r.Targets.Serving {
		if interfaces, exists := r.Observed.Interfaces[one.Machine]; exists && len(interfaces) == 0 {
			without = append(without, one.Node)
		}
	}
	if len(without) == 0 {
		return nil
	}
	return []cloud.Notice{{Topic: cloud.Nodes, Reason: reasonInterface, Message: fmt.Sprintf(
		"The machines of these Nodes have no network interface in the Network %s/%s, so that they get no traffic: %s. "+
			"Attach one, or exclude the Nodes with the label %s.", c.Namespace, c.Network, event.Names(without),
		corev1.LabelNodeExcludeBalancers)}}
}
