//go:build e2e

package e2etest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/testserver"
)

// The ports of the test server.
const (
	portHTTP    = 8080
	portProxied = 8081
)

const (
	// answerLimit bounds one request; on an idle machine it takes a millisecond.
	answerLimit = 3 * time.Second
	// loadLimit bounds one of those that may not fail. A load balancer tries the next target where one is silent for 3
	// s, and a machine that is busy has such moments: a shorter limit would take them for a failure.
	loadLimit = 30 * time.Second
)

// eventually waits until check returns no error.
func eventually(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	controlplanetest.Eventually(t, waitTimeout, what, check)
}

// runServers runs a test server on every one of the nodes, in a namespace of the test's own.
func (l *lab) runServers(t *testing.T, nodes ...string) (namespace string) {
	t.Helper()
	namespace = l.namespace(t)
	for _, node := range nodes {
		l.runServer(t, namespace, node)
	}
	l.serversReady(t, namespace, nodes...)
	return namespace
}

// namespace makes a namespace, which is deleted with the test.
func (l *lab) namespace(t *testing.T) string {
	t.Helper()
	namespaces := l.API().CoreV1().Namespaces()
	made, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := namespaces.Delete(context.WithoutCancel(t.Context()), made.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "pods can be made in the namespace", func(ctx context.Context) error {
		_, err := l.API().CoreV1().ServiceAccounts(made.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return made.Name
}

func (l *lab) runServer(t *testing.T, namespace, node string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "on-" + node, Labels: map[string]string{"app": "server"}},
		Spec: corev1.PodSpec{
			// The scheduler chooses the node: it has to be fit for pods.
			NodeSelector: map[string]string{corev1.LabelHostname: node},
			Containers: []corev1.Container{{
				Name: "server", Image: cluster.GuestImage, ImagePullPolicy: corev1.PullNever, Args: []string{"serve"},
				ReadinessProbe: &corev1.Probe{
					PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz",
						Port: intstr.FromInt32(portHTTP)}},
				},
			}},
		},
	}
	if _, err := l.API().CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// serversReady waits for the servers of the nodes.
func (l *lab) serversReady(t *testing.T, namespace string, nodes ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("servers are ready on %v", nodes), func(ctx context.Context) error {
		for _, node := range nodes {
			pod, err := l.API().CoreV1().Pods(namespace).Get(ctx, "on-"+node, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if !podReady(pod) {
				return fmt.Errorf("pod %s is %s: %+v", pod.Name, pod.Status.Phase, pod.Status.ContainerStatuses)
			}
		}
		return nil
	})
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// expose makes a load balancer of the servers, and returns its address. Port 80 leads to the given port over TCP and to
// the server of datagrams over UDP. It is deleted with the test.
func (l *lab) expose(t *testing.T, namespace string, port int32, adjust ...func(*corev1.Service)) netip.Addr {
	t.Helper()
	return l.addressOf(t, namespace, l.createService(t, namespace, port, adjust...))
}

// createService is expose, but does not wait for an address. It returns the name of the Service.
func (l *lab) createService(t *testing.T, namespace string, port int32, adjust ...func(*corev1.Service)) string {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "server", Annotations: map[string]string{}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "server"},
			Ports: []corev1.ServicePort{
				{Name: "web", Port: 80, TargetPort: intstr.FromInt32(port), Protocol: corev1.ProtocolTCP},
				{Name: "datagrams", Port: 80, TargetPort: intstr.FromInt32(portHTTP), Protocol: corev1.ProtocolUDP},
			},
		},
	}
	for _, change := range adjust {
		change(service)
	}
	services := l.API().CoreV1().Services(namespace)
	if _, err := services.Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := services.Delete(context.WithoutCancel(t.Context()), service.Name,
			metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	return service.Name
}

// addressOf waits for the IPv4 address of a Service's load balancer.
func (l *lab) addressOf(t *testing.T, namespace, name string) netip.Addr {
	t.Helper()
	return l.addressesOf(t, namespace, name, netip.Addr.Is4)[0]
}

