//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

// TestIronCore proves things in a cluster in IronCore, whose load balancers pass packets on unchanged: first with
// destinations that the cloud controller manager writes, and then with those that IronCore chooses.
func TestIronCore(t *testing.T) {
	t.Parallel()
	l := start(t, cluster.Options{IronCore: true, Values: ironcoreValues(false)})
	l.prove(t,
		proof{"every node comes up tainted and is initialised", bootstrap},
		proof{"pods reach pods on another node by prefixes of network interfaces", func(t *testing.T, l *lab) {
			t.Helper()
			l.podsTalk(t)
		}},
		proof{"a load balancer reaches pods on both nodes", balance},
		proof{"datagrams reach pods on both nodes", datagrams},
		proof{"a Service with both families has an address of each", dualStack},
		proof{"the policy Local skips nodes without pods, and shows them the client", clientSeen},
		proof{"kubectl thalassa shows a cluster in order on every terminal", pluginShows},
		proof{"an internal load balancer has an address of the Prefix, and is created again as a public one",
			internalBalancer},
		proof{"the leader is stopped, and the standby goes on at once", leaderReplaced},
		proof{"a machine that is switched off, and on again", poweredOff},
		proof{"a machine that is added, and deleted in the cloud", deleted},
		proof{"IronCore chooses the destinations", selected},
		proof{"what Services made is gone with them", nothingLeftInIronCore},
	)
}

// ironcoreValues are the values of the chart; selector lets IronCore choose the destinations of load balancers. The
// metrics are for everybody, as kubectl thalassa top needs it for the calls.
func ironcoreValues(selector bool) map[string]any {
	return map[string]any{
		"cloudConfig": map[string]any{"instancesV2": map[string]any{"removalGracePeriod": 10}},
		"extraArgs": map[string]any{
			"authorization-always-allow-paths": "/healthz,/readyz,/livez,/metrics"},
		"ironcore": map[string]any{"useNICSelector": selector},
	}
}

// withoutNodePorts is a Service without node ports: its load balancer needs none.
func withoutNodePorts(s *corev1.Service) { s.Spec.AllocateLoadBalancerNodePorts = new(false) }

// clientSeen proves that pods see the address of the client with the policy Local, and that other ports of the load
// balancer are closed.
func clientSeen(t *testing.T, l *lab) {
	t.Helper()
	namespace := l.runServers(t, "worker-1")
	local := func(s *corev1.Service) {
		withoutNodePorts(s)
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}
	name := l.createService(t, namespace, portHTTP, local)
	address := l.addressOf(t, namespace, name)
	l.wantPorts(t, namespace, name)
	if got := sender(t, l.awaitWeb(t, address, "worker-1")); got != l.ClientAddress() {
		t.Errorf("the server saw %s, want the client's %s", got, l.ClientAddress())
	}
	l.closed(t, address, portHTTP)
	// The pod moves, and the traffic with it.
	l.runServer(t, namespace, "worker-2")
	l.serversReady(t, namespace, "worker-2")
	if err := l.API().CoreV1().Pods(namespace).Delete(t.Context(), "on-worker-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.awaitWeb(t, address, "worker-2")
}

// wantPorts wants a Service to have no node ports.
func (l *lab) wantPorts(t *testing.T, namespace, name string) {
	t.Helper()
	service, err := l.API().CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range service.Spec.Ports {
		if port.NodePort != 0 {
			t.Errorf("port %s has node port %d, want none", port.Name, port.NodePort)
		}
	}
}

// closed wants nothing to answer at a port of an address.
func (l *lab) closed(t *testing.T, address netip.Addr, port uint16) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerLimit)
	defer cancel()
	conn, err := l.Client().DialContext(ctx, "tcp", netip.AddrPortFrom(address, port).String())
	if err == nil {
		closeQuietly(conn)
		t.Errorf("port %d of %s is open", port, address)
	}
}

