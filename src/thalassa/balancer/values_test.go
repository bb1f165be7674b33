package balancer

import (
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
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

// TestLabelsOfAnUnreadableAnnotation: what the Service asks for is not known, so that the labels stay as they are: the
// one that was removed by hand stays away.
func TestLabelsOfAnUnreadableAnnotation(t *testing.T) {
	for asked, want := range map[string]resource.Labels{"team=shop=test": {"stage": "test"},
		"team=shop": {"team": "shop"}} {
		web := service("web", 80)
		annotated("labels", asked)(web)
		update := balancerUpdate{LoadBalancer: resource.LoadBalancer{Labels: resource.Labels{"stage": "test"}},
			record: lastApplied{created: true}.with(settingLabels, "stage", "team")}
		d := NewConfig(cloudconfig.Config{}).Request(web, Observed{}).desired
		if update.setLabels(d); !maps.Equal(update.Labels, withLabels(want, d.labels)) {
			t.Errorf("with %q the labels are %v, want %v", asked, update.Labels, want)
		}
	}
}

// TestLongNamesOfPorts: names that are too long end in a hash of the whole name.
func TestLongNamesOfPorts(t *testing.T) {
	long := strings.Repeat("x", maxName)
	one, other := portName("lb", cloud.Port{Name: long + "a"}), portName("lb", cloud.Port{Name: long + "b"})
	if one == other || len(one) != maxName {
		t.Errorf("names %q and %q; want two of %d letters", one, other, maxName)
	}
}
