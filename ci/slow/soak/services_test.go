package soak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// serviceNames are the names of all Services that there may be.
func serviceNames() []string { return []string{"web", "api", "shop", "mail"} }

// sources are those that a Service lets in, if not everybody.
const sources = "10.0.0.0/8"

// create draws a Service. It has endpoints on the first node.
func (d dice) create(name string) step {
	number := int32(80 + d.IntN(3))
	return step{fmt.Sprintf("create Service %s with port %d", name, number), func(ctx context.Context, s *soak) error {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{port(number)}}}
		_, err := s.api.CoreV1().Services(s.namespace).Create(ctx, service, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) { // it is there, or is being deleted
			return nil
		}
		if err != nil {
			return err
		}
		return s.setEndpoints(ctx, name, allNodes()[:1])
	}}
}

func port(number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: "p" + strconv.Itoa(int(number)), Port: number, Protocol: corev1.ProtocolTCP}
}

// setEndpoints makes these the nodes on which a Service has an endpoint.
func (s *soak) setEndpoints(ctx context.Context, name string, nodes []string) error {
	slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}}}
	for i, node := range nodes {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{NodeName: &node,
			Addresses: []string{fmt.Sprintf("10.9.0.%d", i+1)}})
	}
	slices := s.api.DiscoveryV1().EndpointSlices(s.namespace)
	_, err := slices.Update(ctx, slice, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = slices.Create(ctx, slice, metav1.CreateOptions{})
	}
	return err
}

// remove deletes a Service.
func (dice) remove(name string) step {
	return step{"delete Service " + name, func(ctx context.Context, s *soak) error { return s.remove(ctx, name) }}
}

func (s *soak) remove(ctx context.Context, name string) error {
	err := s.api.CoreV1().Services(s.namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// again deletes a Service, and creates another one of its name as soon as that is possible.
func (d dice) again(name string) step {
	create := d.create(name)
	return step{"delete Service " + name + ", wait, " + create.name, func(ctx context.Context, s *soak) error {
		if err := s.remove(ctx, name); err != nil {
			return err
		}
		// Under faults it may be there for long: then the rest is left out.
		_ = s.briefly(ctx, func(ctx context.Context) error {
			_, err := s.api.CoreV1().Services(s.namespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				return errors.New("it is there")
			}
			return nil
		})
		return create.do(ctx, s)
	}}
}

// edit changes a Service with a load balancer, if it is there.
func edit(what, name string, change func(*corev1.Service)) step {
	return step{what + " of Service " + name, func(ctx context.Context, s *soak) error {
		all := s.api.CoreV1().Services(s.namespace)
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			service, err := all.Get(ctx, name, metav1.GetOptions{})
			if err != nil || service.DeletionTimestamp != nil {
				return err
			}
			change(service)
			_, err = all.Update(ctx, service, metav1.UpdateOptions{})
			return err
		})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}}
}

// ports adds one of a few ports, or takes it away. One stays.
func (d dice) ports(name string) step {
	one := port(pick(d, int32(80), 81, 82, 443, 8443))
	if d.IntN(3) == 0 {
		one.Name, one.Protocol = one.Name+"-udp", corev1.ProtocolUDP
	}
	return edit("port "+one.Name, name, func(s *corev1.Service) {
		at := slices.IndexFunc(s.Spec.Ports, func(other corev1.ServicePort) bool { return other.Name == one.Name })
		switch {
		case at < 0:
			s.Spec.Ports = append(s.Spec.Ports, one)
		case len(s.Spec.Ports) > 1:
			s.Spec.Ports = slices.Delete(s.Spec.Ports, at, at+1)
		}
	})
}

