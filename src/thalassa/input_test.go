package thalassa

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// office is a cluster whose service controller runs until the test ends.
type office struct {
	*testCluster
	nodes []*corev1.Node
}

// office starts it, with two nodes and, if it is not nil, a Service that is served already.
func (l *lab) office(web *corev1.Service) office {
	l.Helper()
	nodes := l.nodes("a", "b")
	if web != nil {
		l.published(web, nodes)
	}
	t := l.testCluster(web, nodes)
	t.recorder = record.NewFakeRecorder(1000)
	ctx, cancel := context.WithCancel(l.Context())
	ended := make(chan struct{})
	if err := t.control(ctx, l, ended); err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { cancel(); <-ended })
	<-time.After(time.Second)
	l.emulator.ResetCounters()
	return office{t, nodes}
}

// warned are the warnings so far.
func (o office) warned() string {
	var all []string
	for {
		select {
		case event := <-o.recorder.Events:
			if strings.HasPrefix(event, corev1.EventTypeWarning) {
				all = append(all, event)
			}
		default:
			return strings.Join(all, "\n")
		}
	}
}

// many are ports from 1000 on.
func many(count int) []corev1.ServicePort {
	var ports []corev1.ServicePort
	for i := range int32(count) {
		ports = append(ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Protocol: corev1.ProtocolTCP, Port: 1000 +
			i, NodePort: 30000 + i})
	}
	return ports
}

// want is what a Service's owner is informed, and what becomes of the load balancer.
type want struct {
	serves    bool
	ports     int
	warning   string             // "" for none
	condition string             // that is False; "" for none
	check     func(*lab, office) // more; nil for nothing
}

// input is a change of a Service, and what it leads to.
type input struct {
	change func(*corev1.Service)
	want   want
}

// annotationsOfOtherProducts restrict as their products do, or have no effect.
func annotationsOfOtherProducts() map[string]input {
	return map[string]input{
		"internal in AWS": {elsewhere("service.beta.kubernetes.io/aws-load-balancer-internal", "true"),
			want{false, 0, "set loadbalancer.k8s.thalassa.cloud/type to internal, or to public",
				"LoadBalancerConfigValid", nil}},
		"an address in MetalLB": {elsewhere("metallb.io/loadBalancerIPs", "192.0.2.1"),
			want{true, 2, "UnsupportedSetting", "LoadBalancerConfigValid", nil}},
	}
}

// TestBadInputOfNewServices: each has a defined answer, and what is not served leaves nothing in the cloud.
func TestBadInputOfNewServices(t *testing.T) {
	t.Parallel()
	long := func(letter string, count int) string { return strings.Repeat(letter, count) }
	tests := map[string]input{
		"a hundred ports": {func(s *corev1.Service) { s.Spec.Ports = many(100) }, want{true, 100, "", "", nil}},
		"a hundred ports and one": {func(s *corev1.Service) { s.Spec.Ports = many(101) },
			want{false, 0, "a load balancer of Thalassa Cloud has at most 100 ports, and Service shop/web has 101",
				"LoadBalancerProvisioned", nil}},
		"the longest names": {func(s *corev1.Service) {
			s.Namespace, s.Name, s.UID = long("n", 63), long("s", 63), "0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f"
			s.Spec.Ports[0].Name, s.Labels = long("p", 63), map[string]string{long("k", 253) + "/" +
				long("l", 63): long("v", 63)}
		}, want{true, 2, "", "", nil}},
		"no node ports at all": {func(s *corev1.Service) { s.Spec.Ports[0].NodePort, s.Spec.Ports[1].NodePort = 0, 0 },
			want{false, 0, "ports 80, 443 of Service shop/web have no node ports, and the load balancer reaches pods " +
				"through node ports: set spec.allocateLoadBalancerNodePorts", "LoadBalancerConfigValid", onlyReported}},
		"SCTP": {func(s *corev1.Service) { s.Spec.Ports[1].Protocol = corev1.ProtocolSCTP },
			want{true, 1,
				"port 443/SCTP of Service shop/web: Thalassa Cloud load balancers have no SCTP; use TCP or UDP",
				"LoadBalancerConfigValid", nil}},
		"sources of a port that cannot be read": {annotated("acl-port-p443", "nobody"), want{true, 1, "acl-port-p443",
			"LoadBalancerConfigValid", nil}},
		"sources that cannot be read": {annotated("acl-allowed-sources", "nobody"),
			want{false, 0, "acl-allowed-sources", "LoadBalancerConfigValid", nil}},
		"an annotation of the longest value": {func(s *corev1.Service) {
			s.Annotations[label.AnnotationPrefix+"max-connections"] = long("9", 200000)
		}, want{true, 2, "max-connections", "LoadBalancerConfigValid", nil}},
	}
	maps.Copy(tests, annotationsOfOtherProducts())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				o := l.office(nil)
				web := service("web", 80, 443)
				tt.change(web)
				o.put(web)
				<-time.After(10 * time.Minute)
				tt.want.check = first(tt.want.check)
				o.expect(tt.want)
			})
		})
	}
}

