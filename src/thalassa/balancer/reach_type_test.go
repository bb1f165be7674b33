package balancer

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

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
		balancer := resource.LoadBalancer{InternalAddresses: tt.internal, ExternalAddresses: tt.external}
		if isInternal(balancer) != tt.is || typeKnown(balancer) != tt.has {
			t.Errorf("%s: internal %t, has an address %t; want %t, %t", name, isInternal(balancer), typeKnown(balancer),
				tt.is, tt.has)
		}
	}
}

// TestImmutableType: only who asks for the other kind, of a load balancer that shows what it is, is reported.
func TestImmutableType(t *testing.T) {
	public := &resource.LoadBalancer{ExternalAddresses: []string{"198.18.0.1"}}
	internal := &resource.LoadBalancer{InternalAddresses: []string{"10.0.0.1"}}
	tests := map[string]struct {
		annotations []string
		balancer    *resource.LoadBalancer
		reported    string
	}{
		"none yet":                {[]string{"internal", "true"}, nil, ""},
		"without an address yet":  {[]string{"internal", "true"}, &resource.LoadBalancer{}, ""},
		"of the kind":             {[]string{"internal", "true"}, internal, ""},
		"public is not asked for": {nil, internal, ""},
		"public is asked for": {[]string{"type", "public"}, internal,
			"type public, but its load balancer is of type internal"},
		"internal is asked for": {[]string{"type", "internal"}, public,
			"type internal, but its load balancer is of type public"},
		"what is asked for can't be read":     {[]string{"type", "private"}, public, ""},
		"what is asked for contradicts other": {[]string{"type", "internal", "internal", "false"}, public, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80)
			delete(web.Annotations, label.AnnotationPrefix+"type")
			annotated(tt.annotations...)(web)
			read, _ := newAnnotations().read(web)
			if got := immutableTypeText(read, tt.balancer); (got == "") != (tt.reported == "") ||
				!strings.Contains(got, tt.reported) {
				t.Errorf("reported %q, want %q", got, tt.reported)
			}
		})
	}
}