// annotation sets an annotation, or takes it away.
func (d dice) annotation(name string) step {
	one := pick(d, [][2]string{
		{"idle-connection-timeout", strconv.Itoa(60 * (1 + d.IntN(5)))}, {"loadbalancing-policy", "MAGLEV"},
		{"enable-proxy-protocol", "true"}, {"labels", "team=shop"}, {"name", "front"},
		{"health-check-enabled", "false"}, {"acl-allowed-sources", sources}, {"acl-allowed-sources", sources},
		{"create-security-group", "true"}, {"create-security-group", "true"}, {"reserved-ip", "ip-" + name},
		{"reserved-ip", "ip-" + name}, {"node-selector", poolLabel}, {"max-connections", "nonsense"},
		{"max-targets", pick(d, "0", "1", "1", "2", "2", "nonsense")}, {"max-targets", pick(d, "1", "2")},
	}...)
	away := d.IntN(3) == 0
	return edit(fmt.Sprintf("annotation %s=%s, away: %t,", one[0], one[1], away), name, func(s *corev1.Service) {
		s.Annotations = maps.Clone(s.Annotations)
		delete(s.Annotations, label.AnnotationPrefix+one[0])
		if !away {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, label.AnnotationPrefix+one[0], one[1])
		}
	})
}

// policy changes where traffic may go.
func (d dice) policy(name string) step {
	policy := pick(d, corev1.ServiceExternalTrafficPolicyLocal, corev1.ServiceExternalTrafficPolicyCluster)
	return edit("traffic policy "+string(policy), name, func(s *corev1.Service) {
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			s.Spec.ExternalTrafficPolicy = policy
			if policy == corev1.ServiceExternalTrafficPolicyCluster {
				s.Spec.HealthCheckNodePort = 0
			}
		}
	})
}

// kind makes a Service one inside the cluster, or one with a load balancer.
func (d dice) kind(name string) step {
	kind := pick(d, corev1.ServiceTypeClusterIP, corev1.ServiceTypeLoadBalancer)
	return edit("type "+string(kind), name, func(s *corev1.Service) {
		if s.Spec.Type = kind; kind == corev1.ServiceTypeClusterIP {
			s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort, s.Spec.AllocateLoadBalancerNodePorts = "", 0, nil
			for i := range s.Spec.Ports {
				s.Spec.Ports[i].NodePort = 0
			}
		}
	})
}

// endpoints moves the endpoints of a Service. One stays on the first node.
func (d dice) endpoints(name string) step {
	nodes := d.some(allNodes()[1:])
	nodes = append(nodes, allNodes()[0])
	return step{"endpoints of Service " + name + " on " + strings.Join(nodes, " "),
		func(ctx context.Context, s *soak) error { return s.setEndpoints(ctx, name, nodes) }}
}

// some are a few of all, perhaps none.
func (d dice) some(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(string) bool { return d.IntN(2) == 0 })
}

// node makes a node join or leave. The first one stays.
func (d dice) node() step {
	name := pick(d, allNodes()[1:]...)
	return step{"node " + name + " joins or leaves", func(ctx context.Context, s *soak) error {
		if _, there := s.nodes[name]; there {
			return s.leave(ctx, name)
		}
		return s.join(ctx, name)
	}}
}

// vanish is the loss of a machine. It may be unknown to a process that has just begun, which then waits for 5 minutes.
func (d dice) vanish() step {
	name := pick(d, allNodes()[1:baseNodes]...)
	return step{"machine " + name + " vanishes",
		func(ctx context.Context, s *soak) error { return s.vanish(ctx, name) }}
}

// exclusion takes a node out of all load balancers, or back in. The first one stays.
func (d dice) exclusion() step { return d.toggle(corev1.LabelNodeExcludeBalancers) }

// pool takes a node into the pool that selectors choose, or out of it. The first one stays.
func (d dice) pool() step { return d.toggle(poolLabel) }

func (d dice) toggle(key string) step {
	name := pick(d, allNodes()[1:]...)
	return step{"label " + key + " of node " + name, func(ctx context.Context, s *soak) error {
		return s.changeNode(ctx, name, func(node *corev1.Node) {
			if _, has := node.Labels[key]; has {
				delete(node.Labels, key)
				return
			}
			metav1.SetMetaDataLabel(&node.ObjectMeta, key, "")
		})
	}}
}
