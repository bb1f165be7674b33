package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// proveChecks wants the checks to fail when a Service is missed, and when an object is left in the cloud: the cloud
// controller managers do nothing any more.
func (s *soak) proveChecks() {
	s.Helper()
	for _, r := range s.replicas {
		s.must(r.process.Signal(syscall.SIGSTOP))
		defer func() { s.must(r.process.Signal(syscall.SIGCONT)) }()
		s.must(s.until(s.Context(), "replica "+r.name+" has stopped", func(context.Context) error {
			return stopped(r.process.PID())
		}))
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "missed"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{port(80)}}}
	_, err := s.api.CoreV1().Services(s.namespace).Create(s.Context(), service, metav1.CreateOptions{})
	s.must(err)
	if err := s.settled(s.Context()); err == nil || !strings.Contains(err.Error(), "missed: 80/tcp") {
		s.Errorf("a Service has no load balancer, and the check returned %v", err)
	}
	s.must(s.remove(s.Context(), "missed"))
	_, err = s.cloud.AddMachine(emulator.MachineSpec{Name: "left"})
	s.must(err)
	if err := s.cleared(s.Context()); err == nil || !strings.Contains(err.Error(), "objects of the cloud") {
		s.Errorf("the cloud has one object more, and the check returned %v", err)
	}
}

// stopped returns an error while a thread of a process runs: on a busy machine, the signal takes effect late.
func stopped(pid int) error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		stat, readErr := os.ReadFile(thread)
		_, state, _ := strings.Cut(string(stat), ") ") // behind the name of the program
		if readErr == nil && !strings.HasPrefix(state, "T") {
			return fmt.Errorf("thread %s is in the state %.1s", thread, state)
		}
	}
	return err
}

// exampleService is a Service with all that wanted reads.
func exampleService(name string) corev1.Service {
	return corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			label.AnnotationPrefix + "acl-allowed-sources":     sources,
			label.AnnotationPrefix + "create-security-group":   "true",
			label.AnnotationPrefix + "reserved-ip":             "ip-" + name,
			label.AnnotationPrefix + "idle-connection-timeout": "60",
			label.AnnotationPrefix + "loadbalancing-policy":    "MAGLEV",
			label.AnnotationPrefix + "enable-proxy-protocol":   "true",
		}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{
			{Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP},
			{Port: 53, NodePort: 30053, Protocol: corev1.ProtocolUDP}}},
	}
}

// TestWanted: all settings of Services and nodes count.
func TestWanted(t *testing.T) {
	node := func(name string, labels ...string) corev1.Node {
		one := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, key := range labels {
			metav1.SetMetaDataLabel(&one.ObjectMeta, key, "")
		}
		return one
	}
	routed := node("b")
	routed.Spec.PodCIDR = "10.244.1.0/24"
	routed.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "b"},
		{Type: corev1.NodeInternalIP, Address: "10.0.0.98"}}
	first, third := "a", "c"
	endpoints := discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{NodeName: &first}, {NodeName: &third}},
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: "local"}}}
	inside, local, selects := exampleService("inside"), exampleService("local"), exampleService("selects")
	inside.Spec.Type, inside.Annotations = corev1.ServiceTypeClusterIP, nil
	local.Spec.ExternalTrafficPolicy, local.Annotations = corev1.ServiceExternalTrafficPolicyLocal, nil
	selects.Annotations = map[string]string{label.AnnotationPrefix + "node-selector": poolLabel}
	got := wanted([]corev1.Service{exampleService("web"), inside, local, selects},
		[]corev1.Node{routed, node("a", poolLabel), node("c", corev1.LabelNodeExcludeBalancers)},
		[]discoveryv1.EndpointSlice{endpoints}, nil)
	want := []string{"local: 53/udp to 30053 on a", "local: 80/tcp to 30080 on a", "route 10.244.1.0/24 via 10.0.0.98",
		"selects: 53/udp to 30053 on a", "selects: 80/tcp to 30080 on a", "web has a security group",
		"web has reserved IP ip-web", "web: 53/udp to 30053 on a b for 10.0.0.0/8",
		"web: 80/tcp to 30080 on a b for 10.0.0.0/8, idle 60 s, MAGLEV, PROXY protocol"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wanted (-want +got):\n%s", diff)
	}
}

