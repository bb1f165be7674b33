package balancer

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// TestOrderOfWrites: additions come before removals, what protects a port before what opens it, and what is used
// outlives what uses it.
func TestOrderOfWrites(t *testing.T) {
	for _, l := range slices.Concat(livesOfPorts(), livesOfUnservedPorts(), livesOfSpecs(), livesOfSpecAddresses(),
		livesOfTakenOvers(), livesOfTakenOverChecks(), livesOfTakenOverLimits(), livesOfUnreadableSources(),
		livesOfRestrictions(), livesOfTargets(), livesOfDrift(), livesOfOthersValues(), livesByHand()) {
		t.Run(l.name, l.run)
	}
}

// ports returns what gives a Service other ports: "80 443:31000 53/UDP".
func ports(text string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Spec.Ports = nil
		for one := range strings.FieldsSeq(text) {
			one, nodePort, other := strings.Cut(one, ":")
			port, protocol, _ := strings.Cut(one, "/")
			made := service("web", number(port)).Spec.Ports[0]
			if other {
				made.NodePort = number(nodePort)
			}
			if protocol != "" {
				made.Name, made.Protocol = made.Name+"-"+strings.ToLower(protocol), corev1.Protocol(protocol)
			}
			s.Spec.Ports = append(s.Spec.Ports, made)
		}
	}
}

// number returns a port as a number.
func number(text string) int32 {
	port, _ := strconv.ParseInt(text, 10, 32)
	return int32(port)
}

func livesOfPorts() []life {
	return []life{
		{name: "ports", new: true, steps: []step{
			{want: `
create target group web-p80
update target group web-p80: 0 machines become 3
create target group web-p443
update target group web-p443: 0 machines become 3
create load balancer web`},
			{spec: ports("80 8443"), want: `
create target group web-p8443
update target group web-p8443: 0 machines become 3
create listener web-p8443
delete listener web-p443: the Service has no such port (closes)
delete target group web-p443: the Service has no such port`},
			{spec: ports("80"), want: `
delete listener web-p8443: the Service has no such port (closes)
delete target group web-p8443: the Service has no such port`},
			{spec: ports("80 443 8443"), want: `
create target group web-p443
update target group web-p443: 0 machines become 3
create target group web-p8443
update target group web-p8443: 0 machines become 3
create listener web-p443
create listener web-p8443`},
		}},
		{name: "node port", steps: []step{
			{spec: ports("80:31000 443"), want: `
update target group web-p80: target port 30080 becomes 31000, health check tcp :30080/healthz becomes tcp
  :31000/healthz`},
			{spec: ports("80:30443 443:30080"), want: `
update target group web-p80: target port 31000 becomes 30443, health check tcp :31000/healthz becomes tcp
  :30443/healthz
update target group web-p443: target port 30443 becomes 30080, health check tcp :30443/healthz becomes tcp
  :30080/healthz`},
		}},
		{name: "name of a port", steps: []step{
			{ask: "acl-port-p443=10.0.0.0/8 enable-proxy-protocol.p443=true", want: `
update target group web-p443: PROXY protocol false becomes true
update listener web-p443: allowed sources everybody becomes 10.0.0.0/8 (closes)`},
			{ask: "acl-port-p443=10.0.0.0/8 enable-proxy-protocol.p443=true", spec: renamed, want: `
InvalidAnnotation: annotation acl-port-p443: is for a port that the Service does not have; did you mean …
InvalidAnnotation: annotation enable-proxy-protocol.p443: is for a port that the Service does not have; …`},
		}},
		{name: "protocol", new: true, steps: []step{
			{spec: ports("80 53 53/UDP:31053"), want: `
create target group web-p53
update target group web-p53: 0 machines become 3
create target group web-p53-udp
update target group web-p53-udp: 0 machines become 3
create target group web-p80
update target group web-p80: 0 machines become 3
create load balancer web`},
			{spec: ports("80 53/UDP:31053"), want: `
delete listener web-p53: the Service has no such port (closes)
delete target group web-p53: the Service has no such port`},
			{spec: ports("80 80/UDP"), want: `
create target group web-p80-udp
update target group web-p80-udp: 0 machines become 3
create listener web-p80-udp
delete listener web-p53-udp: the Service has no such port (closes)
delete target group web-p53-udp: the Service has no such port`},
		}},
	}
}

