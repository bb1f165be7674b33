package thalassa

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// legacy is what the existing CCM leaves in the cloud for a Service; groups and listeners are those of its ports, in
// their order.
type legacy struct {
	balancer  iaas.CreateLoadbalancer
	groups    []iaas.CreateTargetGroup
	listeners []iaas.CreateListener
}

// legacyOf is made without any code of the provider, so that no mistake in it is in both.
func legacyOf(s *corev1.Service, additional map[string]string) legacy {
	name := "a" + strings.ReplaceAll(string(s.UID), "-", "")
	labels := map[string]string{
		"k8s.thalassa.cloud/kubernetes-cluster": "k8s-test", "k8s.thalassa.cloud/cloud-provider-managed": "true",
		"k8s.thalassa.cloud/kubernetes-service-name":      s.Name,
		"k8s.thalassa.cloud/kubernetes-service-namespace": s.Namespace,
		"k8s.thalassa.cloud/kubernetes-service-uid":       string(s.UID),
	}
	maps.Copy(labels, additional)
	old := legacy{balancer: iaas.CreateLoadbalancer{
		Name: name[:min(len(name), 32)], Description: "Load balancer for Service " + s.Name, Labels: labels,
		Subnet: emulator.DefaultSubnet,
	}}
	for _, port := range s.Spec.Ports {
		old.addPort(s, port)
	}
	return old
}

func (o *legacy) addPort(s *corev1.Service, port corev1.ServicePort) {
	protocol, number := strings.ToLower(string(port.Protocol)), strconv.Itoa(int(port.Port))
	name := o.balancer.Name + "-" + port.Name
	if port.Name == "" {
		name = o.balancer.Name + "-" + protocol + "-p" + number
	}
	labels := maps.Clone(o.balancer.Labels)
	labels["k8s.thalassa.cloud/kubernetes-service-port"], labels["k8s.thalassa.cloud/kubernetes-service-protocol"] =
		number, protocol
	policy, proxy, limit, idle := iaas.LoadbalancingPolicyRoundRobin, false, uint32(10000), uint32(6000)
	group := iaas.CreateTargetGroup{
		Name: name, Labels: labels, Vpc: emulator.DefaultVPC, TargetPort: int(port.NodePort),
		Protocol:            iaas.LoadbalancerProtocol(protocol),
		LoadbalancingPolicy: &policy, EnableProxyProtocol: &proxy,
	}
	if s.Spec.HealthCheckNodePort > 0 {
		group.HealthCheck = &iaas.BackendHealthCheck{Protocol: "http", Port: s.Spec.HealthCheckNodePort,
			Path:          "/healthz",
			PeriodSeconds: 10, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 3}
	}
	o.groups = append(o.groups, group)
	o.listeners = append(o.listeners, iaas.CreateListener{
		Name: name, Labels: labels, Port: int(port.Port), Protocol: group.Protocol, MaxConnections: &limit,
		ConnectionIdleTimeout: &idle,
	})
}

// plant makes the objects in the cloud, with all nodes as targets, and resets the counters.
func (l *lab) plant(old legacy, nodes []*corev1.Node) {
	l.Helper()
	balancer, err := l.api().CreateLoadbalancer(l.Context(), old.balancer)
	if err != nil {
		l.Fatal(err)
	}
	for i, create := range old.groups {
		group, err := l.api().CreateTargetGroup(l.Context(), create)
		if err != nil {
			l.Fatal(err)
		}
		var targets []iaas.AttachTarget
		for _, node := range nodes {
			targets = append(targets, iaas.AttachTarget{ServerIdentity: strings.TrimPrefix(node.Spec.ProviderID,
				"thalassacloud://")})
		}
		batch := iaas.TargetGroupAttachmentsBatch{TargetGroupID: group.Identity, Attachments: targets}
		if err := l.api().SetTargetGroupServerAttachments(l.Context(), batch); err != nil {
			l.Fatal(err)
		}
		if i >= len(old.listeners) {
			continue // a target group that was left over
		}
		listener := old.listeners[i]
		listener.TargetGroup = group.Identity
		if _, err := l.api().CreateListener(l.Context(), balancer.Identity, listener); err != nil {
			l.Fatal(err)
		}
	}
	l.emulator.ResetCounters()
}

// annotated returns what puts annotations of this cloud, name and value in turn, on a Service.
func annotated(pairs ...string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		for pair := range slices.Chunk(pairs, 2) {
			s.Annotations[label.AnnotationPrefix+pair[0]] = pair[1]
		}
	}
}

// TestTakeoverOfALeak: when its additional labels change, the existing CCM does not find its target groups any more,
// makes a second set and keeps the first for ever. And it never changes the labels of a load balancer.
func TestTakeoverOfALeak(t *testing.T) {
	l := newLab(t, emulator.Config{})
	l.config.AdditionalLabels = map[string]string{"team": "till"}
	l.restart()
	nodes, web := l.nodes("a"), service("web", 80)
	old := legacyOf(web, l.config.AdditionalLabels)
	old.balancer.Labels = legacyOf(web, map[string]string{"team": "shop"}).balancer.Labels
	old.groups = append(old.groups, legacyOf(web, map[string]string{"team": "shop"}).groups...)
	l.plant(old, nodes)
	served := l.balancer().LoadbalancerListeners[0].TargetGroup.Identity
	if reason := l.reasonsOf(web,
		nodes)["delete target group"]; reason != "port 80/TCP has another target group, and nothing uses this one" {
		t.Errorf("the target group that was left over goes because %q", reason)
	}
	l.settle(web, nodes)
	if got := l.group().Identity; got != served {
		t.Errorf("target group %s is left, want %s, which the listener uses", got, served)
	}
	if got := l.balancer().Labels["team"]; got != "till" {
		t.Errorf("label team = %q, want the new one", got)
	}
	if writes := l.writes(); len(writes) != 2 {
		t.Errorf("writes = %v; want one for the labels and one for the group that was left over", writes)
	}
}

// reasonsOf are the reasons of the writes of the Service's next sync, by verb and kind.
func (l *lab) reasonsOf(s *corev1.Service, nodes []*corev1.Node) map[string]string {
	l.Helper()
	found, err := l.cloud.balancers.Diff(l.Context(), s, cloud.ChooseTargets(nodes, l.cloud.balancers.Identify), false)
	if err != nil {
		l.Fatal(err)
	}
	reasons := map[string]string{}
	for _, write := range found.Plan {
		reasons[string(write.Verb)+" "+write.Kind] = write.Why
	}
	return reasons
}
