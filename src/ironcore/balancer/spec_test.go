package balancer

import (
	"testing"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// applied returns the specification of the load balancer that a plan creates or updates.
func applied(t *testing.T, found cloud.Comparison) networkingv1alpha1.LoadBalancerSpec {
	t.Helper()
	for _, operation := range found.Plan {
		if apply, is := operation.Object.(ApplyLoadBalancer); is {
			return apply.Spec
		}
	}
	t.Fatalf("no operation applies a load balancer: %v", found.Plan)
	return networkingv1alpha1.LoadBalancerSpec{}
}

// none is what IronCore has of a Service without a load balancer.
func none() Observed {
	o := observed(owned(name, "blue"), "a", "")
	o.LoadBalancers, o.Routings = nil, nil
	return o
}

// TestExplicitAddress: the address in spec.loadBalancerIP is allocated by IronCore, in the prefix of the configuration.
// The other IP family has any address.
func TestExplicitAddress(t *testing.T) {
	dual := func(s *corev1.Service) {
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
	}
	for title, tt := range map[string]struct {
		service *corev1.Service
		want    []string // the prefixes
	}{
		"IPv4":       {service(internal("true"), setAddress("10.0.9.9")), []string{"10.0.9.9/32"}},
		"dual-stack": {service(internal("true"), dual, setAddress("fd00::9")), []string{"fd00::9/128", ""}},
		"none":       {service(internal("true")), []string{""}},
	} {
		t.Run(title, func(t *testing.T) {
			spec := applied(t, compare(t, config(), Request{Service: tt.service, Observed: none()}))
			want(t, "sources", len(spec.IPs), len(tt.want))
			for i, source := range spec.IPs {
				if source.Value != nil || source.Ephemeral == nil {
					t.Fatalf("source %d is no ephemeral prefix: %v", i, source)
				}
				prefix := source.Ephemeral.PrefixTemplate.Spec
				parent := map[corev1.IPFamily]string{corev1.IPv4Protocol: "internal", corev1.IPv6Protocol: "internal6"}
				want(t, "parent", prefix.ParentRef.Name, parent[prefix.IPFamily])
				want(t, "IP family", prefix.IPFamily, tt.service.Spec.IPFamilies[i])
				text := ""
				if prefix.Prefix != nil {
					text = prefix.Prefix.String()
				}
				want(t, "prefix", text, tt.want[i])
			}
		})
	}
}

// TestExplicitAddressIsRefused: without a parent prefix, or with an address that cannot be one, nothing is created, and
// a notice says why.
func TestExplicitAddressIsRefused(t *testing.T) {
	withoutPrefix, withoutIPv6 := config(), config()
	withoutPrefix.Prefix, withoutIPv6.PrefixIPv6 = "", ""
	families := func(all ...corev1.IPFamily) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.IPFamilies = all }
	}
	for title, tt := range map[string]struct {
		config Config
		change func(*corev1.Service)
		want   string
	}{
		"no prefixName":     {withoutPrefix, setAddress("10.0.9.9"), "the key prefixName in the cloud-config file"},
		"no address":        {config(), setAddress("x"), "spec.loadBalancerIP"},
		"another IP family": {config(), setAddress("fd00::9"), "spec.ipFamilies"},
		"no prefixNameIPv6": {withoutIPv6, families(corev1.IPv6Protocol), "the key prefixNameIPv6"},
		"no prefixNameIPv6 for the second family": {withoutIPv6, families(corev1.IPv4Protocol, corev1.IPv6Protocol),
			"create the Service without IPv6 in spec.ipFamilies"},
	} {
		t.Run(title, func(t *testing.T) {
			found := compare(t, tt.config, Request{Service: service(internal("true"), tt.change),
				Observed: none()})
			want(t, "plan", found.Plan.String(), "")
			if found.Refused == nil || len(found.Notices) != 1 {
				t.Fatalf("got the refusal %v and %d notices, want both", found.Refused, len(found.Notices))
			}
			wantText(t, "refusal", found.Refused.Error(), tt.want)
			wantText(t, "notice", found.Notices[0].Message, tt.want)
		})
	}
}