// internalBalancer proves that an internal load balancer carries traffic, and that its annotation can be removed.
func internalBalancer(t *testing.T, l *lab) {
	t.Helper()
	const annotation = "service.beta.kubernetes.io/ironcore-load-balancer-internal"
	namespace := l.runServers(t, "worker-1", "worker-2")
	name := l.createService(t, namespace, portHTTP, withoutNodePorts, func(s *corev1.Service) {
		s.Annotations[annotation] = "true"
	})
	internal := l.addressOf(t, namespace, name)
	if !internal.IsPrivate() {
		t.Errorf("the load balancer has the address %s, want one of the Prefix", internal)
	}
	l.awaitWeb(t, internal, "worker-1", "worker-2")
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: null}}}`, annotation)
	if _, err := l.API().CoreV1().Services(namespace).Patch(t.Context(), name, "application/merge-patch+json", patch,
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the load balancer has a public address", func(ctx context.Context) error {
		service, err := l.API().CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		ingress := service.Status.LoadBalancer.Ingress
		if len(ingress) != 1 || netip.MustParseAddr(ingress[0].IP).IsPrivate() {
			return fmt.Errorf("it has %v", ingress)
		}
		return nil
	})
	l.awaitWeb(t, l.addressOf(t, namespace, name), "worker-1", "worker-2")
	events, err := l.API().CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events.Items {
		if event.Reason == "SyncLoadBalancerFailed" {
			t.Errorf("event %s: %s", event.Reason, event.Message)
		}
	}
}

// selected proves that load balancers that are there, and new ones, have the same destinations when IronCore chooses
// them, and that an excluded Node is none.
func selected(t *testing.T, l *lab) {
	t.Helper()
	namespace := l.runServers(t, "worker-1", "worker-2")
	address := l.addressOf(t, namespace, l.createService(t, namespace, portHTTP, withoutNodePorts))
	l.awaitWeb(t, address, "worker-1", "worker-2")
	values := l.Values()
	values["ironcore"].(map[string]any)["useNICSelector"] = true
	release := chart.Release{Name: cluster.Release, Namespace: cluster.Namespace, Values: values}
	folder := filepath.Join(l.root, "charts", cluster.Release)
	if _, err := chart.Upgrade(t.Context(), l.Config(), folder, release, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "load balancers have a selector", func(ctx context.Context) error {
		balancers, _, err := l.balancers(ctx)
		for _, lb := range balancers {
			if selector := lb.Spec.NetworkInterfaceSelector; selector == nil || len(selector.MatchLabels) == 0 {
				err = errors.Join(err, fmt.Errorf("load balancer %s selects no network interface", lb.Name))
			}
		}
		return err
	})
	l.awaitWeb(t, address, "worker-1", "worker-2")
	l.awaitWeb(t, l.addressOf(t, namespace, l.createService(t, namespace, portHTTP, withoutNodePorts, named("new"))),
		"worker-1", "worker-2")
	l.label(t, "worker-2", corev1.LabelNodeExcludeBalancers, new(""))
	t.Cleanup(func() { l.label(t, "worker-2", corev1.LabelNodeExcludeBalancers, nil) })
	eventually(t, "the excluded Node is no destination", func(ctx context.Context) error {
		_, routings, err := l.balancers(ctx)
		for _, routing := range routings {
			for _, destination := range routing.Destinations {
				if destination.TargetRef != nil && destination.TargetRef.Name == "worker-2-primary" {
					err = errors.Join(err, fmt.Errorf("it is one of %s", routing.Name))
				}
			}
		}
		return err
	})
	l.awaitWeb(t, address, "worker-1", "worker-2") // by the other Node
}

// balancers are the load balancers in IronCore, and their destinations.
func (l *lab) balancers(ctx context.Context) (balancers []networkingv1alpha1.LoadBalancer,
	routings []networkingv1alpha1.LoadBalancerRouting, err error) {
	networking := l.IronCore().Client().NetworkingV1alpha1()
	list, err := networking.LoadBalancers(cluster.IronCoreNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	routed, err := networking.LoadBalancerRoutings(cluster.IronCoreNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	return list.Items, routed.Items, nil
}

// nothingLeftInIronCore comes after all proofs with Services, whose namespaces have been deleted.
func nothingLeftInIronCore(t *testing.T, l *lab) {
	t.Helper()
	eventually(t, "IronCore has no load balancer and no routing", func(ctx context.Context) error {
		balancers, routings, err := l.balancers(ctx)
		if len(balancers)+len(routings) > 0 {
			err = fmt.Errorf("it has %d load balancers and %d routings", len(balancers), len(routings))
		}
		return err
	})
	eventually(t, "there is no Service", l.noServices)
}