// livesOfUnservedPorts are about ports that the cloud cannot serve.
func livesOfUnservedPorts() []life {
	return []life{
		{name: "protocol that there is not", steps: []step{
			{spec: ports("80 443/SCTP"), want: `
delete listener web-p443: the Service has no such port (closes)
delete target group web-p443: the Service has no such port
UnsupportedSetting: port 443/SCTP of Service shop/web: Thalassa Cloud load balancers have no SCTP; use …`},
			{spec: ports("80/SCTP"), want: `
delete listener web-p80: the Service has no such port (closes)
delete target group web-p80: the Service has no such port
UnsupportedSetting: port 80/SCTP of Service shop/web: Thalassa Cloud load balancers have no SCTP; use …`},
		}},
		{name: "SCTP alone", new: true, steps: []step{{spec: ports("80/SCTP"), want: `
refused: no port of the Service can be opened
UnsupportedSetting: port 80/SCTP of Service shop/web: Thalassa Cloud load balancers have no SCTP; use …`}}},
		{name: "no node port", new: true, keeps: true, steps: []step{
			{spec: ports("80:0 443"), want: `
create target group web-p443
update target group web-p443: 0 machines become 3
create load balancer web
UnsupportedSetting: port 80 of Service shop/web has no node port, and the load balancer reaches pods …`},
			{spec: ports("80:0 443:0"), want: `
UnsupportedSetting: ports 80, 443 of Service shop/web have no node ports, and the load balancer reaches …`},
			{want: `
create target group web-p80
update target group web-p80: 0 machines become 3
create listener web-p80`},
		}},
		{name: "too many ports", new: true, steps: []step{
			{spec: func(s *corev1.Service) { s.Spec.Ports = many(101) }, want: `
refused: a load balancer of Thalassa Cloud has at most 100 ports, and Service shop/web has 101: 101 of …`},
			{want: `
create target group web-p80
update target group web-p80: 0 machines become 3
create target group web-p443
update target group web-p443: 0 machines become 3
create load balancer web`},
			{spec: func(s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, many(99)...) }, want: `
refused: a load balancer of Thalassa Cloud has at most 100 ports, and Service shop/web has 101: 99 of …`},
			{spec: func(s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, many(99)...) },
				hand: nodes("vm-a", "vm-b"), want: `
update target group web-p80: 3 machines become 2
update target group web-p443: 3 machines become 2
refused: a load balancer of Thalassa Cloud has at most 100 ports, and Service shop/web has 101: 99 of …`},
		}},
	}
}

