package ironcore

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// dice draws what happens in a cluster.
type dice struct{ *rand.Rand }

// event is a kind of thing that happens. What is not possible at its time does not happen.
type event struct {
	name string
	draw func(*lifeCluster) func(*lifeCluster)
}

// step returns one thing that happens, and its name.
func (d *dice) step(c *lifeCluster) (string, func(*lifeCluster)) {
	all := d.events()
	drawn := all[d.IntN(len(all))]
	return drawn.name, drawn.draw(c)
}

// events are all that may happen.
func (d *dice) events() []event {
	return []event{
		{"port", d.port}, {"port", d.port}, {"internal", d.internal}, {"type", d.kind},
		{"Service", d.service}, {"Service", d.service}, {"Service again", d.again},
		{"Node", d.node}, {"Node", d.node}, {"machine", d.machine}, {"machine", d.machine}, {"power", d.power},
		{"exclusion", d.exclusion}, {"exclusion", d.exclusion},
		{"ports by hand", d.balancerByHand}, {"destinations by hand", d.routingByHand},
		{"deletion by hand", d.deletionByHand}, {"route by hand", d.routeByHand}, {"prefix", d.prefix},
		{"process ends", d.crash}, {"process is replaced", d.relieve}, {"outage", d.outage},
		{"watches expire", func(*lifeCluster) func(*lifeCluster) {
			return func(c *lifeCluster) { c.server.ExpireWatches() }
		}},
	}
}

// service returns a Service of its first moment.
func (c *lifeCluster) service(name string) *corev1.Service {
	c.uids++
	return service(func(s *corev1.Service) {
		s.Name = name
		s.UID = types.UID(fmt.Sprintf("%s0000-0000-0000-0000-%012d", c.names[0], c.uids))
	})
}

// edit changes a Service, if it exists.
func (c *lifeCluster) edit(name string, change func(*corev1.Service)) {
	like := service(func(s *corev1.Service) { s.Name = name })
	_ = c.objects.Change(like, func(object cluster.Object) { // it may be gone
		if s, is := object.(*corev1.Service); is {
			change(s)
		}
	})
}

// either draws one of the two Services.
func (d *dice) either() string { return []string{"web", "api"}[d.IntN(2)] }

// some draws one of the machines that may be missing.
func (d *dice) some(c *lifeCluster) string { return c.names[always+d.IntN(len(c.names)-always)] }

// port adds a port, or removes it. Port 80 stays.
func (d *dice) port(*lifeCluster) func(*lifeCluster) {
	name, number := d.either(), []int32{443, 8443, 53}[d.IntN(3)]
	protocol := []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP}[d.IntN(2)]
	return func(c *lifeCluster) {
		c.edit(name, func(s *corev1.Service) {
			same := func(p corev1.ServicePort) bool { return p.Port == number && p.Protocol == protocol }
			if slices.ContainsFunc(s.Spec.Ports, same) {
				s.Spec.Ports = slices.DeleteFunc(s.Spec.Ports, same)
				return
			}
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: number, Protocol: protocol,
				Name: strings.ToLower(fmt.Sprintf("p%d-%s", number, protocol))})
		})
	}
}

// internal makes a load balancer internal, or public.
func (d *dice) internal(*lifeCluster) func(*lifeCluster) {
	name := d.either()
	return func(c *lifeCluster) {
		c.edit(name, func(s *corev1.Service) {
			if s.Annotations[label.Internal] != "" {
				delete(s.Annotations, label.Internal)
				return
			}
			internalService("true")(s)
		})
	}
}

// kind makes Service api one without a load balancer, or with one.
func (d *dice) kind(*lifeCluster) func(*lifeCluster) {
	to := []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeLoadBalancer}[d.IntN(2)]
	return func(c *lifeCluster) { c.edit("api", setType(to)) }
}

// service creates Service api, or deletes it.
func (d *dice) service(*lifeCluster) func(*lifeCluster) {
	return func(c *lifeCluster) {
		if one := c.service("api"); c.objects.Create(one) != nil {
			_ = c.objects.Delete(one) // it may be gone
		}
	}
}

// again deletes Service api, and creates another one of its name if the first one is gone at once.
func (d *dice) again(*lifeCluster) func(*lifeCluster) {
	return func(c *lifeCluster) {
		one := c.service("api")
		_ = c.objects.Delete(one) // there may be none
		_ = c.objects.Create(one) // it may exist until its load balancer is gone
	}
}

// node creates a Node and its machine, or deletes the Node.
func (d *dice) node(c *lifeCluster) func(*lifeCluster) {
	name := d.some(c)
	return func(c *lifeCluster) {
		if c.hasNode(name) {
			_ = c.objects.Delete(node(name)) // it may be gone
			return
		}
		c.join(name)
	}
}

// machine deletes a machine, or creates another one of the name. Its kubelet is silent meanwhile.
func (d *dice) machine(c *lifeCluster) func(*lifeCluster) {
	name := d.some(c)
	return func(c *lifeCluster) {
		if c.server.DeleteMachine(name) {
			_ = c.objects.ChangeNode(name, setUnknown) // it may have no Node
			return
		}
		_ = c.objects.Delete(node(name)) // a kubelet registers its Node again
		c.join(name)
	}
}

