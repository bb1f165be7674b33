package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// settled wants the cloud to have what the Services ask for and nothing else, Services to have the addresses of their
// load balancers, and all nodes to be known.
func (s *soak) settled(ctx context.Context) error {
	if err := s.restartLost(); err != nil {
		return err
	}
	nodes, err := s.api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	services, err := s.api.CoreV1().Services(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	endpoints, err := s.api.DiscoveryV1().EndpointSlices(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	seed := s.cloud.Seed()
	want := wanted(services.Items, nodes.Items, endpoints.Items, chosen(seed))
	if diff := cmp.Diff(want, held(seed)); diff != "" {
		return fmt.Errorf("the cloud has (-want +got):\n%s", diff)
	}
	return errors.Join(published(services.Items, s.cloud.State()), s.known(nodes.Items))
}

// wanted is what the cloud should have. It is computed from the objects as a reader of the documentation would. Which
// nodes are targets of a Service that limits their number is taken from chosen.
func wanted(services []corev1.Service, nodes []corev1.Node, endpoints []discoveryv1.EndpointSlice,
	chosen map[string][]string) []string {
	lines := []string{}
	for _, service := range services {
		if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		possible := targets(service, nodes, endpoints)
		access := ""
		if service.Annotations[label.AnnotationPrefix+"acl-allowed-sources"] != "" {
			access = " for " + sources
		}
		for _, port := range service.Spec.Ports {
			names := limited(service, possible, chosen[groupOf(service.Name, strconv.Itoa(int(port.Port)),
				strings.ToLower(string(port.Protocol)))])
			one := line(service.Name, int(port.Port), string(port.Protocol), int(port.NodePort), names) + access
			if port.Protocol == corev1.ProtocolTCP {
				one += asked(service)
			}
			lines = append(lines, one)
		}
		if service.Annotations[label.AnnotationPrefix+"create-security-group"] != "" {
			lines = append(lines, service.Name+" has a security group")
		}
		if ip := service.Annotations[label.AnnotationPrefix+"reserved-ip"]; ip != "" {
			lines = append(lines, service.Name+" has reserved IP "+ip)
		}
	}
	for _, node := range nodes {
		for _, address := range node.Status.Addresses {
			if address.Type == corev1.NodeInternalIP {
				lines = append(lines, route(node.Spec.PodCIDR, address.Address))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// asked are the settings of TCP ports that a Service asks for, other than the defaults.
func asked(service corev1.Service) string {
	set := func(name string) string { return service.Annotations[label.AnnotationPrefix+name] }
	idle, _ := strconv.ParseUint(set("idle-connection-timeout"), 10, 32)
	return settings(uint32(idle), set("loadbalancing-policy"), set("enable-proxy-protocol") == "true")
}

// settings describes settings of a port that are not the defaults, which are none or those in the documentation.
func settings(idle uint32, policy string, proxyProtocol bool) string {
	text := ""
	if idle != 0 && idle != 6000 {
		text += fmt.Sprintf(", idle %d s", idle)
	}
	if policy != "" && policy != "ROUND_ROBIN" {
		text += ", " + policy
	}
	if proxyProtocol {
		text += ", PROXY protocol"
	}
	return text
}

// route is the route to the pods of a node.
func route(destination, gateway string) string { return "route " + destination + " via " + gateway }

func line(service string, port int, protocol string, nodePort int, machines []string) string {
	slices.Sort(machines)
	return fmt.Sprintf("%s: %d/%s to %d on %s", service, port, strings.ToLower(protocol), nodePort,
		strings.Join(machines, " "))
}

// limited are the targets of a port of a Service that limits their number, of all its possible targets: those that were
// chosen, if they are possible ones, and at least as many as there should be. Targets that others have replaced leave
// five minutes later, half of them at a time, which is longer than a round waits.
func limited(service corev1.Service, possible, chosen []string) []string {
	limit, err := strconv.Atoi(service.Annotations[label.AnnotationPrefix+"max-targets"])
	if err != nil || limit == 0 || limit >= len(possible) ||
		service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		return possible
	}
	isOther := func(name string) bool { return !slices.Contains(possible, name) }
	if len(chosen) < limit || slices.ContainsFunc(chosen, isOther) {
		return possible[:limit]
	}
	return chosen
}

// groupOf names the target group of a port.
func groupOf(service, port, protocol string) string { return service + " " + port + "/" + protocol }

// chosen are the targets of each target group, by groupOf.
func chosen(seed emulator.Seed) map[string][]string {
	names, of := map[string]string{}, map[string][]string{}
	for _, one := range seed.Organisations[0].Machines {
		names[one.Identity] = one.Name
	}
	for _, group := range seed.Organisations[0].TargetGroups {
		var targets []string
		for _, attachment := range group.Attachments {
			targets = append(targets, names[attachment.Machine])
		}
		of[groupOf(group.Labels[label.ServiceName], group.Labels[label.ServicePort],
			group.Labels[label.ServiceProtocol])] = targets
	}
	return of
}

// targets are the nodes that may get traffic of a Service.
func targets(service corev1.Service, nodes []corev1.Node, endpoints []discoveryv1.EndpointSlice) []string {
	var names []string
	_, selects := service.Annotations[label.AnnotationPrefix+"node-selector"]
	for _, node := range nodes {
		_, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]
		_, pooled := node.Labels[poolLabel]
		local := service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
		if !excluded && (pooled || !selects) && (!local || hasEndpoint(service.Name, node.Name, endpoints)) {
			names = append(names, node.Name)
		}
	}
	return names
}

func hasEndpoint(service, node string, all []discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(all, func(slice discoveryv1.EndpointSlice) bool {
		return slice.Labels[discoveryv1.LabelServiceName] == service &&
			slices.ContainsFunc(slice.Endpoints, func(one discoveryv1.Endpoint) bool {
				return one.NodeName != nil && *one.NodeName == node
			})
	})
}

// held is what the cloud has, in the words of wanted. All that is in it belongs to this cluster.
func held(seed emulator.Seed) []string {
	lines := []string{}
	organisation := seed.Organisations[0]
	machines, groups := map[string]string{}, map[string]int{}
	for _, one := range organisation.Machines {
		machines[one.Identity] = one.Name
	}
	for i, group := range organisation.TargetGroups {
		groups[group.Identity] = i
	}
	for _, balancer := range organisation.LoadBalancers {
		service := balancer.Labels[label.ServiceName]
		if len(balancer.Listeners) == 0 {
			lines = append(lines, service+" has a load balancer without ports")
		}
		for _, listener := range balancer.Listeners {
			at, own := groups[listener.TargetGroup]
			if !own {
				lines = append(lines, fmt.Sprintf("%s: %d has no target group of its own", service, listener.Port))
				continue
			}
			group := organisation.TargetGroups[at]
			delete(groups, listener.TargetGroup)
			var names []string
			for _, attachment := range group.Attachments {
				names = append(names, machines[attachment.Machine])
			}
			one := line(service, listener.Port, listener.Protocol, group.Port, names)
			if len(listener.AllowedSources) > 0 {
				one += " for " + strings.Join(listener.AllowedSources, " ")
			}
			if listener.Protocol == "tcp" {
				idle, proxyProtocol := uint32(0), group.ProxyProtocol != nil && *group.ProxyProtocol
				if listener.IdleTimeout != nil {
					idle = *listener.IdleTimeout
				}
				one += settings(idle, group.Policy, proxyProtocol)
			}
			lines = append(lines, one)
		}
		if balancer.ReservedIP != "" {
			lines = append(lines, service+" has reserved IP "+balancer.ReservedIP)
		}
	}
	for _, i := range groups {
		group := organisation.TargetGroups[i]
		lines = append(lines, group.Labels[label.ServiceName]+" has a target group without a port, "+group.Name)
	}
	for _, vpc := range organisation.VPCs {
		for _, group := range vpc.SecurityGroups {
			lines = append(lines, group.Labels[label.ServiceName]+" has a security group")
		}
		for _, table := range vpc.RouteTables {
			for _, one := range table.Routes {
				lines = append(lines, route(one.Destination.String(), one.GatewayAddress.String()))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// published wants Services to have the addresses of their load balancers in their status, and others to have none.
func published(services []corev1.Service, state emulator.State) error {
	addresses := map[string]string{}
	for _, balancer := range state.LoadBalancers {
		for _, address := range balancer.Addresses {
			addresses[address] = balancer.Labels[label.ServiceName]
		}
	}
	for _, service := range services {
		ingress := service.Status.LoadBalancer.Ingress
		if (service.Spec.Type == corev1.ServiceTypeLoadBalancer) != (len(ingress) > 0) {
			return fmt.Errorf("Service %s of type %s has the status %v", service.Name, service.Spec.Type, ingress)
		}
		for _, one := range ingress {
			if one.IP != "" && addresses[one.IP] != service.Name {
				return fmt.Errorf("Service %s has the status %v, and addresses are %v", service.Name, ingress,
					addresses)
			}
		}
	}
	return nil
}

// known wants the nodes to be those with a machine, the same ones as in the beginning, and each to be initialised.
func (s *soak) known(nodes []corev1.Node) error {
	uids := map[string]string{}
	for _, node := range nodes {
		uids[node.Name] = string(node.UID)
		if _, there := s.nodes[node.Name]; !there {
			return fmt.Errorf("node %s is there, and its machine is not", node.Name)
		}
		if node.Spec.ProviderID == "" || node.Spec.PodCIDR == "" || len(node.Status.Addresses) < 2 {
			return fmt.Errorf("node %s is not initialised: %+v, %v", node.Name, node.Spec, node.Status.Addresses)
		}
	}
	for name, one := range s.nodes {
		if uids[name] != one.uid {
			return fmt.Errorf("node %s was deleted, and its machine exists", name)
		}
	}
	return nil
}

// cleared wants the cloud to have what it had without any Service, and the cluster to have no Service.
func (s *soak) cleared(ctx context.Context) error {
	services, err := s.api.CoreV1().Services(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(services.Items) > 0 {
		return fmt.Errorf("%d Services are there", len(services.Items))
	}
	if diff := cmp.Diff(s.empty, s.cloud.Overview().Objects); diff != "" {
		return fmt.Errorf("objects of the cloud (-before +after):\n%s", diff)
	}
	return s.settled(ctx)
}