// livesOfSpecs are about fields of a Service that mean the same as annotations, or more.
func livesOfSpecs() []life {
	return []life{
		{name: "policy Local", steps: []step{
			{spec: policyLocal, want: `
update target group web-p80: health check tcp :30080/healthz becomes http :32000/healthz
update target group web-p443: health check tcp :30443/healthz becomes http :32000/healthz`},
			{ask: "health-check-port=8081", spec: policyLocal, want: `
update target group web-p80: health check http :32000/healthz becomes http :8081/healthz
update target group web-p443: health check http :32000/healthz becomes http :8081/healthz`},
			{ask: "health-check-protocol=tcp", spec: policyLocal, want: `
update target group web-p80: health check http :8081/healthz becomes http :32000/healthz
update target group web-p443: health check http :8081/healthz becomes http :32000/healthz
ConflictingSettings: With externalTrafficPolicy Local the nodes are always checked by HTTP, because …`},
			{ask: "health-check-enabled=false", spec: policyLocal, want: `
ConflictingSettings: With externalTrafficPolicy Local the nodes are always checked by HTTP, because …`},
			{ask: "health-check-enabled=false", want: `
update target group web-p80: health check http :32000/healthz becomes none
update target group web-p443: health check http :32000/healthz becomes none`},
		}},
		{name: "session affinity", steps: []step{
			{spec: byClient(10800), want: `
update target group web-p80: policy ROUND_ROBIN becomes MAGLEV
update target group web-p443: policy ROUND_ROBIN becomes MAGLEV`},
			{ask: "loadbalancing-policy.p80=RANDOM", spec: byClient(10800), want: `
update target group web-p80: policy MAGLEV becomes RANDOM
ConflictingSettings: spec.sessionAffinity is ClientIP, and annotation loadbalancing-policy names a …`},
			{ask: "loadbalancing-policy=FASTEST", spec: byClient(10800), want: `
InvalidAnnotation: annotation loadbalancing-policy: "FASTEST" is not one of ROUND_ROBIN, RANDOM, MAGLEV`},
			{spec: byClient(60), want: `
update target group web-p80: policy RANDOM becomes MAGLEV
UnsupportedSetting: spec.sessionAffinityConfig.clientIP.timeoutSeconds is 60, and load balancers of …`},
			{want: `
update target group web-p80: policy MAGLEV becomes ROUND_ROBIN
update target group web-p443: policy MAGLEV becomes ROUND_ROBIN`},
		}},
		{name: "source ranges", steps: []step{
			{spec: ranges("203.0.113.0/24"), want: `
update listener web-p80: allowed sources everybody becomes 203.0.113.0/24 (closes)
update listener web-p443: allowed sources everybody becomes 203.0.113.0/24 (closes)`},
			{ask: "acl-port-443=10.0.0.0/8", spec: ranges("203.0.113.0/24"), want: `
update listener web-p443: allowed sources 203.0.113.0/24 becomes 10.0.0.0/8, 203.0.113.0/24`},
			{ask: "acl-allowed-sources=0.0.0.0/0", spec: ranges("10.0.0.0/8"), want: `
update listener web-p80: allowed sources 203.0.113.0/24 becomes 0.0.0.0/0, 10.0.0.0/8
update listener web-p443: allowed sources 10.0.0.0/8, 203.0.113.0/24 becomes 0.0.0.0/0, 10.0.0.0/8`},
			{spec: ranges("10.0.0.0/8", "everybody"), want: `
InvalidAnnotation: annotation spec.loadBalancerSourceRanges: "everybody" is not a network like …`},
			{ask: "service.beta.kubernetes.io/load-balancer-source-ranges=192.0.2.0/24", want: `
update listener web-p80: allowed sources 0.0.0.0/0, 10.0.0.0/8 becomes 192.0.2.0/24 (closes)
update listener web-p443: allowed sources 0.0.0.0/0, 10.0.0.0/8 becomes 192.0.2.0/24 (closes)`},
			{want: `
update listener web-p80: allowed sources 192.0.2.0/24 becomes everybody, the allowed-sources is no longer
  managed by this Service
update listener web-p443: allowed sources 192.0.2.0/24 becomes everybody, the allowed-sources is no longer
  managed by this Service`},
		}},
		{name: "session affinity before a default", new: true, keeps: true, defaults: "loadbalancing-policy=RANDOM",
			steps: []step{
				{ask: "loadbalancing-policy.p80=ROUND_ROBIN", spec: byClient(10800), want: `
create target group web-p80
update target group web-p80: 0 machines become 3
create target group web-p443
update target group web-p443: 0 machines become 3
create load balancer web
ConflictingSettings: spec.sessionAffinity is ClientIP, and annotation loadbalancing-policy names a …`},
				{want: `
update target group web-p80: policy ROUND_ROBIN becomes RANDOM
update target group web-p443: policy MAGLEV becomes RANDOM`},
			}},
	}
}

// livesOfSpecAddresses are about the address that the spec of a Service asks for.
func livesOfSpecAddresses() []life {
	return []life{
		{name: "address in the spec", steps: []step{
			{spec: address("203.0.113.2"), want: "update load balancer web: reserved IP none becomes rip-two"},
			{ask: "reserved-ip=one", spec: address("203.0.113.2"), want: `
ConflictingSettings: Annotation reserved-ip names rip-one (203.0.113.1), but spec.loadBalancerIP is …`},
			{spec: address("198.51.100.1"), want: `
UnknownReservedIP: spec.loadBalancerIP: region nl-01 has no reserved IP "198.51.100.1". Reserve one in …`},
			{spec: address("shop"), want: `
UnknownReservedIP: spec.loadBalancerIP: "shop" is not an IP address; give the address of a reserved IP, …`},
			{want: `
update load balancer web: reserved IP rip-two becomes none, the reserved-ip is no longer managed by this
  Service`},
		}},
	}
}

