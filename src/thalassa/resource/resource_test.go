package resource

import (
	"net/netip"
	"slices"
	"testing"
)

func TestHealthCheckText(t *testing.T) {
	var none *HealthCheck
	check := &HealthCheck{Protocol: ProtocolHTTP, Port: 8080, Path: "/up", PeriodSeconds: 10, TimeoutSeconds: 5,
		UnhealthyThreshold: 3, HealthyThreshold: 2}
	for want, check := range map[string]*HealthCheck{
		"none": none, "http :8080/up every 10s, timeout 5s, 2 good, 3 bad": check,
	} {
		if got := check.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	lb := LoadBalancer{ExternalAddresses: []string{"192.0.2.1"}, InternalAddresses: []string{"10.0.0.1"}}
	if got := lb.Addresses(); !slices.Equal(got, []string{"192.0.2.1", "10.0.0.1"}) {
		t.Errorf("without a hostname: %q", got)
	}
	lb.Hostname = "lb.example.com"
	if got := lb.Addresses(); !slices.Contains(got, "lb.example.com") {
		t.Errorf("with a hostname: %q", got)
	}
	lb = LoadBalancer{ExternalAddresses: []string{"2001:DB8::1"}, Hostname: "LB.example.com."}
	if got := lb.Addresses(); !slices.Equal(got, []string{"2001:db8::1", "lb.example.com"}) {
		t.Errorf("in another spelling: %q", got)
	}
}

func TestSubnetsOfAVPC(t *testing.T) {
	vpc := VPC{Subnets: []Subnet{{ID: "subnet-1", Slug: "one",
		CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}}}
	for _, ref := range []string{"subnet-1", "one"} {
		subnet, found := vpc.Subnet(ref)
		if !found || subnet.ID != "subnet-1" || !subnet.Contains(netip.MustParseAddr("10.0.0.7")) {
			t.Errorf("%s: %v %t", ref, subnet, found)
		}
	}
	if _, found := vpc.Subnet(""); found {
		t.Error("a subnet without a name is found")
	}
}

func TestDeleting(t *testing.T) {
	if !(LoadBalancer{Status: "Deleting"}).Deleting() || (SecurityGroup{Status: "active"}).Deleting() {
		t.Error("an object is deleting if its status says so, in upper or lower case")
	}
	if !HasLabels(Labels{"a": "1", "b": "2"}, Labels{"a": "1"}) || HasLabels(Labels{"a": "1"}, Labels{"b": "2"}) {
		t.Error("labels contain others if they have all of them with the same values")
	}
}