// TestAddressInUseStays: an address of an internal load balancer does not change, whatever spec.loadBalancerIP is. A
// notice says so if it is another one.
func TestAddressInUseStays(t *testing.T) {
	before := applied(t, compare(t, config(), Request{Service: service(internal("true")), Observed: none()}))
	for title, tt := range map[string]struct {
		service *corev1.Service
		notices int
	}{
		"another address":     {service(internal("true"), setAddress("10.0.9.9")), 1},
		"the same address":    {service(internal("true"), setAddress("10.0.9.1")), 0},
		"none is requested":   {service(internal("true")), 0},
		"not even prefixName": {service(internal("true")), 0},
	} {
		t.Run(title, func(t *testing.T) {
			c, balancer := config(), owned(name, "blue")
			if title == "not even prefixName" {
				c.Prefix = ""
			}
			balancer.Spec = before
			balancer.Status.IPs = []commonv1alpha1.IP{commonv1alpha1.MustParseIP("10.0.9.1")}
			found := compare(t, c, Request{Service: tt.service, Targets: nodes("a"),
				Observed: observed(balancer, "a", "a")})
			want(t, "refusal", found.Refused, nil)
			want(t, "plan", found.Plan.String(), "")
			want(t, "notices", len(found.Notices), tt.notices)
			for _, notice := range found.Notices {
				wantText(t, "notice", notice.Message, "spec.loadBalancerIP is not applied")
			}
		})
	}
}

// TestUnsupportedSettings: what load balancers of IronCore cannot do is reported, with what to do instead. The load
// balancer is created nevertheless.
func TestUnsupportedSettings(t *testing.T) {
	selector := config()
	selector.Selector = true
	local := func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }
	for title, tt := range map[string]struct {
		config  Config
		service func(*corev1.Service)
		want    []string // of the notice; nil if there is none
	}{
		"nothing": {config(), func(*corev1.Service) {}, nil},
		"source ranges": {config(), func(s *corev1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
		}, []string{"spec.loadBalancerSourceRanges is not applied", "accepts all clients", "NetworkPolicy"}},
		"source ranges as an annotation": {config(), func(s *corev1.Service) {
			s.Annotations = map[string]string{corev1.AnnotationLoadBalancerSourceRangesKey: "10.0.0.0/8"}
		}, []string{"the annotation " + corev1.AnnotationLoadBalancerSourceRangesKey + " is not applied"}},
		"session affinity": {config(), func(s *corev1.Service) {
			s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		}, []string{"spec.sessionAffinity ClientIP is not applied", "Set it to None"}},
		"no session affinity": {config(), func(s *corev1.Service) {
			s.Spec.SessionAffinity = corev1.ServiceAffinityNone
		}, nil},
		"a public address": {config(), setAddress("192.0.2.9"),
			[]string{"spec.loadBalancerIP is not applied", "Remove it"}},
		"Local, with a selector": {selector, local, []string{"spec.externalTrafficPolicy Local drops this traffic",
			"--use-nic-selector=false", "Cluster"}},
		"Local, with destinations": {config(), local, nil},
		"node ports": {config(), func(s *corev1.Service) {
			local(s)
			s.Spec.HealthCheckNodePort, s.Spec.Ports[0].NodePort = 30001, 30002
		}, nil},
	} {
		t.Run(title, func(t *testing.T) {
			found := compare(t, tt.config, Request{Service: service(tt.service), Observed: none()})
			want(t, "type", applied(t, found).Type, networkingv1alpha1.LoadBalancerTypePublic)
			want(t, "refusal", found.Refused, nil)
			if tt.want == nil {
				want(t, "notices", len(found.Notices), 0)
				return
			}
			if len(found.Notices) != 1 {
				t.Fatalf("got the notices %v, want one", found.Notices)
			}
			want(t, "reason", found.Notices[0].Reason, "UnsupportedSetting")
			want(t, "topic", found.Notices[0].Topic, cloud.Settings)
			wantText(t, "message", found.Notices[0].Message, tt.want...)
		})
	}
}
