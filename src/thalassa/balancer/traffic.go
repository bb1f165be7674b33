package balancer

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// nameMaxTargets is the annotation that limits how many nodes a load balancer sends to.
const nameMaxTargets = "max-targets"

// policyOfAffinity sends all connections of a client to the same node, as long as the nodes stay the same.
const policyOfAffinity = resource.PolicyMaglev

// wantsAffinity says that the Service asks for session affinity.
func wantsAffinity(service *corev1.Service) bool {
	return service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP
}

// setAffinityPolicy sets the policy that session affinity needs, for ports without a policy in the Service. It applies
// only to load balancers that this program created: others keep their policy. It overrides a default of the cluster.
func (s settings) setAffinityPolicy(service *corev1.Service) {
	if !wantsAffinity(service) {
		return
	}
	for key, port := range s.ports {
		if !port.policy.Given {
			port.policy.Value = policyOfAffinity
			s.ports[key] = port
		}
	}
}

// affinityNotices describes which parts of session affinity the Service asks for and does not get, and what to do
// instead.
func (d desired) affinityNotices(service *corev1.Service, o Observed) []cloud.Notice {
	if !wantsAffinity(service) {
		return nil
	}
	var notices []cloud.Notice
	var named, kept []string
	for _, port := range d.Ports {
		policy := d.ports[port.Key].policy
		switch {
		case policy.Invalid: // another notice describes it
		case policy.Given && policy.Value != policyOfAffinity:
			named = append(named, port.Key.String())
		case d.policyOf(port, o) != policyOfAffinity:
			kept = append(kept, port.Key.String())
		}
	}
	if len(named) > 0 {
		notices = append(notices, settingNotice(reasonConflict, textAffinityPolicy,
			label.AnnotationPrefix, strings.Join(named, ", "), policyOfAffinity))
	}
	if len(kept) > 0 {
		notices = append(notices, settingNotice(reasonUnsupported, textAffinityKept,
			strings.Join(kept, ", "), label.AnnotationPrefix, policyOfAffinity))
	}
	return append(notices, affinityTimeoutNotices(service)...)
}

// policyOf returns the policy that the port's target group has or will get.
func (d desired) policyOf(port cloud.Port, o Observed) string {
	asked := d.ports[port.Key].policy
	group := o.group(portLabels(d.labels, port.Key), o.listener(port.Key))
	if group == nil {
		return asked.Value
	}
	record := d.recordOf(group.Labels, group.Annotations)
	return desiredValue(record, d.annotations.policy.Name(), asked, group.Policy)
}

// affinityTimeoutNotices describes that the cloud has no timeout of session affinity. The API server sets the default
// timeout on every Service, so only another value was requested.
func affinityTimeoutNotices(service *corev1.Service) []cloud.Notice {
	config := service.Spec.SessionAffinityConfig
	if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil ||
		*config.ClientIP.TimeoutSeconds == corev1.DefaultClientIPServiceAffinitySeconds {
		return nil
	}
	return []cloud.Notice{settingNotice(reasonUnsupported, textAffinityTimeout,
		*config.ClientIP.TimeoutSeconds, corev1.DefaultClientIPServiceAffinitySeconds)}
}

// maxTargetsNotices describes that the number of targets is not limited although the Service asks for it.
func (d desired) maxTargetsNotices(service *corev1.Service) []cloud.Notice {
	setting := d.annotations.maxTargets.From(d.values)
	if !setting.Given || setting.Value == 0 || !helpers.RequestsOnlyLocalTraffic(service) {
		return nil
	}
	return []cloud.Notice{settingNotice(reasonUnsupported, textMaxTargetsLocal, label.AnnotationPrefix, nameMaxTargets)}
}

// listenerSetting is an annotation with a number that becomes one field of a listener. To add one, add it to
// registerTraffic, and the field to [resource.Listener].
type listenerSetting struct {
	key   annotation.Key[int]
	text  string // the field in plans
	field func(*resource.Listener) *uint32
}

// registerTraffic adds the annotations about traffic.
func (a *annotations) registerTraffic() {
	r := a.registry
	a.policy = annotation.Register(r, annotation.Definition{
		Name: "loadbalancing-policy", Topic: topicPorts, Since: since, Example: resource.PolicyMaglev,
		PerPort: true,
		Effect: "How connections are distributed over the nodes. MAGLEV sends connections of one client to the same " +
			"node.",
		Without: resource.PolicyRoundRobin +
			"; with spec.sessionAffinity: ClientIP, MAGLEV on load balancers that this program created",
	}, annotation.Enum(resource.PolicyRoundRobin, resource.PolicyRandom,
		resource.PolicyMaglev),
		resource.PolicyRoundRobin)
	a.proxyProtocol = annotation.Register(r, annotation.Definition{
		Name: "enable-proxy-protocol", Topic: topicPorts, Since: since, Example: "true", PerPort: true,
		Effect: "Sends the client's address to the pods in a PROXY protocol header. The pods must support PROXY " +
			"protocol.",
	}, annotation.Bool(), false)
	a.listener = []listenerSetting{{
		key: annotation.Register(r, annotation.Definition{
			Name: "max-connections", Topic: topicPorts, Since: since, Example: "20000", PerPort: true,
			Effect: "The maximum number of concurrent connections of one port of the load balancer.",
		}, annotation.Int(1, maxConnectionsLimit, "connections"), 10000),
		text: "connection limit", field: func(l *resource.Listener) *uint32 { return &l.MaxConnections },
	}, {
		key: annotation.Register(r, annotation.Definition{
			Name: "idle-connection-timeout", Topic: topicPorts, Since: since, Example: "600", PerPort: true,
			Effect: "The time, in seconds, after which a connection without traffic is closed.",
		}, annotation.Int(1, maxIdleSeconds, "seconds"), 6000),
		text: "idle timeout", field: func(l *resource.Listener) *uint32 { return &l.IdleTimeout },
	}}
	a.nodeSelector = annotation.Register(r, annotation.Definition{
		Name: nameNodeSelector, Topic: topicPorts, Since: since, OneService: true,
		Example: "node-role.example.com/edge=true",
		Effect: "A label selector for the nodes that receive traffic. An empty value selects every node. If no node " +
			"matches, the targets " +
			"do not change.",
		Without: "every node",
	}, annotation.Selector(), labels.Everything())
	a.maxTargets = annotation.Register(r, annotation.Definition{
		Name: nameMaxTargets, Topic: topicPorts, Since: "0.1.0", Example: "250", OneService: true,
		Effect: "The largest number of nodes that receive traffic, evenly from all zones. Each Service has other " +
			"nodes. 0 is no limit. It does not apply with externalTrafficPolicy: Local, where all nodes with a ready " +
			"pod receive traffic.",
		Without: "loadBalancer.maxTargets of the cloud-config",
	}, annotation.Int(0, cloudconfig.MaxTargetsLimit, "nodes"), 0)
}