// TestLimited: as many targets as there should be, or more, are right, whichever they are. Fewer are not, nor are
// others.
func TestLimited(t *testing.T) {
	for name, tt := range map[string]struct {
		limit        string
		chosen, want []string
	}{
		"no limit":           {"", []string{"b"}, []string{"a", "b", "c"}},
		"0":                  {"0", []string{"b"}, []string{"a", "b", "c"}},
		"invalid":            {"nonsense", []string{"b"}, []string{"a", "b", "c"}},
		"more than possible": {"4", []string{"b"}, []string{"a", "b", "c"}},
		"as many":            {"2", []string{"b", "c"}, []string{"b", "c"}},
		"more":               {"1", []string{"b", "c"}, []string{"b", "c"}},
		"more, one excluded": {"1", []string{"b", "d"}, []string{"a"}},
		"too few":            {"2", []string{"c"}, []string{"a", "b"}},
		"none":               {"2", nil, []string{"a", "b"}},
		"an excluded node":   {"2", []string{"b", "d"}, []string{"a", "b"}},
	} {
		service := exampleService("web")
		metav1.SetMetaDataAnnotation(&service.ObjectMeta, label.AnnotationPrefix+"max-targets", tt.limit)
		if diff := cmp.Diff(tt.want, limited(service, []string{"a", "b", "c"}, tt.chosen)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		if got := limited(service, []string{"a", "b", "c"}, tt.chosen); len(got) != 3 {
			t.Errorf("%s, policy Local: %v", name, got)
		}
	}
}

// TestHeld: whatever is left in the cloud is a line that no Service wants.
func TestHeld(t *testing.T) {
	seed, err := emulator.ReadSeed(strings.NewReader(`
organisations:
- machines: [{identity: vm-b, name: b}, {identity: vm-a, name: a}]
  reservedIps: [{identity: ip-web}]
  vpcs:
  - securityGroups: [{labels: {k8s.thalassa.cloud/kubernetes-service-name: web}}]
    routeTables: [{routes: [{destination: 10.244.1.0/24, gatewayAddress: 10.0.0.98}]}]
  targetGroups:
  - {identity: tg-1, targetPort: 30080, attachments: [{machine: vm-b}, {machine: vm-a}],
    labels: {k8s.thalassa.cloud/kubernetes-service-name: web, k8s.thalassa.cloud/kubernetes-service-port: "80",
      k8s.thalassa.cloud/kubernetes-service-protocol: tcp}}
  - {identity: tg-3, targetPort: 30081, loadbalancingPolicy: MAGLEV, enableProxyProtocol: true}
  - {identity: tg-2, name: left, targetPort: 30080, labels: {k8s.thalassa.cloud/kubernetes-service-name: mail}}
  loadBalancers:
  - {labels: {k8s.thalassa.cloud/kubernetes-service-name: api}}
  - labels: {k8s.thalassa.cloud/kubernetes-service-name: web}
    reservedIp: ip-web
    listeners: [{port: 80, protocol: tcp, targetGroup: tg-1, allowedSources: [10.0.0.0/8]},
      {port: 81, protocol: tcp, targetGroup: tg-3, connectionIdleTimeout: 60},
      {port: 82, protocol: tcp, targetGroup: tg-1}]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"api has a load balancer without ports", "mail has a target group without a port, left",
		"route 10.244.1.0/24 via 10.0.0.98", "web has a security group", "web has reserved IP ip-web",
		"web: 80/tcp to 30080 on a b for 10.0.0.0/8", "web: 81/tcp to 30081 on , idle 60 s, MAGLEV, PROXY protocol",
		"web: 82 has no target group of its own"}
	if diff := cmp.Diff(want, held(seed)); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	of := map[string][]string{"web 80/tcp": {"b", "a"}, " /": nil, "mail /": nil}
	if diff := cmp.Diff(of, chosen(seed)); diff != "" {
		t.Errorf("chosen (-want +got):\n%s", diff)
	}
}
