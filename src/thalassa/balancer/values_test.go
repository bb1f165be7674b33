package balancer

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// TestRetainWithoutLabels: a load balancer that lost all labels has none to copy.
func TestRetainWithoutLabels(t *testing.T) {
	if left := unmanagedLabels(nil); left[label.Managed] != "false" || len(left) != 1 {
		t.Errorf("labels of a retained load balancer %v", left)
	}
}

// TestProtectionOfAnyLoadBalancer: of several load balancers of a Service, a protected one keeps all.
func TestProtectionOfAnyLoadBalancer(t *testing.T) {
	d := NewConfig(cloudconfig.Config{}).Request(service("web", 80), Observed{}).desired
	free, held := resource.LoadBalancer{Name: "first"}, resource.LoadBalancer{Name: "second", DeleteProtection: true}
	if why := protection(d, []resource.LoadBalancer{free, held}); !strings.Contains(why, "second") {
		t.Errorf("reason %q, want that the second is protected", why)
	}
	if why := protection(d, []resource.LoadBalancer{free}); why != "" {
		t.Errorf("reason %q, want none", why)
	}
}

func TestForeignLabelsStay(t *testing.T) {
	got := withLabels(resource.Labels{"mine": "x", label.Cluster: "old"}, resource.Labels{label.Cluster: "new"})
	if diff := cmp.Diff(resource.Labels{"mine": "x", label.Cluster: "new"}, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// TestSpecAddressInOtherNotation is the same address.
func TestSpecAddressInOtherNotation(t *testing.T) {
	if one := netip.MustParseAddr("2001:db8::1"); !isAddress("2001:DB8:0::1", one) || isAddress("2001:db8::2", one) ||
		isAddress("web", one) {
		t.Error("addresses are compared as text")
	}
}
