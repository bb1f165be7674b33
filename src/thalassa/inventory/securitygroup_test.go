package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

const listGroups = "GET /v1/security-groups"

// rule allows TCP to a port from everywhere.
func rule(name string, priority, port int32) resource.Rule {
	return resource.Rule{Name: name, IPVersion: "ipv4", Protocol: "tcp", Priority: priority, RemoteType: "address",
		RemoteAddress: "0.0.0.0/0", PortMin: port, PortMax: port, Policy: "allow"}
}

// secure makes a security group of ours.
func (w *rig) secure(name, owner string, ingress ...resource.Rule) resource.SecurityGroup {
	w.Helper()
	return must[resource.SecurityGroup](w)(w.CreateSecurityGroup(w.Context(),
		resource.SecurityGroup{Name: name, Labels: owned(owner),
			Ingress: ingress}))
}

// secured are the names of the owner's security groups.
func (w *rig) secured(owner string, maxAge time.Duration) string {
	w.Helper()
	var names []string
	for _, group := range must[[]resource.SecurityGroup](w)(w.SecurityGroupsOf(w.Context(), owner, maxAge, 0)) {
		names = append(names, group.Name)
	}
	return strings.Join(names, " ")
}

// TestSecurityGroupsAreFound: an owner's by their labels, any of the VPC by identity or slug, and no others.
func TestSecurityGroupsAreFound(t *testing.T) {
	for _, ignored := range [][]string{nil, {"vpc"}} {
		w := newRig(t, emulator.Config{Switches: emulator.Switches{IgnoredFilters: ignored}})
		ours := w.secure("Ours", "web")
		w.secure("another's", "api")
		theirs, far := w.groupByHand("theirs", emulator.DefaultVPC), w.groupByHand("far", otherVPC)
		w.restart()
		if got := w.secured("web", time.Hour); got != "Ours" {
			t.Errorf("the owner has %q", got)
		}
		for ref, want := range map[string]string{ours.ID: ours.ID, "ours": ours.ID, "theirs": theirs, theirs: theirs,
			"Ours": "", far: "", "far": "", "": "", "owner/web": ""} {
			got, found, err := w.SecurityGroup(t.Context(), ref, time.Hour)
			if err != nil || got.ID != want || found != (want != "") {
				t.Errorf("%q is %q, found %v, error %v; want %q", ref, got.ID, found, err, want)
			}
		}
		names, err := w.SecurityGroupNames(t.Context())
		if joined := strings.Join(names, ", "); err != nil || len(names) != 3 ||
			!strings.Contains(joined, theirs+" (theirs)") || strings.Contains(joined, "far") {
			t.Errorf("names %v, error %v", names, err)
		}
	}
}

// TestSecurityGroupsAreListedWhenAskedFor: not to look for drift, not to try credentials, and once for everybody.
func TestSecurityGroupsAreListedWhenAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		id := w.groupByHand("theirs", emulator.DefaultVPC)
		ours := func() (groups int) {
			_, _, all, err := w.All(t.Context(), time.Minute)
			w.ok(err)
			return len(all)
		}
		w.ok(errors.Join(w.Refresh(t.Context()), w.ProbeAll(t.Context()), w.Probe(t.Context())))
		if w.emulator.Counters()["GET /v1/reserved-ips"] != 0 || ours() != 0 || w.calls(listGroups) != 0 {
			t.Error("security groups or reserved IPs are listed although nobody needs any")
		}
		var asking sync.WaitGroup
		for i := range 100 {
			asking.Go(func() {
				if _, found, err := w.SecurityGroup(t.Context(), id, time.Minute); !found || err != nil {
					t.Errorf("reader %d: found %v, error %v", i, found, err)
				}
				w.secured("web", time.Minute)
			})
		}
		asking.Wait()
		if lists := w.calls(listGroups); lists != 1 {
			t.Errorf("%d lists for a hundred readers", lists)
		}
		w.secure("ours", "web")
		if groups := ours(); groups != 1 {
			t.Errorf("%d security groups are ours, want the one that was just made", groups)
		}
		w.emulator.ResetCounters()
		w.ok(errors.Join(w.Refresh(t.Context()), w.Refresh(t.Context())))
		if lists := w.calls(listGroups); lists != 0 {
			t.Errorf("%d lists by looking anew at everything", lists)
		}
		w.secured("web", time.Hour)
		if lists := w.calls(listGroups); lists != 1 {
			t.Errorf("%d lists by the next reader, want one", lists)
		}
		<-time.After(securityGroupUse + time.Minute)
		if ours() != 0 || w.calls(listGroups) != 0 {
			t.Error("security groups are listed although nobody has needed any for a day")
		}
		w.balancer(func(n *resource.NewLoadBalancer) { n.SecurityGroups = []string{id} })
		if groups := ours(); groups != 1 {
			t.Errorf("%d security groups are ours, want the one; a load balancer has one", groups)
		}
	})
}

