package virtualnode_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

var webPorts = []corev1.ContainerPort{
	{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
}

// spread keeps the pods of a Deployment on different nodes.
func spread(d *appsv1.Deployment) {
	d.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: d.Spec.Selector,
			TopologyKey: corev1.LabelHostname}},
	}}
}

// deployWeb runs replicas of the web server.
func (c *cluster) deployWeb(t *testing.T, replicas int32, change func(*appsv1.Deployment)) {
	t.Helper()
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: c.spec(corev1.Container{
					Name: "web", Image: webImage + ":1", Ports: webPorts,
					ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
						HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http")},
					}},
				})},
		},
	}
	change(d)
	if _, err := c.client.AppsV1().Deployments(c.namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// exposeWeb makes a Service for the web server and returns it with its node ports.
func (c *cluster) exposeWeb(t *testing.T, spec corev1.ServiceSpec) *corev1.Service {
	t.Helper()
	spec.Selector = map[string]string{"app": "web"}
	spec.Ports = []corev1.ServicePort{
		{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromString("http")},
	}
	service, err := c.client.CoreV1().Services(c.namespace).Create(t.Context(),
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// at is a port on a node's address.
func at(node *virtualnode.Node, port int32) string {
	return netip.AddrPortFrom(node.Address(), uint16(port)).String()
}

// page reads the web server's page as a map.
func page(address string) (map[string]string, error) {
	body, err := get("http://" + address + "/")
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(body) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		fields[key] = value
	}
	return fields, nil
}

func TestNodePortOnTwoNodes(t *testing.T) {
	c := newCluster(t)
	one := c.start(t, "one", "127.0.72.1", nil)
	two := c.start(t, "two", "127.0.72.2", nil)
	c.deployWeb(t, 2, spread)
	service := c.exposeWeb(t, corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort})
	for _, node := range []*virtualnode.Node{one, two} {
		address := at(node, service.Spec.Ports[0].NodePort)
		reached := map[string]bool{}
		eventually(t, "both pods answer on "+address, func() error {
			fields, err := page(address)
			if err != nil {
				return err
			}
			host, _, _ := net.SplitHostPort(fields["remote"])
			if host != node.Address().String() {
				t.Errorf("the pod saw %s, want the node's address %s", host, node.Address())
			}
			reached[fields["node"]] = true
			if len(reached) < 2 {
				return fmt.Errorf("only %v answered", reached)
			}
			return nil
		})
		if !reached[one.Name()] || !reached[two.Name()] {
			t.Errorf("through %s answered %v, want pods on both nodes", address, reached)
		}
	}
	if err := c.client.CoreV1().Services(c.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	address := at(one, service.Spec.Ports[0].NodePort)
	eventually(t, "the node port is closed", func() error {
		_, err := page(address)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil
		}
		return errors.Join(errors.New("it is not refused"), err)
	})
}

func TestLocalPolicy(t *testing.T) {
	c := newCluster(t)
	one := c.start(t, "one", "127.0.72.3", nil)
	two := c.start(t, "two", "127.0.72.4", nil)
	c.deployWeb(t, 1, spread)
	service := c.exposeWeb(t, corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
		ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal})
	port, health := service.Spec.Ports[0].NodePort, service.Spec.HealthCheckNodePort
	has, lacks := one, two
	eventually(t, "one of the nodes answers", func() error {
		var err error
		for _, node := range []*virtualnode.Node{one, two} {
			var fields map[string]string
			if fields, err = page(at(node, port)); err != nil {
				continue
			}
			if node == two {
				has, lacks = two, one
			}
			if fields["node"] != has.Name() || !strings.HasPrefix(fields["remote"], "127.0.0.1:") {
				t.Errorf("page = %v, want the node's own pod and the client's address", fields)
			}
			return nil
		}
		return err
	})
	if _, err := page(at(lacks, port)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the node without a pod: %v, want connection refused", err)
	}
	want := "ready endpoints of " + c.namespace + "/web"
	if body, err := get("http://" + at(has, health) + "/healthz"); err != nil || strings.TrimSpace(body) != want {
		t.Errorf("health of the node with the pod: %s, %v; want %s", body, err, want)
	}
	if _, err := get("http://" + at(lacks, health) + "/healthz"); err == nil || !strings.HasPrefix(err.Error(), "503") {
		t.Errorf("health of the node without a pod: %v, want 503", err)
	}
}

// TestPassedOn: a node answers for the address of a load balancer that passes packets on, without a node port.
func TestPassedOn(t *testing.T) {
	c := newCluster(t)
	one := c.start(t, "one", "127.0.72.7", nil)
	c.deployWeb(t, 1, spread)
	without, balancer := false, netip.MustParseAddrPort("127.0.72.8:80")
	service := c.exposeWeb(t, corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
		AllocateLoadBalancerNodePorts: &without})
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: balancer.Addr().String()}}
	if _, err := c.client.CoreV1().Services(c.namespace).UpdateStatus(t.Context(), service,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod answers", func() error {
		conn, err := c.network.Dial(t.Context(), one.Address(), balancer, balancer.Addr())
		if err != nil {
			return err
		}
		return conn.Close()
	})
	elsewhere := netip.MustParseAddr("127.0.72.9")
	if _, err := c.network.Dial(t.Context(), elsewhere, balancer, elsewhere); !errors.Is(err, syscall.EHOSTUNREACH) {
		t.Errorf("through an address without a node: %v, want that there is no route", err)
	}
}

// A Program pod that is not on the host network has an address that leads to its node.
func TestNodePortToProgram(t *testing.T) {
	c := newCluster(t)
	one := c.start(t, "one", "127.0.72.6", nil)
	c.createSettings(t, "a: 1\n")
	spec := c.programSpec(17001)
	spec.HostNetwork = false
	c.createPod(t, "web", spec)
	pod := c.pod(t, "web", "is ready", ready)
	if !strings.HasPrefix(pod.Status.PodIP, "10.244.") {
		t.Errorf("pod address = %s, want one from the node's range", pod.Status.PodIP)
	}
	service, err := c.client.CoreV1().Services(c.namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt(17001)}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program answers through the node port", func() error {
		_, err := get("http://" + at(one, service.Spec.Ports[0].NodePort) + "/livez")
		return err
	})
}
