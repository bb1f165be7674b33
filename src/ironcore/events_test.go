package ironcore

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// existing adds a load balancer with the name of the Service's.
func (r *rig) existing(owner label.Owner, network string) {
	r.Helper()
	if !r.server.Add(&networkingv1alpha1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: serviceName, Annotations: owner.Annotations()},
		Spec: networkingv1alpha1.LoadBalancerSpec{Type: networkingv1alpha1.LoadBalancerTypePublic,
			IPFamilies: service().Spec.IPFamilies, NetworkRef: corev1.LocalObjectReference{Name: network}}}) {
		r.Fatal("the load balancer was not added")
	}
}

// TestEvents: each limit of IronCore that the guide names has an event with the reason that it names, and with what to
// do.
func TestEvents(t *testing.T) {
	own := label.Owner{Cluster: testCluster, Service: serviceOf("shop/web"), UID: serviceUID}
	other := label.Owner{Cluster: "green", Service: serviceOf("shop/api"), UID: "4a1e8c5e"}
	for title, tt := range map[string]struct {
		prepare func(*rig)
		service func(*corev1.Service)
		reason  string
		message []string
		also    string // the reason of another event, about endpoints
		created bool   // there is a load balancer with the port of the Service
	}{
		"source ranges": {service: func(s *corev1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
		},
			reason: "UnsupportedSetting", message: []string{"Use a NetworkPolicy"}, created: true},
		"session affinity": {service: func(s *corev1.Service) {
			s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		},
			reason: "UnsupportedSetting", message: []string{"Set it to None"}, created: true},
		"a public address": {service: func(s *corev1.Service) { s.Spec.LoadBalancerIP = "192.0.2.9" },
			reason: "UnsupportedSetting", message: []string{"Remove it"}, created: true},
		"Local with a selector": {prepare: func(r *rig) { r.selector = true }, service: func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		},
			reason: "UnsupportedSetting", message: []string{"--use-nic-selector=false"}, also: "NoReadyEndpoints",
			created: true},
		"an invalid annotation": {service: internalService("yes"), reason: "InvalidAnnotation",
			message: []string{label.Internal, "true or false", "is not created"}},
		"an unknown annotation": {service: func(s *corev1.Service) {
			s.Annotations = map[string]string{label.ServicePrefix + "load-balancer-proxy-protocol": "true"}
		}, reason: "InvalidAnnotation", message: []string{"is not known and has no effect"}, created: true},
		"an invalid address": {service: func(s *corev1.Service) {
			internalService("true")(s)
			s.Spec.LoadBalancerIP = "fd00::1"
		}, reason: "InvalidAnnotation", message: []string{"spec.ipFamilies"}},
		"another network": {prepare: func(r *rig) { r.existing(own, "before") }, reason: "SyncLoadBalancerFailed",
			message: []string{"is in network before", "delete the Service and create it again"}},
		"another owner": {prepare: func(r *rig) { r.existing(other, testNetwork) }, reason: "SyncLoadBalancerFailed",
			message: []string{"shop/api", "delete it in IronCore if nothing uses it"}},
		"no address": {prepare: func(r *rig) {
			r.server = simulator.New(simulator.Options{Namespace: testNamespace, Network: testNetwork,
				Provision: time.Hour})
			r.addMachine("a")
		}, reason: "LoadBalancerSlow", message: []string{`is still "creating" after 5m0s`}, created: true},
		"no network interface": {prepare: func(r *rig) { r.server.Delete("NetworkInterface", interfaceOf("a")) },
			reason: "NoNetworkInterface", message: []string{"Attach one"}, created: true},
	} {
		t.Run(title, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.addMachine("a")
				if tt.prepare != nil {
					tt.prepare(r)
				}
				if tt.service == nil {
					tt.service = func(*corev1.Service) {}
				}
				without := node("a") // routes have events of their own
				without.Annotations = map[string]string{labelDomain + "/exclude-from-routes": "true"}
				c := r.withControllers(logr.Logger{}, without)
				c.addService(tt.service)
				workerpooltest.Pass(10 * time.Minute)
				c.wantWarnings(tt.reason, tt.also, tt.message...)
				made, exists := r.server.LoadBalancer(serviceName)
				want(r, "is created", exists && len(made.Spec.Ports) == 1, tt.created)
			})
		})
	}
}

// wantWarnings checks that there are warnings with the reason, that each contains the parts, and that no other warning
// has another reason than also.
func (c *controlledCluster) wantWarnings(reason, also string, parts ...string) {
	c.Helper()
	count := 0
	for _, event := range c.process.Events() {
		kind, rest, _ := strings.Cut(event, " ")
		got, message, _ := strings.Cut(rest, " ")
		if kind != corev1.EventTypeWarning || got == also {
			continue
		}
		count++
		want(c, "reason of "+message, got, reason)
		wantText(c, "message", message, parts...)
	}
	if count == 0 {
		c.Error("there is no warning")
	}
}

// TestEventOfForeignField: if somebody else has set a field in IronCore, the event names it.
func TestEventOfForeignField(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.withControllers(logr.Logger{}, node("a"))
		c.addService()
		c.process.Events()
		r.edit(`{"spec":{"ports":[{"port":8080,"protocol":"TCP"}]}}`)
		workerpooltest.Pass(time.Minute)
		events := c.eventsWith("LoadBalancerNotRepaired")
		if len(events) != 1 {
			t.Fatalf("got the events %q, want one", events)
		}
		wantText(r, "event", events[0], "spec.ports", "kubectl-edit", "set it back")
	})
}