// TestSecurityGroupThatAListLeavesOut is asked for.
func TestSecurityGroupThatAListLeavesOut(t *testing.T) {
	w := newRig(t, emulator.Config{})
	w.secure("ours", "web")
	w.restart()
	w.secured("web", Fresh)
	w.securityGroups.List = func(context.Context) ([]resource.SecurityGroup, error) { return nil, nil }
	if got := w.secured("web", Fresh); got != "ours" {
		t.Errorf("the owner has %q when a list shows nothing", got)
	}
}

// TestWithoutTheRight to see security groups everything else goes on, and an event says to who needs one which right is
// missing.
func TestWithoutTheRight(t *testing.T) {
	for name, effect := range map[string]fault.Effect{
		"forbidden": {Kind: fault.Forbidden}, "hidden": {Kind: fault.Refuse, Status: 404},
		"unauthorised": {Kind: fault.Unauthorised},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRig(t, emulator.Config{})
			w.injectFault("* /v1/security-groups", 0, effect)
			w.injectFault("* /v1/security-groups/{id}", 0, effect)
			w.injectFault("* /v1/reserved-ips", 0, effect)
			w.injectFault("* /v1/quotas", 0, effect)
			w.ok(errors.Join(w.Refresh(t.Context()), w.ProbeAll(t.Context()), second(w.VPC(t.Context()))))
			for what, needs := range map[string]struct {
				do    func() error
				right string
			}{
				"an owner's": {func() error {
					return second(w.SecurityGroupsOf(t.Context(), "web", time.Hour, 0))
				}, "read security groups"},
				"one": {func() error {
					_, _, err := w.SecurityGroup(t.Context(), "web", time.Hour)
					return err
				}, "read security groups"},
				"reserved IP": {func() error {
					_, _, err := w.ReservedIP(t.Context(), "web", time.Hour)
					return err
				}, "read reserved IPs"},
				"quotas": {func() error { return second(w.Quotas(t.Context())) }, "read quotas"},
				"creation": {func() error {
					return second(w.CreateSecurityGroup(t.Context(), resource.SecurityGroup{Name: "web"}))
				}, "write security groups"},
			} {
				if err := needs.do(); err == nil || (!strings.Contains(err.Error(), "the permission to "+needs.right) &&
					effect.Status == 0) {
					t.Errorf("%s: error %v, want one that names the permission to %s", what, err, needs.right)
				}
				if err := w.Inventory.cloud.Err(); err != nil {
					t.Errorf("%s: it speaks against the credentials: %v", what, err)
				}
			}
			w.balancer()
			if balancers, _, groups, err := w.All(t.Context(), time.Hour); len(balancers) != 1 || len(groups) != 0 ||
				err != nil {
				t.Errorf("%d load balancers, %d security groups, error %v", len(balancers), len(groups), err)
			}
		})
	}
}

// TestSecurityGroupsAfterUncertainty: a list from before its end says nothing.
func TestSecurityGroupsAfterUncertainty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		w.expect("web")
		w.secured("web", time.Hour)
		<-time.After(store.VisibilityDelay + time.Minute)
		w.securityGroups.Drop(w.secure("late", "web").ID) // made by another process, as it were
		if got := w.secured("web", time.Hour); got != "late" {
			t.Errorf("the owner has %q", got)
		}
	})
}

// TestDeletedSecurityGroupsAreGone, although the cloud still shows them for a while.
func TestDeletedSecurityGroupsAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{Delays: emulator.Delays{NetworkDelete: time.Minute, NetworkLinger: time.Hour}})
		group := w.secure("ours", "web")
		w.secured("web", Fresh)
		w.ok(w.DeleteSecurityGroup(t.Context(), group.ID))
		for _, age := range []time.Duration{time.Hour, Fresh} {
			got := must[[]resource.SecurityGroup](w)(w.SecurityGroupsOf(t.Context(), "web", age, 0))
			if len(got) != 1 || !got[0].Deleting() {
				t.Errorf("%+v, want it on its way out", got)
			}
		}
		<-time.After(2 * time.Minute)
		if got := w.secured("web", Fresh); got != "" {
			t.Errorf("the owner has %q", got)
		}
	})
}

// TestAmbiguousReference: nobody guesses.
func TestAmbiguousReference(t *testing.T) {
	w := newRig(t, emulator.Config{})
	w.securityGroups.List = func(context.Context) ([]resource.SecurityGroup, error) {
		return []resource.SecurityGroup{{ID: "sg-2", Slug: "web"}, {ID: "sg-1", Slug: "web"}}, nil
	}
	_, found, err := w.SecurityGroup(t.Context(), "web", time.Hour)
	if want := `security group "web" is the name of several objects: sg-1, sg-2; use the identity of one`; found ||
		fmt.Sprint(err) != want {
		t.Errorf("found %v, error %v; want %s", found, err, want)
	}
}