// elsewhere returns what puts the annotation of another product on a Service that does not say whether it is public.
func elsewhere(name, value string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		delete(s.Annotations, label.AnnotationPrefix+nameType)
		s.Annotations[name] = value
	}
}

// onlyReported is for what only a change of the Service can end: one condition says so, and nothing is tried again.
func onlyReported(l *lab, o office) {
	l.Helper()
	for _, condition := range o.cluster.Services()[0].Status.Conditions {
		if condition.Status != metav1.ConditionTrue && condition.Type != "LoadBalancerConfigValid" {
			l.Errorf("condition %s is %s: %s", condition.Type, condition.Status, condition.Message)
		}
	}
	l.emulator.ResetCounters()
	<-time.After(time.Hour)
	if warned := o.warned(); warned != "" || len(l.writes()) > 0 {
		l.Errorf("later warnings %q, writes %q", warned, l.writes())
	}
}

func first(check func(*lab, office)) func(*lab, office) {
	if check == nil {
		return func(*lab, office) {}
	}
	return check
}

// expect compares with the cluster and the cloud.
func (o office) expect(w want) {
	o.Helper()
	service := o.cluster.Services()[0]
	if serves := len(service.Status.LoadBalancer.Ingress) > 0; serves != w.serves {
		o.Errorf("it serves: %t, want %t", serves, w.serves)
	}
	warned := o.warned()
	if (w.warning == "") != (warned == "") || !strings.Contains(warned, w.warning) {
		o.Errorf("warnings %q, want %q", cut(warned), w.warning)
	}
	retried := !w.serves && strings.Contains(warned, "SyncLoadBalancerFailed")
	if events := strings.Count(warned, "\n") + 1; !retried && w.condition == "LoadBalancerConfigValid" && events != 1 {
		o.Errorf("%d warnings, want one: %q", events, cut(warned))
	}
	for _, condition := range service.Status.Conditions {
		if isFalse := condition.Status == metav1.ConditionFalse; isFalse && condition.Type != w.condition &&
			(w.serves || !slices.Contains([]string{"LoadBalancerProvisioned", "LoadBalancerSynced"}, condition.Type)) {
			o.Errorf("condition %s is False: %s", condition.Type, cut(condition.Message))
		}
	}
	if w.condition != "" && !meta.IsStatusConditionFalse(service.Status.Conditions, w.condition) {
		o.Errorf("conditions %v, want %s False", service.Status.Conditions, w.condition)
	}
	if left := o.leftovers(); !w.serves && len(left) > 0 {
		o.Errorf("half of it is made: %q", left[:1])
	}
	ports := 0
	for _, balancer := range o.emulator.State().LoadBalancers {
		ports += len(balancer.Listeners)
	}
	if ports != w.ports {
		o.Errorf("%d ports, want %d", ports, w.ports)
	}
	w.check(o.lab, o)
}

// cut is the beginning of a text.
func cut(text string) string { return text[:min(len(text), 1000)] }
