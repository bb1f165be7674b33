//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/tools/testserver"
)

func balance(t *testing.T, l *lab) {
	t.Helper()
	address := l.expose(t, l.runServers(t, "worker-1", "worker-2"), portHTTP)
	l.awaitWeb(t, address, "worker-1", "worker-2")
}

func datagrams(t *testing.T, l *lab) {
	t.Helper()
	address := l.expose(t, l.runServers(t, "worker-1", "worker-2"), portHTTP)
	l.awaitDatagrams(t, address, "worker-1", "worker-2")
}

// awaitDatagrams waits until exactly the servers of the nodes answer datagrams.
func (l *lab) awaitDatagrams(t *testing.T, address netip.Addr, nodes ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("datagrams to %s reach %v", address, nodes), func(ctx context.Context) error {
		i := 0
		_, err := l.reaches(ctx, func(ctx context.Context) (testserver.Answer, error) {
			i++
			answer, err := l.askUDP(ctx, address, fmt.Sprint("number ", i))
			if err == nil && answer.Said != fmt.Sprint("number ", i) {
				err = fmt.Errorf("the answer is about %q", answer.Said)
			}
			return answer, err
		}, nodes...)
		return err
	})
}

// dualStack proves that a Service with both families has an address of each, and that both carry connections and
// datagrams.
func dualStack(t *testing.T, l *lab) {
	t.Helper()
	namespace := l.runServers(t, "worker-1", "worker-2")
	name := l.createService(t, namespace, portHTTP, func(s *corev1.Service) {
		s.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
	})
	for _, address := range l.addressesOf(t, namespace, name, netip.Addr.Is4, netip.Addr.Is6) {
		l.awaitWeb(t, address, "worker-1", "worker-2")
		l.awaitDatagrams(t, address, "worker-1", "worker-2")
	}
	service, err := l.API().CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || len(service.Status.LoadBalancer.Ingress) != 2 {
		t.Errorf("the Service has %v and %v, want two addresses", service.Status.LoadBalancer.Ingress, err)
	}
}

// sender is the address that a server saw.
func sender(t *testing.T, answer testserver.Answer) netip.Addr {
	t.Helper()
	at, err := netip.ParseAddrPort(answer.Remote)
	if err != nil {
		t.Fatal(err)
	}
	return at.Addr().Unmap()
}

// local proves that a pod sees the address of the load balancer, which is a proxy, and not the client's; with the
// policy Cluster it sees that of a node.
func local(t *testing.T, l *lab) {
	t.Helper()
	namespace := l.runServers(t, "worker-1")
	address := l.expose(t, namespace, portHTTP, func(s *corev1.Service) {
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	})
	answer := l.awaitWeb(t, address, "worker-1")
	if got := sender(t, answer); got != address {
		t.Errorf("the server saw %s, want the load balancer's %s", got, address)
	}
	far := l.expose(t, namespace, portHTTP, named("far"))
	if got := sender(t, l.awaitWeb(t, far, "worker-1")); got == far || !l.isNodes(t, got) {
		t.Errorf("with the policy Cluster the server saw %s, want an address of a node", got)
	}
	// The pod moves, and the traffic with it.
	l.runServer(t, namespace, "worker-2")
	l.serversReady(t, namespace, "worker-2")
	if err := l.API().CoreV1().Pods(namespace).Delete(t.Context(), "on-worker-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := sender(t, l.awaitWeb(t, address, "worker-2")); got != address {
		t.Errorf("the server saw %s, want the load balancer's %s", got, address)
	}
}

// isNodes reports whether an address is that of a node: of its machine, or that which it has in the network of its
// pods, the first one.
func (l *lab) isNodes(t *testing.T, address netip.Addr) bool {
	t.Helper()
	nodes, err := l.API().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(nodes.Items, func(node corev1.Node) bool {
		return internal(&node, address.Is4()) == address.String() || slices.ContainsFunc(node.Spec.PodCIDRs,
			func(cidr string) bool {
				return netip.MustParsePrefix(cidr).Addr().Next() == address
			})
	})
}

// proxyProtocol proves that the header has the client's address where the pod sees the load balancer's, with the
// policy Local.
func proxyProtocol(t *testing.T, l *lab) {
	t.Helper()
	address := l.expose(t, l.runServers(t, "worker-1", "worker-2"), portProxied, func(s *corev1.Service) {
		s.Annotations["loadbalancer.k8s.thalassa.cloud/enable-proxy-protocol"] = "true"
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	})
	answer := l.awaitWeb(t, address, "worker-1", "worker-2")
	if got := sender(t, answer); got != address {
		t.Errorf("the server saw %s, want the load balancer's %s", got, address)
	}
	var family, from, to string
	var fromPort, toPort int
	if _, err := fmt.Sscanf(answer.Proxy, "PROXY %s %s %s %d %d", &family, &from, &to, &fromPort, &toPort); err != nil {
		t.Fatalf("the header is %q: %v", answer.Proxy, err)
	}
	if family != "TCP4" || from != l.ClientAddress().String() || to != address.String() || toPort != 80 {
		t.Errorf("the header is %q, want one about %s and port 80 of %s", answer.Proxy, l.ClientAddress(), address)
	}
}

func sourceRanges(t *testing.T, l *lab) {
	t.Helper()
	namespace := l.runServers(t, "worker-1", "worker-2")
	address := l.expose(t, namespace, portHTTP, func(s *corev1.Service) {
		s.Spec.LoadBalancerSourceRanges = []string{l.ClientAddress().String() + "/32"}
	})
	l.awaitWeb(t, address, "worker-1", "worker-2")

	l.allow(t, namespace, "203.0.113.0/24")
	eventually(t, "the client is kept out", func(ctx context.Context) error {
		if answer, err := l.ask(ctx, address); err == nil {
			return fmt.Errorf("the server %s answers", answer.Host)
		}
		return nil
	})
	for range rowLength {
		if answer, err := l.ask(t.Context(), address); err == nil {
			t.Fatalf("the server %s answers a client that is kept out", answer.Host)
		}
	}

	l.allow(t, namespace, netip.PrefixFrom(l.ClientAddress(), 24).Masked().String(), "203.0.113.0/24")
	l.awaitWeb(t, address, "worker-1", "worker-2")
}

// allow lets only the ranges connect.
func (l *lab) allow(t *testing.T, namespace string, ranges ...string) {
	t.Helper()
	services := l.API().CoreV1().Services(namespace)
	service, err := services.Get(t.Context(), "server", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	service.Spec.LoadBalancerSourceRanges = ranges
	if _, err := services.Update(t.Context(), service, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// nothingLeft comes after all proofs with Services, whose namespaces have been deleted.
func nothingLeft(t *testing.T, l *lab) {
	t.Helper()
	eventually(t, "the cloud has no load balancer and no target group", func(context.Context) error {
		state := l.Cloud().State()
		if len(state.LoadBalancers) > 0 || len(state.TargetGroups) > 0 {
			return fmt.Errorf("it has %d load balancers and %d target groups", len(state.LoadBalancers),
				len(state.TargetGroups))
		}
		return nil
	})
	eventually(t, "the router has no address of a load balancer", l.noBalancerAddress)
	eventually(t, "there is no Service", l.noServices)
}

// noServices is the error that Services with a load balancer are there: their finalizer is.
func (l *lab) noServices(ctx context.Context) error {
	services, err := l.API().CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, service := range services.Items {
		if service.Spec.Type == corev1.ServiceTypeLoadBalancer {
			return errors.New("Service " + service.Namespace + "/" + service.Name + " is still there")
		}
	}
	return nil
}
