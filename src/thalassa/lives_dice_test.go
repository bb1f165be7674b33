package thalassa

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// dice draws what people of a cluster do.
type dice struct {
	*rand.Rand
	nodes []string
	// first draws only what was drawn when the lives of TestLivesThatFailed did.
	first bool
	// quota makes the cloud refuse new load balancers because of a quota, or ends that.
	quota func() error
}

// event is a kind of thing that somebody does.
type event struct {
	name string
	draw func() step
}

// step is one thing that somebody does, and its name. What is not possible at its time is not done.
func (d dice) step() (string, step) {
	all := d.events([]string{"web", "api"}[d.IntN(2)])
	drawn := all[d.IntN(len(all))]
	return drawn.name, drawn.draw()
}

// events are all that may happen; those to a Service happen to that of the name. Later ones are appended, so that the
// first draw stays.
func (d dice) events(name string) []event {
	all := []event{
		{"port", func() step { return edited(name, d.port(name)) }},
		{"port", func() step { return edited(name, d.port(name)) }},
		{"node port", func() step { return edited(name, d.nodePort()) }},
		{"policy", func() step { return edited(name, d.policy()) }},
		{"annotation", func() step { return edited(name, d.setting()) }},
		{"endpoints", func() step { return moves(name, d.some()) }},
		{"node", d.node}, {"node", d.node},
		{"exclusion", d.exclusion},
		{"deletion", func() step { return possible(deletes(service("api"))) }},
		{"creation", func() step { return possible(creates(initial("api"))) }},
		{"type", func() step { return edited("api", d.kind()) }},
	}
	if d.first {
		return all
	}
	return append(all, d.later(name)...)
}

// possible is a step that is left out when it is not possible.
func possible(do step) step {
	return func(c *cluster.Cluster) error {
		if err := do(c); !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	}
}

// edited changes a Service, if it is there and has a load balancer.
func edited(name string, change func(*corev1.Service)) step {
	return possible(func(c *cluster.Cluster) error {
		return c.Change(service(name), func(object cluster.Object) {
			if s, ok := object.(*corev1.Service); ok {
				change(s)
			}
		})
	})
}

// initial is a Service of its first moment.
func initial(name string) *corev1.Service {
	s := service(name, 80)
	s.UID = "" // from the cluster: the next one of its name has another
	s.Spec.Ports[0].NodePort = free(name, 0, corev1.ProtocolTCP)
	return s
}

// free is a node port that no other port has; nor have others those that are a multiple of a hundred away.
func free(name string, which int, protocol corev1.Protocol) int32 {
	port := int32(30000 + 10*which)
	if name != "web" {
		port += 1000
	}
	if protocol == corev1.ProtocolUDP {
		port++
	}
	return port
}

// port adds one of a few ports, or takes it away. Port 80 stays.
func (d dice) port(name string) func(*corev1.Service) {
	which := d.IntN(3)
	number, protocol := []int32{443, 8443, 53}[which], []corev1.Protocol{corev1.ProtocolTCP,
		corev1.ProtocolUDP}[d.IntN(2)]
	one := corev1.ServicePort{Name: strings.ToLower(fmt.Sprintf("p%d-%s", number, protocol)), Port: number,
		Protocol: protocol, NodePort: free(name, 1+which, protocol)}
	return func(s *corev1.Service) {
		at := slices.IndexFunc(s.Spec.Ports, func(other corev1.ServicePort) bool {
			return other.Port == number && other.Protocol == protocol
		})
		if at >= 0 {
			s.Spec.Ports = slices.Delete(s.Spec.Ports, at, at+1)
		} else if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			s.Spec.Ports = append(s.Spec.Ports, one)
		}
	}
}

// nodePort gives one of the ports another node port.
func (d dice) nodePort() func(*corev1.Service) {
	which, hundreds := d.IntN(4), int32(d.IntN(10))
	return func(s *corev1.Service) {
		if port := &s.Spec.Ports[which%len(s.Spec.Ports)]; s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			port.NodePort += 100 * (hundreds - port.NodePort/100%10)
		}
	}
}

// policy changes where traffic may go.
func (d dice) policy() func(*corev1.Service) {
	only := d.IntN(2) == 0
	return func(s *corev1.Service) {
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
			return
		}
		if onlyLocal(s); !only {
			s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyCluster, 0
		}
	}
}

// setting changes an annotation, or takes it away.
func (d dice) setting() func(*corev1.Service) {
	all := [][2]string{
		{"idle-connection-timeout", strconv.Itoa(60 * (1 + d.IntN(5)))},
		{"max-connections.80", strconv.Itoa(1 + d.IntN(5))},
		{"loadbalancing-policy", "MAGLEV"}, {"enable-proxy-protocol", "true"}, {"labels", "team=shop"},
		{"name", "front"},
		{"health-check-enabled", "false"}, {"health-check-port", "8080"}, {"instance-size", "lb-gp-small"},
		{"acl-allowed-sources", drawnSources}, {"acl-allowed-sources", drawnSources}, {"create-security-group", "true"},
		{"create-security-group", "true"},
		{"max-connections", "nonsense"},
	}
	one, away := all[d.IntN(len(all))], d.IntN(3) == 0
	return func(s *corev1.Service) {
		if away {
			delete(s.Annotations, label.AnnotationPrefix+one[0])
			return
		}
		s.Annotations[label.AnnotationPrefix+one[0]] = one[1]
	}
}

// drawnSources are those whom a drawn Service lets in, if not everybody.
const drawnSources = "10.0.0.0/8"

// kind makes a Service one inside the cluster, or one with a load balancer.
func (d dice) kind() func(*corev1.Service) {
	within := d.IntN(2) == 0
	return func(s *corev1.Service) {
		switch {
		case within:
			inside(s)
			s.Spec.LoadBalancerClass = nil // as the API server does
			s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = "", 0
		case s.Spec.Type != corev1.ServiceTypeLoadBalancer:
			s.Spec.Type, s.Spec.Ports = corev1.ServiceTypeLoadBalancer, initial(s.Name).Spec.Ports
		}
	}
}

// some are a few nodes, perhaps none.
func (d dice) some() []string {
	return slices.DeleteFunc(slices.Clone(d.nodes), func(string) bool { return d.IntN(2) == 0 })
}

// moves makes these the nodes on which a Service has endpoints.
func moves(name string, nodes []string) step {
	return func(c *cluster.Cluster) error { return c.Replace(endpointsOf(service(name), nodes...)) }
}

// node makes a node join or leave. The first one stays.
func (d dice) node() step {
	node := known(d.nodes[1+d.IntN(len(d.nodes)-1)])[0]
	return func(c *cluster.Cluster) error {
		for _, one := range []*corev1.Node{node, renamed(node)} {
			if err := c.Delete(one); !apierrors.IsNotFound(err) {
				return err
			}
		}
		return c.Create(node)
	}
}

// exclusion takes a node out of all load balancers, or back in. The first one stays.
func (d dice) exclusion() step {
	like := known(d.nodes[1+d.IntN(len(d.nodes)-1)])[0]
	return possible(func(c *cluster.Cluster) error {
		return c.Change(like, func(node cluster.Object) {
			toggle(node, corev1.LabelNodeExcludeBalancers)
		})
	})
}
