package thalassa

import (
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/formertest"
)

// takeovers are Services as the existing CCM left them.
var takeovers = map[string]struct {
	service    func(*corev1.Service) // what differs from a Service with the ports 80 and 443
	additional map[string]string
	cloud      func(*formertest.Objects) // what differs from what the existing CCM makes of such a Service
	// also makes what else there is in the cloud, and what the load balancer has of it.
	also func(*lab, *corev1.Service, *formertest.Objects)
}{
	"nothing special":           {},
	"internal in another cloud": {service: elsewhere("service.beta.kubernetes.io/aws-load-balancer-internal", "true")},
	"sources in another cloud": {service: elsewhere("service.beta.kubernetes.io/azure-allowed-ip-ranges",
		"10.0.0.0/8")},
	"security groups in another cloud": {service: elsewhere(
		"service.beta.kubernetes.io/aws-load-balancer-security-groups", "sg-1")},
	"additional labels": {additional: map[string]string{"team": "shop", "stage": "production"}},
	"TCP and UDP": {service: func(s *corev1.Service) {
		s.Spec.Ports[1].Protocol, s.Spec.Ports[1].Port = corev1.ProtocolUDP, 53
	}},
	"TCP and UDP on one port, by its newest version": {service: func(s *corev1.Service) {
		s.Spec.Ports[1].Protocol, s.Spec.Ports[1].Port = corev1.ProtocolUDP, 80
	}},
	"a port without a name": {service: func(s *corev1.Service) {
		s.Spec.Ports = s.Spec.Ports[:1]
		s.Spec.Ports[0].Name = ""
	}},
	"names as long as they may be": {service: func(s *corev1.Service) {
		s.UID = "0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f"
		s.Spec.Ports[0].Name, s.Spec.Ports[1].Name = strings.Repeat("x", 62-32-1), strings.Repeat("y", 62-32-1)
	}},
	"names of another length than ours": {
		service: func(s *corev1.Service) { s.Spec.Ports[0].Name = strings.Repeat("x", 63) },
		cloud: func(o *formertest.Objects) {
			o.Groups[0].Name, o.Listeners[0].Name = o.Groups[0].Name[:62], o.Listeners[0].Name[:62]
		},
	},
	"policy Local": {service: func(s *corev1.Service) {
		s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 32000
	}},
	"every setting by annotation": {
		service: annotated("loadbalancing-policy", "MAGLEV", "enable-proxy-protocol", "true", "idle-connection-timeout",
			"60", "max-connections", "500"),
		cloud: func(o *formertest.Objects) {
			policy, proxy, idle, limit := iaas.LoadbalancingPolicyMagLev, true, uint32(60), uint32(500)
			for i := range o.Groups {
				o.Groups[i].LoadbalancingPolicy, o.Groups[i].EnableProxyProtocol = &policy, &proxy
				o.Listeners[i].ConnectionIdleTimeout, o.Listeners[i].MaxConnections = &idle, &limit
			}
		},
	},
	"health check by annotation": {
		service: annotated("health-check-enabled", "true", "health-check-port", "8081", "health-check-protocol", "tcp",
			"health-check-interval", "30"),
		cloud: func(o *formertest.Objects) {
			for i := range o.Groups {
				o.Groups[i].HealthCheck = &iaas.BackendHealthCheck{Protocol: "tcp", Port: 8081, Path: "/healthz",
					PeriodSeconds: 30, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 3}
			}
		},
	},
	"negative numbers, which it wrapped around": {
		service: annotated("idle-connection-timeout", "-1", "max-connections", "-1"),
		cloud: func(o *formertest.Objects) {
			wrapped := uint32(1<<32 - 1)
			for i := range o.Listeners {
				o.Listeners[i].ConnectionIdleTimeout, o.Listeners[i].MaxConnections = &wrapped, &wrapped
			}
		},
	},
	"sources by annotation": {
		service: annotated("acl-allowed-sources", "10.0.0.0/8"),
		cloud: func(o *formertest.Objects) {
			for i := range o.Listeners {
				o.Listeners[i].AllowedSources = []string{"10.0.0.0/8"}
			}
		},
	},
	"annotations that ask for nothing": {service: annotated("internal", "false", "security-groups",
		"", "create-security-group", "false", "reserved-ip", "", "subnet", "emulator")},
	"a health check without a port, which it took for none": {service: annotated("health-check-enabled", "true")},
	"a health check that is not switched on": {service: annotated("health-check-port", "8081",
		"health-check-path", "/x")},
	"sources of one port": {
		service: annotated("acl-allowed-sources", "10.0.0.0/8", "acl-port-p80", "192.0.2.0/24", "acl-port-443",
			"198.51.100.0/24"),
		cloud: func(o *formertest.Objects) {
			o.Listeners[0].AllowedSources = []string{"10.0.0.0/8", "192.0.2.0/24"}
			o.Listeners[1].AllowedSources = []string{"198.51.100.0/24", "10.0.0.0/8"}
		},
	},
	"source ranges, by its newest version": {
		service: ranges("10.0.0.0/8"),
		cloud: func(o *formertest.Objects) {
			o.Listeners[0].AllowedSources, o.Listeners[1].AllowedSources = []string{"10.0.0.0/8"},
				[]string{"10.0.0.0/8"}
		},
	},
	"internal": {service: annotated("internal", "true"), cloud: func(o *formertest.Objects) {
		o.Balancer.InternalLoadbalancer = true
	}},
	"type, which it never reads": {
		service: annotated("type", "public", "internal", "true"),
		cloud:   func(o *formertest.Objects) { o.Balancer.InternalLoadbalancer = true },
	},
	"a reserved IP": {also: func(l *lab, s *corev1.Service, o *formertest.Objects) {
		id := l.reservedIP("web")
		annotated("reserved-ip", id)(s)
		o.Balancer.ReservedIpID = &id
	}},
	"a reserved IP that somebody attached": {also: func(l *lab, _ *corev1.Service, o *formertest.Objects) {
		id := l.reservedIP("by-hand")
		o.Balancer.ReservedIpID = &id
	}},
	"security groups": {also: func(l *lab, s *corev1.Service, o *formertest.Objects) {
		o.Balancer.SecurityGroupAttachments = l.securityGroups("one", "two")
		annotated("security-groups", strings.Join(o.Balancer.SecurityGroupAttachments, ","))(s)
	}},
	"security groups that somebody attached": {also: func(l *lab, _ *corev1.Service, o *formertest.Objects) {
		o.Balancer.SecurityGroupAttachments = l.securityGroups("one")
	}},
	"its security group, with sources": {
		service: annotated("create-security-group", "true", "acl-allowed-sources", "10.0.0.0/8,192.0.2.0/24"),
		cloud: func(o *formertest.Objects) {
			for i := range o.Listeners {
				o.Listeners[i].AllowedSources = []string{"10.0.0.0/8", "192.0.2.0/24"}
			}
		},
		also: func(l *lab, s *corev1.Service, o *formertest.Objects) {
			l.plantGroup(s, o, "10.0.0.0/8", "192.0.2.0/24")
		},
	},
	"its security group, which lets nobody in": {
		service: annotated("create-security-group", "true"),
		also:    func(l *lab, s *corev1.Service, o *formertest.Objects) { l.plantGroup(s, o) },
	},
	"its security group, which it forgot": {also: func(l *lab, s *corev1.Service, o *formertest.Objects) {
		l.plantGroup(s, o)
	}},
}