// addressesOf waits until a Service's load balancer has an address of each kind, and returns them in this order.
func (l *lab) addressesOf(t *testing.T, namespace, name string, kinds ...func(netip.Addr) bool) (found []netip.Addr) {
	t.Helper()
	eventually(t, "the load balancer has an address", func(ctx context.Context) error {
		current, err := l.API().CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var all []netip.Addr
		for _, ingress := range current.Status.LoadBalancer.Ingress {
			if at, err := netip.ParseAddr(ingress.IP); err == nil {
				all = append(all, at)
			}
		}
		found = nil
		for _, kind := range kinds {
			if i := slices.IndexFunc(all, kind); i >= 0 {
				found = append(found, all[i])
			}
		}
		if len(found) < len(kinds) {
			return fmt.Errorf("it has %v", all)
		}
		return nil
	})
	return found
}

// ask asks port 80 of an address over HTTP, from the client's namespace, on a connection of its own.
func (l *lab) ask(ctx context.Context, address netip.Addr) (testserver.Answer, error) {
	answer, _, err := l.askFrom(ctx, address, answerLimit)
	return answer, err
}

// askFrom is ask with a limit of its own. from is where the connection came from, which is invalid when there was none.
func (l *lab) askFrom(ctx context.Context, address netip.Addr,
	limit time.Duration) (answer testserver.Answer, from netip.AddrPort, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var local atomic.Value // the transport does not wait for a connection that comes too late
	answer, err = askOver(ctx, address, func(ctx context.Context, network, at string) (net.Conn, error) {
		conn, err := l.Client().DialContext(ctx, network, at)
		if err == nil {
			from := conn.LocalAddr().(*net.TCPAddr).AddrPort()
			local.Store(netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))
		}
		return conn, err
	})
	from, _ = local.Load().(netip.AddrPort)
	return answer, from, err
}

// askOver is ask over a connection that dial makes.
func askOver(ctx context.Context, address netip.Addr, dial func(ctx context.Context, network,
	at string) (net.Conn, error)) (
	answer testserver.Answer, err error,
) {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: dial}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+netip.AddrPortFrom(address, 80).String()+
		"/", nil)
	if err != nil {
		return answer, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return answer, err
	}
	defer closeQuietly(response.Body)
	if response.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("it answers %s", response.Status)
	}
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

// askUDP asks port 80 of an address with a datagram.
func (l *lab) askUDP(ctx context.Context, address netip.Addr, text string) (testserver.Answer, error) {
	var answer testserver.Answer
	conn, err := l.Client().DialContext(ctx, "udp", netip.AddrPortFrom(address, 80).String())
	if err != nil {
		return answer, err
	}
	defer closeQuietly(conn)
	if err := conn.SetDeadline(time.Now().Add(answerLimit)); err != nil {
		return answer, err
	}
	if _, err := conn.Write([]byte(text)); err != nil {
		return answer, err
	}
	buffer := make([]byte, 4<<10)
	n, err := conn.Read(buffer)
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(buffer[:n], &answer)
}

// rowLength is how many requests in a row show where a load balancer leads: with two targets, one that is never chosen
// would be a coincidence of 1 in a million.
const rowLength = 20

// reaches wants exactly the servers of the nodes to answer, all requests of a row. It returns the last answer.
func (l *lab) reaches(ctx context.Context, ask func(context.Context) (testserver.Answer, error),
	nodes ...string) (last testserver.Answer, err error) {
	seen := map[string]bool{}
	for i := range rowLength {
		if last, err = ask(ctx); err != nil {
			return last, fmt.Errorf("request %d: %w", i+1, err)
		}
		seen[last.Host] = true
	}
	for _, node := range nodes {
		if !seen["on-"+node] {
			return last, fmt.Errorf("the server on %s does not answer, only %v", node, seen)
		}
	}
	if len(seen) != len(nodes) {
		return last, fmt.Errorf("%v answer, want those on %v alone", seen, nodes)
	}
	return last, nil
}

// awaitWeb waits until exactly the servers of the nodes answer over HTTP.
func (l *lab) awaitWeb(t *testing.T, address netip.Addr, nodes ...string) (last testserver.Answer) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s leads to %v", address, nodes), func(ctx context.Context) (err error) {
		last, err = l.reaches(ctx, func(ctx context.Context) (testserver.Answer, error) {
			return l.ask(ctx, address)
		}, nodes...)
		return err
	})
	return last
}
