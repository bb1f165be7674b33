package inventory

import (
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// ip is a reserved IP that must be there.
func (w *rig) ip(ref string, maxAge time.Duration) resource.ReservedIP {
	w.Helper()
	ip, found, err := w.ReservedIP(w.Context(), ref, maxAge)
	if err != nil || !found {
		w.Fatalf("reserved IP %s: found %v, error %v", ref, found, err)
	}
	return ip
}

// TestReservedIPsAreFound by identity, slug or address, in the region of the VPC.
func TestReservedIPsAreFound(t *testing.T) {
	for _, ignored := range [][]string{nil, {"region"}} {
		w := newRig(t, emulator.Config{Switches: emulator.Switches{IgnoredFilters: ignored}})
		id, far := w.reserve("Ingress", emulator.DefaultRegion), w.reserve("far", otherRegion)
		ip := w.ip(id, time.Hour)
		if ip.Slug != "ingress" || len(ip.Addresses) != 1 || ip.AttachedTo != "" {
			t.Errorf("reserved IP %+v", ip)
		}
		address := ip.Addresses[0].String()
		for ref, want := range map[string]bool{
			"ingress": true, address: true, "::ffff:" + address: true, "Ingress": false, far: false, "far": false,
			"203.0.113.1": false, "": false, "address/" + address: false,
		} {
			got, found, err := w.ReservedIP(t.Context(), ref, time.Hour)
			if err != nil || found != want || (found && got.ID != id) {
				t.Errorf("%q is %q, found %v, error %v; want found %v", ref, got.ID, found, err, want)
			}
		}
	}
}

// TestReservedIPMoves: the copy follows our own writes.
func TestReservedIPMoves(t *testing.T) {
	w := newRig(t, emulator.Config{})
	one, two := w.reserve("one", emulator.DefaultRegion), w.reserve("two", emulator.DefaultRegion)
	check := func(what, ref, want string) {
		t.Helper()
		if known := w.ip(ref, time.Hour); known.AttachedTo != want {
			t.Errorf("%s: %s is attached to %q", what, ref, known.AttachedTo)
		}
		if listed := w.ip(ref, Fresh); listed.AttachedTo != want {
			t.Errorf("%s: in the cloud %s is attached to %q", what, ref, listed.AttachedTo)
		}
	}
	w.ip(one, time.Hour)
	made := w.balancer(func(n *resource.NewLoadBalancer) { n.ReservedIP = one })
	check("created with it", one, made.ID)
	moved := made
	moved.ReservedIP = two
	w.ok(w.UpdateLoadBalancer(t.Context(), made, moved))
	check("another one instead", one, "")
	check("another one instead", two, made.ID)
	own := moved
	own.ReservedIP = ""
	w.ok(w.UpdateLoadBalancer(t.Context(), moved, own))
	check("none any more", two, "")
	w.ok(w.UpdateLoadBalancer(t.Context(), own, made))
	w.ok(w.DeleteLoadBalancer(t.Context(), made))
	check("deleted", one, "")
}

// TestDeletedReservedIPIsGone, although the cloud still shows it for a while.
func TestDeletedReservedIPIsGone(t *testing.T) {
	w := newRig(t, emulator.Config{Delays: emulator.Delays{NetworkLinger: time.Hour}})
	id := w.reserve("ip", emulator.DefaultRegion)
	w.ip(id, time.Hour)
	w.ok(client.Delete(t.Context(), w.Inventory.cloud, iaas.ReservedIPEndpoint+"/"+id))
	if ip, found, err := w.ReservedIP(t.Context(), id, Fresh); found || err != nil {
		t.Errorf("%+v, error %v", ip, err)
	}
}