// reservedIP makes one and returns its identity.
func (l *lab) reservedIP(name string) string {
	l.Helper()
	ip, err := l.api().CreateReservedIP(l.Context(), iaas.CreateReservedIpRequest{Name: name,
		Region: emulator.DefaultRegion})
	if err != nil {
		l.Fatal(err)
	}
	return ip.Identity
}

// plantGroup makes the security group as the existing CCM does: all priorities the same, names too, and no ports for
// what goes out.
func (l *lab) plantGroup(s *corev1.Service, old *formertest.Objects, sources ...string) {
	l.Helper()
	rule := func(version iaas.SecurityGroupIPVersion, protocol iaas.SecurityGroupRuleProtocol, network string,
		port int32) iaas.SecurityGroupRule {
		return iaas.SecurityGroupRule{Name: string(protocol), IPVersion: version, Protocol: protocol, Priority: 100,
			Policy:     iaas.SecurityGroupRulePolicyAllow,
			RemoteType: iaas.SecurityGroupRuleRemoteTypeAddress, RemoteAddress: &network, PortRangeMin: port,
			PortRangeMax: port}
	}
	create := iaas.CreateSecurityGroupRequest{Name: "sg-" + s.Name, Labels: old.Balancer.Labels,
		VpcIdentity: emulator.DefaultVPC, AllowSameGroupTraffic: true,
		EgressRules: []iaas.SecurityGroupRule{
			rule(iaas.SecurityGroupIPVersionIPv4, iaas.SecurityGroupRuleProtocolAll, "0.0.0.0/0", 0),
			rule(iaas.SecurityGroupIPVersionIPv6, iaas.SecurityGroupRuleProtocolAll, "::/0", 0),
		}}
	for _, port := range s.Spec.Ports {
		for _, source := range sources {
			create.IngressRules = append(create.IngressRules, rule(iaas.SecurityGroupIPVersionIPv4,
				iaas.SecurityGroupRuleProtocolTCP, source, port.Port))
		}
	}
	group, err := l.api().CreateSecurityGroup(l.Context(), create)
	if err != nil {
		l.Fatal(err)
	}
	old.Balancer.SecurityGroupAttachments = append(old.Balancer.SecurityGroupAttachments, group.Identity)
}

// TestTakeoverWritesNothing: what the existing CCM left is exactly what we want.
func TestTakeoverWritesNothing(t *testing.T) {
	for name, tt := range takeovers {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, emulator.Config{})
			l.config.AdditionalLabels = tt.additional
			l.restart()
			nodes, web := l.nodes("a", "b"), service("web", 80, 443)
			if tt.service != nil {
				tt.service(web)
			}
			old := legacyOf(web, tt.additional)
			if tt.cloud != nil {
				tt.cloud(&old)
			}
			if tt.also != nil {
				tt.also(l, web, &old)
			}
			l.plant(old, nodes)
			before := l.balancer()
			address := slices.Concat(before.ExternalIpAddresses, before.InternalIpAddresses)[0]

			status, err := l.ensure(web, nodes)
			if err != nil || len(status.Ingress) != 1 || status.Ingress[0].IP != address {
				t.Errorf("status %+v, error %v; want the address %s", status, err, address)
			}
			if err := l.library.UpdateLoadBalancer(t.Context(), "", web, nodes); err != nil {
				t.Error(err)
			}
			l.restart()
			if _, err := l.ensure(web, nodes); err != nil {
				t.Error(err)
			}
			if writes := l.writes(); len(writes) > 0 {
				t.Errorf("writes: %v", writes)
			}
		})
	}
}
