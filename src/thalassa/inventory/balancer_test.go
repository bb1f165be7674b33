package inventory

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// group makes a target group of ours.
func (w *rig) group(name string) resource.TargetGroup {
	w.Helper()
	return must[resource.TargetGroup](w)(w.CreateTargetGroup(w.Context(), resource.TargetGroup{
		Name: name, Labels: owned("web"), Annotations: resource.Labels{"note": "x"}, Protocol: "tcp", Port: 30080,
		Policy: "ROUND_ROBIN",
	}))
}

// TestCreateLoadBalancer with everything that a load balancer can have.
func TestCreateLoadBalancer(t *testing.T) {
	w := newRig(t, emulator.Config{})
	target, reserved := w.group("web-80"), w.reserve("ip", emulator.DefaultRegion)
	groups := []string{w.groupByHand("one", emulator.DefaultVPC), w.groupByHand("two", emulator.DefaultVPC)}
	slices.Sort(groups)
	listener := resource.Listener{
		Name: "web-80", Labels: owned("web"), Annotations: resource.Labels{"note": "y"}, Protocol: "tcp", Port: 80,
		TargetGroup:    target.ID,
		MaxConnections: 7, IdleTimeout: 8, AllowedSources: []string{"192.0.2.0/24"},
	}
	made := w.balancer(func(n *resource.NewLoadBalancer) {
		n.Description, n.Annotations, n.Listeners = "d", resource.Labels{"note": "z"}, []resource.Listener{listener}
		n.DeleteProtection, n.InstanceSize, n.ReservedIP, n.SecurityGroups = true, "lb-gp-large", reserved,
			[]string{groups[1], groups[0]}
	})
	listed := w.listed(made.ID)
	if diff := cmp.Diff(made, listed); diff != "" {
		t.Errorf("what was made differs from what is listed:\n%s", diff)
	}
	listener.ID = listed.Listeners[0].ID
	if diff := cmp.Diff([]resource.Listener{listener}, listed.Listeners); diff != "" {
		t.Errorf("listeners:\n%s", diff)
	}
	if listed.Description != "d" || listed.Annotations["note"] != "z" || !listed.DeleteProtection ||
		listed.InstanceSize != "lb-gp-large" ||
		listed.ReservedIP != reserved || listed.Subnet != emulator.DefaultSubnet || !slices.Equal(listed.SecurityGroups,
		groups) {
		t.Errorf("load balancer %+v lacks some of what was asked for", listed)
	}
	if target = inCopy(w, w.groups, target.ID); target.Annotations["note"] != "x" {
		t.Errorf("target group %+v lacks its annotation", target)
	}
}

// TestRefusalLooksAgainAtWhatItRefersTo: the copies of security groups and reserved IPs may be the reason.
func TestRefusalLooksAgainAtWhatItRefersTo(t *testing.T) {
	w := newRig(t, emulator.Config{})
	group, ip := w.groupByHand("one", emulator.DefaultVPC), w.reserve("ip", emulator.DefaultRegion)
	look := func() (lists int) {
		t.Helper()
		w.emulator.ResetCounters()
		_, _, failed := w.SecurityGroup(t.Context(), group, time.Hour)
		_, _, err := w.ReservedIP(t.Context(), ip, time.Hour)
		w.ok(errors.Join(failed, err))
		return w.emulator.Counters()["GET /v1/security-groups"] + w.emulator.Counters()["GET /v1/reserved-ips"]
	}
	look()
	old := w.balancer(func(n *resource.NewLoadBalancer) { n.SecurityGroups, n.ReservedIP = []string{group}, ip })
	if lists := look(); lists != 0 {
		t.Errorf("%d lists although both are known", lists)
	}
	w.injectFault("PUT /v1/loadbalancers/{id}", 1, fault.Effect{Kind: fault.Refuse, Status: 422})
	if err := w.UpdateLoadBalancer(t.Context(), old, old); !errors.Is(err, client.ErrBadRequest) {
		t.Fatalf("error %v", err)
	}
	if lists := look(); lists != 2 {
		t.Errorf("%d lists after a refusal, want both", lists)
	}
}

