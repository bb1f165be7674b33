package inventory

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// checkItem compares what is stored of an object of an answer.
func checkItem[Item interface{ object() T }, T any](t *testing.T, body string, want T) {
	t.Helper()
	var item Item
	if err := json.Unmarshal([]byte(body), &item); err != nil {
		t.Fatal(err)
	}
	addresses := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	if diff := cmp.Diff(want, item.object(), addresses); diff != "" {
		t.Errorf("%s (-want +got):\n%s", body, diff)
	}
}

// TestItems: what is compared as a set is sorted, and has no empty elements.
func TestItems(t *testing.T) {
	checkItem[balancerItem](t, `{"identity": "lb-1", "externalIpAddresses": ["", "b", "a"],
		"securityGroups": [{"identity": "sg-2"}, {"identity": "sg-1"}],
		"loadbalancerListeners": [{"port": 80, "targetGroup": {"identity": "tg-1"}}, null]}`,
		resource.LoadBalancer{ID: "lb-1", ExternalAddresses: []string{"a", "b"},
			SecurityGroups: []string{"sg-1", "sg-2"},
			Listeners:      []resource.Listener{{Port: 80, TargetGroup: "tg-1"}, {}}})
	checkItem[groupItem](t, `{"identity": "tg-1", "loadbalancerTargetGroupAttachments": [
		{"virtualMachineInstance": {"identity": "vm-2"}}, {}, null, {"virtualMachineInstance": {"identity": "vm-1"}}]}`,
		resource.TargetGroup{ID: "tg-1", Machines: []string{"vm-1", "vm-2"}})
	checkItem[machineItem](t, `{"identity": "vm-1", "slug": "a", "name": "a", "state": "Deleted", "interfaces": [
		{"name": "other", "ipAddresses": ["y"]}, {"name": "default", "ipAddresses": ["x"]}]}`,
		Machine{ID: "vm-1", Slug: "a", State: "deleted", Addresses: []string{"x"}})
	checkItem[reservedIPItem](t, `{"identity": "rip-1", "ipv4Address": "::ffff:192.0.2.1",
		"ipv6Address": "2001:db8::1"}`, resource.ReservedIP{ID: "rip-1", Addresses: []netip.Addr{
		netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}})
	checkItem[reservedIPItem](t, `{"identity": "rip-1", "ipv4Address": "soon", "region": null}`,
		resource.ReservedIP{ID: "rip-1"})
}
