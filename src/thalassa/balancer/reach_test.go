package balancer

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

const publicV4, publicV6, privateV4 = "198.18.0.1", "2001:db8::1", "10.0.0.1"

// TestPublished: nothing before the load balancer serves, and internal addresses only for who asks for them.
func TestPublished(t *testing.T) {
	public, private := []string{publicV4}, []string{privateV4}
	tests := map[string]struct {
		internal            bool
		status              string
		external, internals []string
		want                []string
	}{
		"being made":                          {false, "creating", public, private, nil},
		"failed":                              {false, "failed", public, private, nil},
		"ready":                               {false, "ready", public, private, public},
		"ready, in capitals":                  {false, "READY", public, nil, public},
		"being changed":                       {false, "updating", public, nil, public},
		"ready, its public address not yet":   {false, "ready", nil, private, nil},
		"internal":                            {true, "ready", nil, private, private},
		"internal, not yet":                   {true, "creating", nil, private, nil},
		"internal, shown as both":             {true, "ready", private, private, private},
		"internal is asked for, public it is": {true, "ready", public, private, public},
	}
	for name, tt := range tests {
		balancer := resource.LoadBalancer{Status: tt.status, ExternalAddresses: tt.external,
			InternalAddresses: tt.internals}
		record := lastApplied{created: true}
		if tt.internal {
			record = record.with(settingInternal)
		}
		balancer.Annotations = record.mergedInto(nil)
		if got := published(service("web", 80), false, balancer); !slices.Equal(got, tt.want) {
			t.Errorf("%s: published %v, want %v", name, got, tt.want)
		}
	}
}

func TestIsInternal(t *testing.T) {
	tests := map[string]struct {
		internal, external []string
		is, has            bool
	}{
		"no address yet":          {nil, nil, false, false},
		"public":                  {nil, []string{publicV4}, false, true},
		"public, with both":       {[]string{privateV4}, []string{publicV4}, false, true},
		"internal":                {[]string{privateV4}, nil, true, true},
		"internal, shown as both": {[]string{privateV4}, []string{privateV4}, true, true},
		"one of two is public":    {[]string{privateV4}, []string{privateV4, publicV4}, false, true},
	}
	for name, tt := range tests {
		balancer := resource.LoadBalancer{InternalAddresses: tt.internal, ExternalAddresses: tt.external}
		if isInternal(balancer) != tt.is || typeKnown(balancer) != tt.has {
			t.Errorf("%s: internal %t, has an address %t; want %t, %t", name, isInternal(balancer), typeKnown(balancer),
				tt.is, tt.has)
		}
	}
}

// TestStatusOf: what the Service asks to be published, of the families that it has.
func TestStatusOf(t *testing.T) {
	const host = "web.lb.test"
	both := []string{publicV4, publicV6}
	four, six := []corev1.IPFamily{corev1.IPv4Protocol}, []corev1.IPFamily{corev1.IPv6Protocol}
	tests := map[string]struct {
		publish, hostname string
		takenOver         bool
		families          []corev1.IPFamily
		addresses, want   []string // "address host"
	}{
		"both, which is the default": {"", host, false, nil, both, []string{publicV4 + " " + host, publicV6 + " " +
			host}},
		"the hostname, but there is none": {publishHostname, "", false, nil, both,
			[]string{publicV4 + " ", publicV6 + " "}},
		"the hostname, no address yet":  {publishHostname, host, false, nil, nil, nil},
		"unreadable, addresses before":  {"dns", host, false, nil, both, []string{publicV4 + " ", publicV6 + " "}},
		"unreadable, a hostname before": {"dns", host, false, nil, both, []string{" " + host}},
		"of IPv4":                       {publishIP, host, false, four, both, []string{publicV4 + " "}},
		"of IPv6":                       {publishIP, host, false, six, both, []string{publicV6 + " "}},
		"of IPv6, but there is none":    {publishIP, host, false, six, both[:1], []string{publicV4 + " "}},
		"of both families": {publishIP, host, false, append(six, four...), both,
			[]string{publicV4 + " ", publicV6 + " "}},
		"of IPv4, as it was before": {publishIP, host, true, four, both,
			[]string{publicV4 + " ", publicV6 + " "}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80)
			web.Spec.IPFamilies = tt.families
			if tt.publish != "" {
				annotated("publish", tt.publish)(web)
			}
			switch name {
			case "unreadable, addresses before":
				web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: publicV4}}
			case "unreadable, a hostname before":
				web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}}
			}
			d := desired{created: !tt.takenOver}
			d.settings, _ = newAnnotations().read(web)
			var got []string
			for _, ingress := range d.statusOf(web, resource.LoadBalancer{Status: "ready", Hostname: tt.hostname,
				ExternalAddresses: tt.addresses}).Ingress {
				got = append(got, ingress.IP+" "+ingress.Hostname)
				if (ingress.IP == "") != (ingress.IPMode == nil) || ingress.IPMode != nil &&
					*ingress.IPMode != corev1.LoadBalancerIPModeProxy {
					t.Errorf("the mode of %s is %v, want Proxy for addresses", ingress.IP, ingress.IPMode)
				}
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("published (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLacking: families that are required and hostnames that are asked for, when the cloud has given none.
func TestLacking(t *testing.T) {
	both := []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	tests := map[string]struct {
		publish   string
		policy    corev1.IPFamilyPolicy
		takenOver bool
		families  []corev1.IPFamily
		addresses []string
		reported  []string
	}{
		"nothing": {"", corev1.IPFamilyPolicySingleStack, false, both[:1], []string{publicV4}, nil},
		"IPv6": {"", corev1.IPFamilyPolicySingleStack, false, both[1:], []string{publicV4},
			[]string{"no IPv6 address"}},
		"one of both": {"", corev1.IPFamilyPolicyRequireDualStack, false, both, []string{publicV4},
			[]string{"no IPv6 address"}},
		"none of both": {"", corev1.IPFamilyPolicyRequireDualStack, false, both,
			[]string{publicV4, publicV6}, nil},
		"one of both, by preference":  {"", corev1.IPFamilyPolicyPreferDualStack, false, both, []string{publicV4}, nil},
		"one of both, as before":      {"", corev1.IPFamilyPolicyRequireDualStack, true, both, []string{publicV4}, nil},
		"addresses, which come later": {publishHostname, corev1.IPFamilyPolicyRequireDualStack, false, both, nil, nil},
		"a hostname": {publishHostname, corev1.IPFamilyPolicySingleStack, false, both[:1],
			[]string{publicV4}, []string{"no hostname"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80)
			web.Spec.IPFamilies, web.Spec.IPFamilyPolicy = tt.families, new(tt.policy)
			if tt.publish != "" {
				annotated("publish", tt.publish)(web)
			}
			d := desired{created: !tt.takenOver}
			d.settings, _ = newAnnotations().read(web)
			notices := d.unmetNotices(web, resource.LoadBalancer{Status: "ready", ExternalAddresses: tt.addresses})
			if len(notices) != len(tt.reported) {
				t.Fatalf("notices %v, want %q", notices, tt.reported)
			}
			for i, notice := range notices {
				if !strings.Contains(notice.Message, tt.reported[i]) {
					t.Errorf("notice %q, want %q", notice.Message, tt.reported[i])
				}
			}
		})
	}
}