// renamed gives a port another name.
func renamed(s *corev1.Service) { s.Spec.Ports[1].Name = "tls" }

// byClient asks for session affinity.
func byClient(seconds int32) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig =
			&corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
}

// ranges are source ranges in the spec.
func ranges(texts ...string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = texts }
}

// address is an address in the spec.
func address(text string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerIP = text }
}

// Ways to restrict ports.
const (
	sourcesOnly     = "acl-allowed-sources=10.0.0.0/8"
	groupOnly       = "security-groups=one"
	ownGroup        = "create-security-group=true acl-allowed-sources=10.0.0.0/8"
	groupAndSources = "security-groups=two acl-allowed-sources=192.0.2.0/24"
)

// livesOfRestrictions go from each way to restrict ports to each other one. No port is open to everybody meanwhile.
func livesOfRestrictions() []life {
	return []life{lifeOfOneRestriction(), lifeOfTwoRestrictions()}
}

func lifeOfOneRestriction() life {
	return life{name: "one restriction", new: true, steps: []step{
		{ask: sourcesOnly, want: `
create target group web-p80
update target group web-p80: 0 machines become 3
create target group web-p443
update target group web-p443: 0 machines become 3
create load balancer web`},
		{ask: groupOnly, want: `
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources 10.0.0.0/8 becomes everybody, the allowed-sources is no longer
  managed by this Service
update listener web-p443: allowed sources 10.0.0.0/8 becomes everybody, the allowed-sources is no longer
  managed by this Service`},
		{ask: sourcesOnly, want: `
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8 (closes)
update listener web-p443: allowed sources everybody becomes 10.0.0.0/8 (closes)
update load balancer web: security groups sg-one becomes none, the security-groups is no longer managed by
  this Service`},
		{ask: ownGroup, want: `
create security group own
update load balancer web: it gets the security groups of the Service`},
		{ask: groupOnly, want: `
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources 10.0.0.0/8 becomes everybody, the allowed-sources is no longer
  managed by this Service
update listener web-p443: allowed sources 10.0.0.0/8 becomes everybody, the allowed-sources is no longer
  managed by this Service
update load balancer web: security groups sg-one, sg-own becomes sg-one, the security-group sg-own is no
  longer managed by this Service
delete security group own: the Service does not ask for one`},
		{ask: ownGroup, want: `
create security group own
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8 (closes)
update listener web-p443: allowed sources everybody becomes 10.0.0.0/8 (closes)
update load balancer web: security groups new security group own, sg-one becomes new security group own, the
  security-group sg-one is no longer managed by this Service`},
	}}
}

func lifeOfTwoRestrictions() life {
	return life{name: "two restrictions", steps: []step{
		{ask: ownGroup, want: `
create security group own
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8 (closes)
update listener web-p443: allowed sources everybody becomes 10.0.0.0/8 (closes)`},
		{ask: groupAndSources, want: `
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources 10.0.0.0/8 becomes 192.0.2.0/24
update listener web-p443: allowed sources 10.0.0.0/8 becomes 192.0.2.0/24
update load balancer web: security groups sg-own, sg-two becomes sg-two, the security-group sg-own is no
  longer managed by this Service
delete security group own: the Service does not ask for one`},
		{ask: ownGroup, want: `
create security group own
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources 192.0.2.0/24 becomes 10.0.0.0/8
update listener web-p443: allowed sources 192.0.2.0/24 becomes 10.0.0.0/8
update load balancer web: security groups new security group own, sg-two becomes new security group own, the
  security-group sg-two is no longer managed by this Service`},
		{ask: sourcesOnly, want: `
update load balancer web: security groups sg-own becomes none, the security-groups is no longer managed by
  this Service
delete security group own: the Service does not ask for one`},
		{ask: groupAndSources, want: `
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources 10.0.0.0/8 becomes 192.0.2.0/24
update listener web-p443: allowed sources 10.0.0.0/8 becomes 192.0.2.0/24`},
		{ask: groupOnly, want: `
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources 192.0.2.0/24 becomes everybody, the allowed-sources is no longer
  managed by this Service
update listener web-p443: allowed sources 192.0.2.0/24 becomes everybody, the allowed-sources is no longer
  managed by this Service
update load balancer web: security groups sg-one, sg-two becomes sg-one, the security-group sg-two is no
  longer managed by this Service`},
		{ask: groupAndSources, want: `
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources everybody becomes 192.0.2.0/24 (closes)
update listener web-p443: allowed sources everybody becomes 192.0.2.0/24 (closes)
update load balancer web: security groups sg-one, sg-two becomes sg-two, the security-group sg-one is no
  longer managed by this Service`},
		{ask: sourcesOnly, want: `
update listener web-p80: allowed sources 192.0.2.0/24 becomes 10.0.0.0/8
update listener web-p443: allowed sources 192.0.2.0/24 becomes 10.0.0.0/8
update load balancer web: security groups sg-two becomes none, the security-groups is no longer managed by
  this Service`},
	}}
}

