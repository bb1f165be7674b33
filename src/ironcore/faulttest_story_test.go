package ironcore

import (
	"net/netip"
	"slices"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
)

// story is something that happens in a cluster with the Nodes a and b.
type story struct {
	name string
	// before is what happens before, without disturbance.
	before []func(*wholeCluster)
	// prepare changes what is there before the first process begins; nil changes nothing.
	prepare func(*wholeCluster)
	steps   []func(*wholeCluster)
	// has is a part of what there is in the end, and hasNot is not: see wholeCluster.snapshot.
	has, hasNot string
}

// stories are all of them.
func stories() []story {
	return slices.Concat(serviceStories(), nodeStories(), formerStories())
}

func createService(c *wholeCluster) { c.create(service()) }

func deleteService(c *wholeCluster) { c.remove(service()) }

func edit(changes ...func(*corev1.Service)) func(*wholeCluster) {
	return func(c *wholeCluster) { c.changeService(changes...) }
}

func addPort(s *corev1.Service) {
	s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "tls", Port: 443, Protocol: corev1.ProtocolTCP})
}

func setType(t corev1.ServiceType) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Type = t }
}

// existing is a Service with a load balancer.
func existing() []func(*wholeCluster) { return []func(*wholeCluster){createService} }

const balancerPart = "LoadBalancer " + serviceName

func serviceStories() []story {
	return []story{
		{name: "create", steps: existing(), has: "ports 80/TCP, deleted false, addresses 1"},
		{name: "port", before: existing(), steps: []func(*wholeCluster){edit(addPort)}, has: "ports 80/TCP 443/TCP"},
		{name: "internal", before: existing(), steps: []func(*wholeCluster){edit(internalService("true"))},
			has: balancerPart + ": Internal"},
		{name: "type", before: existing(), steps: []func(*wholeCluster){edit(setType(corev1.ServiceTypeClusterIP)),
			edit(setType(corev1.ServiceTypeLoadBalancer))}, has: balancerPart},
		{name: "delete", before: existing(), steps: []func(*wholeCluster){deleteService}, hasNot: serviceName},
		{name: "recreate", before: existing(), steps: []func(*wholeCluster){func(c *wholeCluster) {
			deleteService(c)
			again := greenService()
			again.Name = "again"
			c.create(again)
		}}, has: "LoadBalancer " + greenName, hasNot: serviceName},
		{name: "deleted by hand", before: existing(), steps: []func(*wholeCluster){func(c *wholeCluster) {
			c.server.Delete("LoadBalancer", serviceName)
			c.network.guard.forget()
		}}, has: balancerPart},
	}
}

func addNode(name string, number int) func(*wholeCluster) {
	return func(c *wholeCluster) {
		c.addMachine(name)
		c.register(name, pods(number))
	}
}

func nodeStories() []story {
	return []story{
		{name: "node joins", before: existing(), steps: []func(*wholeCluster){addNode("c", 3)},
			has: "10.0.0.3 c-primary"},
		{name: "node leaves", before: existing(), steps: []func(*wholeCluster){func(c *wholeCluster) {
			c.remove(node("b"))
		}}, has: balancerPart, hasNot: "10.0.0.2 b-primary"},
		{name: "node is excluded and back", before: existing(), steps: []func(*wholeCluster){
			func(c *wholeCluster) { c.changeNode("b", excludeNode) },
			func(c *wholeCluster) {
				c.changeNode("b", func(n *corev1.Node) { delete(n.Labels, corev1.LabelNodeExcludeBalancers) })
			},
		}, has: "10.0.0.2 b-primary"},
		{name: "machine is deleted", before: existing(), steps: []func(*wholeCluster){func(c *wholeCluster) {
			c.changeNode("b", setUnknown)
			c.server.DeleteMachine("b")
		}}, has: "Node a", hasNot: "Node b"},
		{name: "machine is replaced", before: existing(), steps: []func(*wholeCluster){func(c *wholeCluster) {
			c.server.DeleteMachine("b")
			c.remove(node("b"))
			c.addMachine("b")
			c.register("b", pods(2))
		}}, has: "10.0.0.3 b-primary"},
		{name: "all nodes are replaced", before: existing(), steps: []func(*wholeCluster){
			func(c *wholeCluster) { addNode("c", 3)(c); addNode("d", 4)(c) },
			func(c *wholeCluster) { c.remove(node("a")); c.remove(node("b")) },
		}, has: "10.0.0.3 c-primary", hasNot: "10.0.0.1 a-primary"},
		{name: "address moves", before: existing(), steps: []func(*wholeCluster){moveInterface},
			has: `NetworkInterface b-second: cluster "blue"`},
	}
}

func excludeNode(n *corev1.Node) {
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelNodeExcludeBalancers] = ""
}

// setUnknown lets the kubelet of a Node be silent.
func setUnknown(n *corev1.Node) {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == corev1.NodeReady {
			n.Status.Conditions[i].Status = corev1.ConditionUnknown
		}
	}
}

// moveInterface gives the machine b another network interface, and takes the addresses away from the first one.
func moveInterface(c *wholeCluster) {
	first, _ := c.server.NetworkInterface(interfaceOf("b"))
	second := first.DeepCopy()
	second.ObjectMeta.Name, second.ResourceVersion, second.UID = "b-second", "", ""
	second.Labels, second.Annotations, second.ManagedFields = nil, nil, nil
	second.Spec.Prefixes, second.Spec.ProviderID = nil, "ironcore-net://shoot/b-second/node/uid"
	address := netip.MustParseAddr("10.0.0.99")
	second.Spec.IPs = []networkingv1alpha1.IPSource{{Value: commonv1alpha1.NewIPPtr(address)}}
	second.Status.IPs = []commonv1alpha1.IP{commonv1alpha1.NewIP(address)}
	c.server.Add(second)
	c.server.ChangeMachine("b", func(m *computev1alpha1.Machine) {
		m.Spec.NetworkInterfaces = append(m.Spec.NetworkInterfaces, computev1alpha1.NetworkInterface{Name: "second",
			NetworkInterfaceSource: computev1alpha1.NetworkInterfaceSource{
				NetworkInterfaceRef: &corev1.LocalObjectReference{Name: "b-second"}}})
	})
	c.server.ChangeNetworkInterface(interfaceOf("b"), func(n *networkingv1alpha1.NetworkInterface) {
		n.Status.State, n.Status.IPs = networkingv1alpha1.NetworkInterfaceStatePending, nil
	})
}

// formerStories are about load balancers of the program that this one replaces.
func formerStories() []story {
	former := func(name string) func(*wholeCluster) {
		return func(c *wholeCluster) {
			f := c.rig().former()
			for _, machine := range []string{"a", "b"} {
				f.setLabels(machine)
			}
			s := service()
			f.ensure(name, s, "a", "b")
			pass(provision + time.Second)
			taken, _ := c.server.LoadBalancer(name)
			s.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: taken.Status.IPs[0].String()}}
			c.create(s)
		}
	}
	return []story{
		{name: "take-over and port", prepare: former(serviceName), steps: []func(*wholeCluster){edit(setPort(443))},
			has: "ports 443/TCP"},
		{name: "take-over of legacy name and node", prepare: former(legacyName), steps: []func(*wholeCluster){
			addNode("c", 3)}, has: "LoadBalancer " + legacyName},
		{name: "take-over of legacy name and delete", prepare: former(legacyName), steps: []func(*wholeCluster){
			deleteService}, hasNot: "LoadBalancer " + legacyName},
	}
}