// power switches a machine off, or on.
func (d *dice) power(c *lifeCluster) func(*lifeCluster) {
	name := d.some(c)
	return func(c *lifeCluster) {
		machine, exists := c.server.Machine(name)
		switch {
		case !exists:
		case machine.Status.State == computev1alpha1.MachineStateRunning:
			c.setState(name, computev1alpha1.MachineStateShutdown)
			_ = c.objects.ChangeNode(name, setUnknown) // it may have no Node
		default:
			c.setState(name, computev1alpha1.MachineStateRunning)
			_ = c.objects.ChangeNode(name, setReady) // it may have no Node
		}
	}
}

// setReady lets the kubelet of a Node report again.
func setReady(n *corev1.Node) {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == corev1.NodeReady {
			n.Status.Conditions[i].Status = corev1.ConditionTrue
		}
	}
}

// exclusion excludes a Node from load balancers, or ends that.
func (d *dice) exclusion(c *lifeCluster) func(*lifeCluster) {
	name := d.some(c)
	return func(c *lifeCluster) {
		_ = c.objects.ChangeNode(name, func(n *corev1.Node) { // it may be gone
			if _, excluded := n.Labels[corev1.LabelNodeExcludeBalancers]; excluded {
				delete(n.Labels, corev1.LabelNodeExcludeBalancers)
				return
			}
			excludeNode(n)
		})
	}
}

// balancers returns the load balancers of the cluster in IronCore.
func (c *lifeCluster) balancers() (all []*networkingv1alpha1.LoadBalancer) {
	for _, one := range c.server.LoadBalancers() {
		if label.OwnerOf(one).Cluster == c.config.ClusterName && !strings.HasPrefix(one.Name, foreign) {
			all = append(all, one)
		}
	}
	return all
}

// byHand lets a person change one of the load balancers.
func (d *dice) byHand(change func(c *lifeCluster, balancer string)) func(*lifeCluster) {
	which := d.IntN(2)
	return func(c *lifeCluster) {
		if all := c.balancers(); which < len(all) {
			change(c, all[which].Name)
		}
	}
}

// balancerByHand changes the ports of a load balancer in IronCore.
func (d *dice) balancerByHand(*lifeCluster) func(*lifeCluster) {
	return d.byHand(func(c *lifeCluster, balancer string) {
		c.server.ChangeLoadBalancer(balancer, func(lb *networkingv1alpha1.LoadBalancer) {
			lb.Spec.Ports = []networkingv1alpha1.LoadBalancerPort{{Port: 22}}
		})
	})
}

// routingByHand removes all destinations but one. With a selector, IronCore itself changes them.
func (d *dice) routingByHand(*lifeCluster) func(*lifeCluster) {
	return d.byHand(func(c *lifeCluster, balancer string) {
		if c.selector {
			return
		}
		c.server.ChangeLoadBalancerRouting(balancer, func(r *networkingv1alpha1.LoadBalancerRouting) {
			r.Destinations = r.Destinations[:min(1, len(r.Destinations))]
		})
	})
}

// deletionByHand deletes a load balancer in IronCore.
func (d *dice) deletionByHand(*lifeCluster) func(*lifeCluster) {
	return d.byHand(func(c *lifeCluster, balancer string) { c.server.Delete("LoadBalancer", balancer) })
}

// routeByHand removes all static prefixes of a network interface.
func (d *dice) routeByHand(c *lifeCluster) func(*lifeCluster) {
	name := d.some(c)
	return func(c *lifeCluster) {
		c.server.ChangeNetworkInterface(interfaceOf(name), func(n *networkingv1alpha1.NetworkInterface) {
			n.Spec.Prefixes = slices.DeleteFunc(n.Spec.Prefixes, func(s networkingv1alpha1.PrefixSource) bool {
				return s.Value != nil
			})
		})
	}
}

// prefix adds a prefix of a person to a network interface: a static one, or an ephemeral one.
func (d *dice) prefix(c *lifeCluster) func(*lifeCluster) {
	name, number, generated := d.some(c), d.IntN(256), d.IntN(2) == 0
	return func(c *lifeCluster) {
		c.server.ChangeNetworkInterface(interfaceOf(name), func(n *networkingv1alpha1.NetworkInterface) {
			one := static(netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, byte(number), 0}), 24))
			if generated {
				one = ephemeral()
			}
			n.Spec.Prefixes = append(n.Spec.Prefixes, one)
		})
	}
}

// crash ends the process of a cluster, relieve stops it in good order.
func (*dice) crash(*lifeCluster) func(*lifeCluster) {
	return func(c *lifeCluster) { c.process.end(errDied) }
}

func (*dice) relieve(*lifeCluster) func(*lifeCluster) {
	return func(c *lifeCluster) { c.process.relieve(errRelieved) }
}

// outage makes IronCore unreachable for the cluster, or ends that.
func (*dice) outage(*lifeCluster) func(*lifeCluster) {
	return func(c *lifeCluster) { c.outage.Store(!c.outage.Load()) }
}