// nodes returns what replaces the machines of the cluster.
func nodes(names ...string) func(*world) {
	return func(w *world) {
		w.nodes = map[string]string{}
		for _, name := range names {
			w.nodes[name] = "edge"
		}
	}
}

func livesOfTargets() []life {
	return []life{{name: "targets", steps: []step{
		{hand: nodes("vm-a", "vm-b", "vm-c", "vm-d", "vm-e"), want: `
update target group web-p80: 3 machines become 5
update target group web-p443: 3 machines become 5`},
		{hand: nodes("vm-a"), want: `
update target group web-p80: 5 machines become 1
update target group web-p443: 5 machines become 1`},
		{hand: nodes("vm-b"), spec: ports("80 443:31000"), want: `
update target group web-p80: 1 machines become 1
update target group web-p443: 1 machines become 1
update target group web-p443: target port 30443 becomes 31000, health check tcp :30443/healthz becomes tcp
  :31000/healthz`},
		{hand: nodes(), want: `
update target group web-p80: 1 machines become 0
update target group web-p443: 1 machines become 0
update target group web-p443: target port 31000 becomes 30443, health check tcp :31000/healthz becomes tcp
  :30443/healthz`},
		{hand: nodes("vm-a", "vm-b"), ask: "create-security-group=true max-connections=7", want: `
update target group web-p80: 0 machines become 2
update target group web-p443: 0 machines become 2
create security group own
update load balancer web: it gets the security groups of the Service
update listener web-p80: connection limit 10000 becomes 7
update listener web-p443: connection limit 10000 becomes 7`},
	}}}
}

// forget removes all records, as if others had made the objects.
func forget(w *world) {
	first(func(lb *resource.LoadBalancer) {
		lb.Annotations = nil
		for i := range lb.Listeners {
			lb.Listeners[i].Annotations = nil
		}
	})(w)
	for i := range w.groups {
		w.groups[i].Annotations = nil
	}
	for i := range w.securityGroups {
		w.securityGroups[i].Annotations = nil
	}
}

// first changes the load balancer by hand.
func first(change func(*resource.LoadBalancer)) func(*world) {
	return func(w *world) {
		w.balancers = slices.Clone(w.balancers)
		w.balancers[0].Listeners = slices.Clone(w.balancers[0].Listeners)
		change(&w.balancers[0])
	}
}

// byHand gives the load balancer what somebody can set in the cloud.
func byHand(lb *resource.LoadBalancer) {
	lb.SecurityGroups, lb.ReservedIP, lb.DeleteProtection = []string{"sg-one"}, "rip-one", true
	lb.Listeners[0].AllowedSources = []string{"192.0.2.0/24"}
}

// everything is what a Service can ask for that others can set, too.
const everything = "security-groups=two reserved-ip=two delete-protection=true acl-allowed-sources=10.0.0.0/8"