// TestHandedOverIsNotOursAnyMore: without our labels, it is not in the copy at once.
func TestHandedOverIsNotOursAnyMore(t *testing.T) {
	w := newRig(t, emulator.Config{})
	target, balancer := w.group("web-80"), w.balancer()
	foreign, bare := target, balancer
	foreign.Labels, bare.Labels = resource.Labels{"mine": "x"}, nil
	w.ok(w.UpdateTargetGroup(t.Context(), target, foreign))
	w.ok(w.UpdateLoadBalancer(t.Context(), balancer, bare))
	balancers, groups, _, err := w.All(t.Context(), time.Hour)
	if err != nil || len(balancers)+len(groups) != 0 {
		t.Errorf("ours: %v and %v, error %v; want nothing", balancers, groups, err)
	}
	w.ok(w.UpdateLoadBalancer(t.Context(), bare, balancer))
	if found, err := w.LoadBalancersOf(t.Context(), "web", time.Hour, 1); err != nil || len(found) != 1 {
		t.Errorf("with its labels again: %v, error %v; want the load balancer", found, err)
	}
}

func TestByIdentity(t *testing.T) {
	w := newRig(t, emulator.Config{Delays: emulator.Delays{LoadbalancerLinger: time.Hour}})
	foreign := func(n *resource.NewLoadBalancer) { n.Labels = nil }
	theirs, target := w.balancer(foreign), w.group("web-80")
	far := w.balancer(foreign, func(n *resource.NewLoadBalancer) { n.Subnet = farSubnet })
	gone := w.balancer(foreign)
	w.ok(w.DeleteLoadBalancer(t.Context(), gone))
	for id, want := range map[string]bool{theirs.ID: true, far.ID: false, gone.ID: false, "lb-none": false,
		"web": false, "../vpcs": false, target.ID: false} {
		got, found, err := w.LoadBalancerByID(t.Context(), id)
		if err != nil || found != want || (found && got.ID != id) {
			t.Errorf("load balancer %q: %+v, found %v, error %v; want found %v", id, got, found, err, want)
		}
	}
	for id, want := range map[string]bool{target.ID: true, "tg-none": false, "web-80": false} {
		if got, found, err := w.TargetGroupByID(t.Context(), id); err != nil || found != want ||
			(found && got.ID != id) {
			t.Errorf("target group %q: %+v, found %v, error %v; want found %v", id, got, found, err, want)
		}
	}
	w.injectFault("GET /v1/loadbalancers/{id}", 1, fault.Effect{Kind: fault.Forbidden})
	if _, found, err := w.LoadBalancerByID(t.Context(), theirs.ID); !errors.Is(err, client.ErrForbidden) || found {
		t.Errorf("found %v, error %v; want an error", found, err)
	}
}

func TestSubnets(t *testing.T) {
	w := newRig(t, emulator.Config{})
	vpc := must[resource.VPC](w)(w.VPC(t.Context()))
	found := map[string]string{}
	for _, subnet := range vpc.Subnets {
		for _, prefix := range subnet.CIDRs {
			found[subnet.ID] += prefix.String()
		}
	}
	if diff := cmp.Diff(map[string]string{emulator.DefaultSubnet: "10.0.0.0/17", otherSubnet: "10.0.128.0/24"},
		found); diff != "" {
		t.Errorf("subnets (-want +got):\n%s", diff)
	}
	for text, want := range map[string][]netip.Prefix{
		"": nil, "no": nil, "10.0.0.1/8": {netip.MustParsePrefix("10.0.0.0/8")},
		"10.0.0.0/8, 2001:db8::/64": {netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/64")},
	} {
		if got := prefixes(text); !slices.Equal(got, want) {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

// TestNewReservedIP: the next reader lists, because the load balancer has other addresses then.
func TestNewReservedIP(t *testing.T) {
	w := newRig(t, emulator.Config{})
	old := w.balancer()
	moved := old
	moved.ReservedIP = w.reserve("ip", emulator.DefaultRegion)
	w.ok(w.UpdateLoadBalancer(t.Context(), old, moved))
	reserved := w.ip(moved.ReservedIP, time.Hour)
	found := must[[]resource.LoadBalancer](w)(w.LoadBalancersOf(t.Context(), "web", time.Hour, 1))
	if len(found) != 1 || !slices.Equal(found[0].ExternalAddresses, []string{reserved.Addresses[0].String()}) {
		t.Errorf("load balancers %+v, want one with the address of %+v", found, reserved)
	}
}
