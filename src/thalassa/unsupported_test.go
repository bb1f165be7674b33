package thalassa

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// TestSessionAffinityIsTold, with what to use instead, unless that is used for every port.
func TestSessionAffinityIsTold(t *testing.T) {
	tests := map[string]struct {
		affinity    corev1.ServiceAffinity
		annotations []string
		told        bool
	}{
		"none":                        {corev1.ServiceAffinityNone, nil, false},
		"not said":                    {"", nil, false},
		"wanted":                      {corev1.ServiceAffinityClientIP, nil, true},
		"wanted, as far as it goes":   {corev1.ServiceAffinityClientIP, []string{"loadbalancing-policy", "MAGLEV"}, false},
		"wanted, but of another port": {corev1.ServiceAffinityClientIP, []string{"loadbalancing-policy.p80", "MAGLEV"}, true},
		"wanted, with another policy": {corev1.ServiceAffinityClientIP, []string{"loadbalancing-policy", "RANDOM"}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80, 443)
			web.Spec.SessionAffinity = tt.affinity
			annotated(tt.annotations...)(web)
			read, _ := newAnnotations().read(web)
			notices := unsupported(web, read)
			if (len(notices) == 1) != tt.told || len(notices) > 1 {
				t.Fatalf("notices %v, want one: %t", notices, tt.told)
			}
			if tt.told && (notices[0].Reason != reasonUnsupported || !strings.Contains(notices[0].Message, annotationPrefix+"loadbalancing-policy to MAGLEV")) {
				t.Errorf("notice %v, want what to use instead", notices[0])
			}
		})
	}
}

func TestIsInternal(t *testing.T) {
	tests := map[string]struct {
		internal, external []string
		is, has            bool
	}{
		"no address yet":          {nil, nil, false, false},
		"public":                  {nil, []string{"198.18.0.1"}, false, true},
		"public, with both":       {[]string{"10.0.0.1"}, []string{"198.18.0.1"}, false, true},
		"internal":                {[]string{"10.0.0.1"}, nil, true, true},
		"internal, shown as both": {[]string{"10.0.0.1"}, []string{"10.0.0.1"}, true, true},
		"one of two is public":    {[]string{"10.0.0.1"}, []string{"10.0.0.1", "198.18.0.1"}, false, true},
	}
	for name, tt := range tests {
		balancer := inventory.LoadBalancer{InternalAddresses: tt.internal, ExternalAddresses: tt.external}
		if isInternal(balancer) != tt.is || showsKind(balancer) != tt.has {
			t.Errorf("%s: internal %t, has an address %t; want %t, %t", name, isInternal(balancer), showsKind(balancer), tt.is, tt.has)
		}
	}
}

// TestImmovable: only who asks for the other kind, of a load balancer that shows what it is, is told.
func TestImmovable(t *testing.T) {
	public := &inventory.LoadBalancer{ExternalAddresses: []string{"198.18.0.1"}}
	internal := &inventory.LoadBalancer{InternalAddresses: []string{"10.0.0.1"}}
	tests := map[string]struct {
		annotations []string
		balancer    *inventory.LoadBalancer
		told        string
	}{
		"none yet":                            {[]string{"internal", "true"}, nil, ""},
		"without an address yet":              {[]string{"internal", "true"}, &inventory.LoadBalancer{}, ""},
		"of the kind":                         {[]string{"internal", "true"}, internal, ""},
		"public is not asked for":             {nil, internal, ""},
		"public is asked for":                 {[]string{"type", "public"}, internal, "(public) and has the other (internal)"},
		"internal is asked for":               {[]string{"type", "internal"}, public, "(internal) and has the other (public)"},
		"what is asked for can't be read":     {[]string{"type", "private"}, public, ""},
		"what is asked for contradicts other": {[]string{"type", "internal", "internal", "false"}, public, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80)
			delete(web.Annotations, annotationPrefix+"type")
			annotated(tt.annotations...)(web)
			read, _ := newAnnotations().read(web)
			if got := immovable(read, tt.balancer); (got == "") != (tt.told == "") || !strings.Contains(got, tt.told) {
				t.Errorf("told %q, want %q", got, tt.told)
			}
		})
	}
}