// livesOfDrift are about values that somebody changes in the cloud.
func livesOfDrift() []life {
	const whole = everything + " name=shop labels=team=shop subnet=two instance-size=s"
	return []life{
		{name: "values are put back", steps: []step{
			{ask: whole, want: `
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8 (closes)
update listener web-p443: allowed sources everybody becomes 10.0.0.0/8 (closes)
update load balancer web: name web becomes shop, subnet subnet-1 becomes subnet-2, reserved IP none becomes
  rip-two, delete protection false becomes true, instance size none becomes s, its labels differ`},
			{ask: whole, hand: first(func(lb *resource.LoadBalancer) {
				lb.Name, lb.Subnet, lb.ReservedIP, lb.InstanceSize = "mine", "subnet-1", "", "huge"
				lb.DeleteProtection, lb.SecurityGroups = false, nil
				lb.Labels = withLabels(lb.Labels, resource.Labels{"team": "theirs"})
				for i := range lb.Listeners {
					lb.Listeners[i].AllowedSources, lb.Listeners[i].MaxConnections = nil, 1
					lb.Listeners[i].IdleTimeout = 2
				}
			}), want: `
update load balancer mine: it gets the security groups of the Service
update listener web-p80: connection limit 1 becomes 10000, idle timeout 2 becomes 6000, allowed sources
  everybody becomes 10.0.0.0/8 (closes)
update listener web-p443: connection limit 1 becomes 10000, idle timeout 2 becomes 6000, allowed sources
  everybody becomes 10.0.0.0/8 (closes)
update load balancer mine: name mine becomes shop, subnet subnet-1 becomes subnet-2, reserved IP none becomes
  rip-two, delete protection false becomes true, instance size huge becomes s, its labels differ`},
			{ask: whole, hand: func(w *world) {
				w.groups[0].Policy, w.groups[0].ProxyProtocol, w.groups[0].HealthCheck = "RANDOM", true, nil
				w.groups[1].Port, w.groups[1].Machines = 1, nil
			}, want: `
update target group web-p443: 0 machines become 3
update target group web-p80: policy RANDOM becomes ROUND_ROBIN, PROXY protocol true becomes false, health
  check none becomes tcp :30080/healthz
update target group web-p443: target port 1 becomes 30443`},
		}},
	}
}

// livesOfOthersValues are about values that nobody asked for.
func livesOfOthersValues() []life {
	return []life{
		{name: "what others set stays", keeps: true, steps: []step{
			{hand: first(byHand), want: `
AllowedSourcesKept: Port 80/TCP accepts connections from 192.0.2.0/24 only. This Service does not …`},
			{ask: "max-connections=5 labels=team=shop", want: `
update listener web-p80: connection limit 10000 becomes 5
update listener web-p443: connection limit 10000 becomes 5
update load balancer web: its labels differ
AllowedSourcesKept: Port 80/TCP accepts connections from 192.0.2.0/24 only. This Service does not …`},
			{ask: everything, want: `
update load balancer web: it gets the security groups of the Service
update listener web-p80: connection limit 5 becomes 10000, allowed sources 192.0.2.0/24 becomes 10.0.0.0/8
update listener web-p443: connection limit 5 becomes 10000, allowed sources everybody becomes 10.0.0.0/8
  (closes)
update load balancer web: reserved IP rip-one becomes rip-two, the labels is no longer managed by this
  Service, its labels differ`},
			{ask: "", want: `
update listener web-p80: allowed sources 10.0.0.0/8 becomes everybody, the allowed-sources is no longer
  managed by this Service
update listener web-p443: allowed sources 10.0.0.0/8 becomes everybody, the allowed-sources is no longer
  managed by this Service
update load balancer web: security groups sg-one, sg-two becomes sg-one, reserved IP rip-two becomes none,
  the reserved-ip is no longer managed by this Service, the security-groups is no longer managed by this
  Service`},
		}},
		{name: "what was taken away is forgotten", keeps: true, steps: []step{
			{ask: "security-groups=one reserved-ip=one delete-protection=true acl-allowed-sources=192.0.2.0/24", want: `
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources everybody becomes 192.0.2.0/24 (closes)
update listener web-p443: allowed sources everybody becomes 192.0.2.0/24 (closes)
update load balancer web: reserved IP none becomes rip-one, delete protection false becomes true`},
			{ask: "", hand: first(func(lb *resource.LoadBalancer) {
				lb.SecurityGroups, lb.ReservedIP, lb.DeleteProtection = nil, "", false
				for i := range lb.Listeners {
					lb.Listeners[i].AllowedSources = nil
				}
			}), want: `
update listener web-p80: the allowed-sources is no longer managed by this Service
update listener web-p443: the allowed-sources is no longer managed by this Service
update load balancer web: the delete-protection is no longer managed by this Service, the reserved-ip is no
  longer managed by this Service, the security-groups is no longer managed by this Service`},
			{hand: first(byHand), want: `
AllowedSourcesKept: Port 80/TCP accepts connections from 192.0.2.0/24 only. This Service does not …`},
		}},
		{name: "a reserved IP was replaced", keeps: true, steps: []step{
			{ask: "reserved-ip=one", want: "update load balancer web: reserved IP none becomes rip-one"},
			{hand: first(func(lb *resource.LoadBalancer) { lb.ReservedIP = "rip-two" }), want: `
update load balancer web: the reserved-ip is no longer managed by this Service`},
		}},
		{name: "a security group was taken away", keeps: true, steps: []step{
			{ask: "security-groups=one", want: "update load balancer web: it gets the security groups of the Service"},
			{hand: first(func(lb *resource.LoadBalancer) { lb.SecurityGroups = nil }), want: `
update load balancer web: the security-groups is no longer managed by this Service`},
			{hand: first(func(lb *resource.LoadBalancer) { lb.SecurityGroups = []string{"sg-one"} })},
		}},
	}
}

func livesByHand() []life {
	return []life{
		{name: "a listener is deleted", steps: []step{
			{hand: first(func(lb *resource.LoadBalancer) { lb.Listeners = lb.Listeners[1:] }), want: `
create listener web-p80`},
		}},
		{name: "a listener is added", keeps: true, steps: []step{
			{hand: first(func(lb *resource.LoadBalancer) {
				lb.Listeners = append(lb.Listeners, resource.Listener{ID: "9000/tcp", Name: "by-hand", Port: 9000,
					Protocol: "tcp", TargetGroup: "tg-a0a1b2c3dweb-p443"})
			})},
			{spec: ports("80"), want: "delete listener web-p443: the Service has no such port (closes)"},
		}},
		{name: "two listeners have one target group", steps: []step{
			{hand: first(func(lb *resource.LoadBalancer) {
				lb.Listeners[0].TargetGroup = lb.Listeners[1].TargetGroup
			}), want: `
update listener web-p80: its target group becomes web-p80`},
		}},
		{name: "the load balancer is deleted", steps: []step{
			{ask: "create-security-group=true acl-allowed-sources=10.0.0.0/8", want: `
create security group own
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8 (closes)
update listener web-p443: allowed sources everybody becomes 10.0.0.0/8 (closes)`},
			{ask: ownGroup, hand: func(w *world) { w.balancers = nil }, want: `
create load balancer web`},
			{ask: "acl-allowed-sources=office", hand: func(w *world) { w.balancers = nil }, want: `
refused: port 80/TCP is not opened, because the annotation about its allowed sources is not valid
port 443/TCP is not opened, because the annotation about its allowed sources is not valid
InvalidAnnotation: annotation acl-allowed-sources: "office" is not networks like 10.0.0.0/8 or …`},
		}},
		{name: "the load balancer is being deleted", keeps: true, steps: []step{
			{hand: first(func(lb *resource.LoadBalancer) { lb.Status = "deleting" }), want: `
waits: load balancer web is being deleted; a new one can be created only when it is deleted`},
			{end: true, want: `
waits: the cloud is still deleting load balancer web (status "deleting"), target group web-p443, target …`},
		}},
		{name: "there is a younger load balancer", steps: []step{
			{hand: func(w *world) {
				younger := w.balancers[0]
				younger.ID, younger.CreatedAt, younger.Listeners = "lb-2", younger.CreatedAt.Add(1), nil
				w.balancers = append(w.balancers, younger)
			}, want: `delete load balancer web: the Service has an older one`},
		}},
	}
}
