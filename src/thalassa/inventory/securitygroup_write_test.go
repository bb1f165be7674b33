package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

const putGroup = "PUT /v1/security-groups/{id}"

// read is what the cloud says now about a security group.
func (w *rig) read(id string) resource.SecurityGroup {
	w.Helper()
	group, exists, err := w.getSecurityGroup(w.Context(), id)
	if err != nil || !exists {
		w.Fatalf("security group %s: exists %v, error %v", id, exists, err)
	}
	return group
}

// TestSecurityGroupLife under every reading of what the API allows and does.
func TestSecurityGroupLife(t *testing.T) {
	for name, switches := range map[string]emulator.Switches{
		"replace": {}, "merge": {Updates: emulator.Merge}, "strict": {StrictSecurityGroups: true,
			UniqueRulePriorities: true, UniqueNames: true},
		"200s": {CreateStatus: 200, DoneStatus: 200, DoneBody: "null"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRig(t, emulator.Config{Switches: switches})
			other := w.groupByHand("other", emulator.DefaultVPC)
			remote := resource.Rule{Name: "b", IPVersion: "ipv6", Protocol: "udp", Priority: 2,
				RemoteType:  "securityGroup",
				RemoteGroup: other, PortMin: 1, PortMax: 65534, Policy: "drop"}
			made := must[resource.SecurityGroup](w)(w.CreateSecurityGroup(t.Context(), resource.SecurityGroup{
				Name: "web", Description: "d", Labels: owned("web"), Annotations: resource.Labels{"note": "x"},
				SameGroupTraffic: true,
				Ingress:          []resource.Rule{rule("a", 1, 80), remote}, Egress: []resource.Rule{rule("c", 3, 443)},
			}))
			if diff := cmp.Diff(w.read(made.ID), made); diff != "" ||
				!slices.Equal(made.Ingress, []resource.Rule{rule("a", 1, 80), remote}) || made.Version == 0 {
				t.Errorf("made %+v\n%s", made, diff)
			}
			w.secured("web", Fresh)
			changed := made
			changed.Description, changed.Annotations, changed.SameGroupTraffic, changed.Ingress, changed.Egress = "",
				nil, false, nil, []resource.Rule{rule("d", 4, 8080)}
			w.ok(w.UpdateSecurityGroup(t.Context(), made, changed))
			got := w.read(made.ID)
			known, _, err := w.SecurityGroup(t.Context(), "web", time.Hour)
			if diff := cmp.Diff(got, known, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("error %v, in the copy (-cloud +copy):\n%s", err, diff)
			}
			if got.Version == made.Version || len(got.Ingress)+len(got.Annotations)+len(got.Description) != 0 ||
				got.SameGroupTraffic || !slices.Equal(got.Egress, changed.Egress) {
				t.Errorf("updated %+v, want everything but the name and one rule taken away", got)
			}
			w.ok(w.DeleteSecurityGroup(t.Context(), made.ID))
			w.ok(w.DeleteSecurityGroup(t.Context(), made.ID)) // again, as after an answer that was lost
			if left := w.secured("web", Fresh); left != "" {
				t.Errorf("left: %s", left)
			}
		})
	}
}

// TestSecurityGroupConflict: what is based on an old version is not written, and the next reader sees what there is.
func TestSecurityGroupConflict(t *testing.T) {
	for _, status := range []int{409, 400, 422} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			w := newRig(t, emulator.Config{Switches: emulator.Switches{ConflictStatus: status}})
			old := w.secure("web", "web")
			byHand := old
			byHand.Description = "by hand"
			w.ok(w.UpdateSecurityGroup(t.Context(), old, byHand))
			w.restart()
			w.secured("web", Fresh)
			w.ok(w.UpdateSecurityGroup(t.Context(), w.read(old.ID), byHand)) // by somebody who read it later
			w.securityGroups.Put(old)
			mine := old
			mine.Ingress = []resource.Rule{rule("a", 1, 80)}
			err := w.UpdateSecurityGroup(t.Context(), old, mine)
			if errors.Is(err, client.ErrConflict) != (status == 409) || err == nil || len(w.read(old.ID).Ingress) != 0 {
				t.Errorf("error %v, rules %v; want a conflict and none", err, w.read(old.ID).Ingress)
			}
			if got, _, err := w.SecurityGroup(t.Context(), "web", time.Hour); err != nil ||
				got.Description != "by hand" {
				t.Errorf("the next reader sees %+v, error %v", got, err)
			}
		})
	}
}

// TestUpdateWithoutAnObject: when the answer does not say which version it is now, the next reader asks.
func TestUpdateWithoutAnObject(t *testing.T) {
	w := newRig(t, emulator.Config{Switches: emulator.Switches{StrictSecurityGroups: true}})
	old := w.secure("web", "web")
	w.secured("web", Fresh)
	w.injectFault(putGroup, 1, fault.Effect{Kind: fault.NoContent})
	byHand := old
	byHand.Description = "d"
	w.ok(w.UpdateSecurityGroup(t.Context(), old, byHand))
	now := must[[]resource.SecurityGroup](w)(w.SecurityGroupsOf(t.Context(), "web", time.Hour, 0))[0]
	if now.Version != w.read(old.ID).Version {
		t.Errorf("version %d is known, and it is %d", now.Version, w.read(old.ID).Version)
	}
}

// TestSecurityGroupInUse cannot be deleted: not while it is attached, nor while the rules of another one name it, nor
// before a load balancer that goes has let go of it.
func TestSecurityGroupInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{Switches: emulator.Switches{LateRelease: true},
			Delays: emulator.Delays{LoadbalancerDelete: time.Minute}})
		group := w.secure("ours", "web")
		byName := rule("a", 1, 80)
		byName.RemoteType, byName.RemoteAddress, byName.RemoteGroup = "securityGroup", "", group.ID
		naming := w.secure("naming", "api", byName)
		balancer := w.balancer(func(n *resource.NewLoadBalancer) { n.SecurityGroups = []string{group.ID} })
		refused := func(why string) {
			t.Helper()
			if err := w.DeleteSecurityGroup(t.Context(), group.ID); !errors.Is(err, client.ErrConflict) {
				t.Errorf("%s: error %v, want a conflict", why, err)
			}
			if got := w.secured("web", time.Hour); got != "ours" {
				t.Errorf("%s: the owner has %q", why, got)
			}
		}
		refused("attached and named")
		w.ok(w.DeleteSecurityGroup(t.Context(), naming.ID))
		refused("attached")
		w.ok(w.DeleteLoadBalancer(t.Context(), balancer))
		refused("attached to what is being deleted")
		<-time.After(2 * time.Minute)
		w.ok(w.DeleteSecurityGroup(t.Context(), group.ID))
		if got := w.secured("web", Fresh); got != "" {
			t.Errorf("the owner has %q", got)
		}
	})
}

// TestCreationOfASecurityGroupWithoutAnswer leaves it uncertain to whom it belongs, and found later.
func TestCreationOfASecurityGroupWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		w.secured("web", time.Hour)
		w.injectFault("POST /v1/security-groups", 1, fault.Effect{Kind: fault.Drop})
		_, err := w.CreateSecurityGroup(t.Context(), resource.SecurityGroup{Name: "ours", Labels: owned("web")})
		if !client.Uncertain(err) || w.Expecting("web") == 0 || w.Expecting("api") != 0 {
			t.Errorf("error %v, uncertain for %v", err, w.Expecting("web"))
		}
		if got := w.secured("web", time.Hour); got != "ours" {
			t.Errorf("the owner has %q, want what was made", got)
		}
	})
}

// TestSecurityGroupQuota: whichever status says so, a caller can ask whether it may be a quota.
func TestSecurityGroupQuota(t *testing.T) {
	for _, status := range []int{403, 409, 422, 429} {
		w := newRig(t, emulator.Config{Switches: emulator.Switches{QuotaStatus: status}})
		w.ok(w.emulator.SetQuota("", "security-groups", 0))
		_, err := w.CreateSecurityGroup(t.Context(), resource.SecurityGroup{Name: "ours", Labels: owned("web")})
		if !client.MayBeQuota(err) || !errors.Is(err, client.ErrQuota) || w.Expecting("web") != 0 ||
			strings.Contains(err.Error(), "right") {
			t.Errorf("%d: error %v", status, err)
		}
	}
}

// TestChangeIngress writes the rules and nothing else, and nothing at all when there is nothing to change.
func TestChangeIngress(t *testing.T) {
	allModes(t, func(t *testing.T, mode emulator.UpdateMode) {
		t.Helper()
		w := newRig(t, emulator.Config{Switches: emulator.Switches{Updates: mode, StrictSecurityGroups: true}})
		id := w.post(iaas.SecurityGroupEndpoint, iaas.CreateSecurityGroupRequest{
			Name: "nodes", Description: "d", Labels: iaas.Labels{"mine": "x"},
			Annotations: iaas.Annotations{"note": "y"}, VpcIdentity: emulator.DefaultVPC,
			AllowSameGroupTraffic: true, EgressRules: []iaas.SecurityGroupRule{{Name: "out", IPVersion: "ipv4",
				Protocol: "all", Priority: 1, RemoteType: "address",
				RemoteAddress: new("0.0.0.0/0"), PortRangeMin: 1, PortRangeMax: 65534, Policy: "allow"}},
		})
		want := w.read(id)
		add := func(rules []resource.Rule) []resource.Rule { return append(rules, rule("a", 7, 80)) }
		w.ok(w.ChangeIngress(t.Context(), id, add))
		want.Ingress = []resource.Rule{rule("a", 7, 80)}
		got := w.read(id)
		if got.Version == want.Version {
			t.Error("nothing was written")
		}
		got.Version = want.Version
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after adding a rule (-want +got):\n%s", diff)
		}
		w.emulator.ResetCounters()
		w.ok(w.ChangeIngress(t.Context(), id, slices.Clip[[]resource.Rule]))
		if writes := w.written(); len(writes) != 0 {
			t.Errorf("writes although nothing changes: %v", writes)
		}
		w.ok(w.ChangeIngress(t.Context(), id, func([]resource.Rule) []resource.Rule { return nil }))
		if got := w.read(id); len(got.Ingress) != 0 || len(got.Egress) != 1 || !got.SameGroupTraffic ||
			got.Labels["mine"] != "x" {
			t.Errorf("after taking it away: %+v", got)
		}
	})
}

// TestChangeIngressOfAGroupThatOthersChange is tried once more with what it is then, and not for ever.
func TestChangeIngressOfAGroupThatOthersChange(t *testing.T) {
	for _, tt := range []struct{ conflicts, writes int }{{0, 1}, {1, 2}, {2, 2}} {
		t.Run(fmt.Sprint(tt.conflicts), func(t *testing.T) {
			w := newRig(t, emulator.Config{})
			id, looks := w.groupByHand("nodes", emulator.DefaultVPC), 0
			w.emulator.ResetCounters()
			err := w.ChangeIngress(t.Context(), id, func(rules []resource.Rule) []resource.Rule {
				if looks++; looks <= tt.conflicts { // somebody else, in between
					must[ruleBatch](w)(client.Put[ruleBatch](t.Context(), w.Inventory.cloud, iaas.SecurityGroupEndpoint+
						"/"+id+"/ingress-rules/batch",
						iaas.BatchUpdateSecurityGroupRulesRequest{Rules: []iaas.SecurityGroupRule{{Name: fmt.Sprint(
							"theirs", looks), IPVersion: "ipv4", Protocol: "tcp",
							Priority: 1, RemoteType: "address", RemoteAddress: new("10.0.0.0/8"), PortRangeMin: 22,
							PortRangeMax: 22, Policy: "allow"}}}))
				}
				return append(rules, rule("ours", 7, 80))
			})
			var names []string
			for _, rule := range w.read(id).Ingress {
				names = append(names, rule.Name)
			}
			got := strings.Join(names, " ")
			switch tt.conflicts {
			case 0, 1:
				if err != nil || !strings.HasSuffix(got, "ours") || (tt.conflicts == 1) != strings.HasPrefix(got,
					"theirs1") {
					t.Errorf("rules %q, error %v", got, err)
				}
			default:
				if !errors.Is(err, client.ErrConflict) || got != "theirs2" {
					t.Errorf("rules %q, error %v; want a conflict", got, err)
				}
			}
			if writes := w.emulator.Counters()[putGroup]; writes != tt.writes {
				t.Errorf("%d writes, want %d", writes, tt.writes)
			}
		})
	}
}

type ruleBatch = []ruleItem

// TestChangesOfOneGroupTakeTurns: each sees what the one before did, so that none is a conflict.
func TestChangesOfOneGroupTakeTurns(t *testing.T) {
	w := newRig(t, emulator.Config{})
	ids := []string{w.groupByHand("one", emulator.DefaultVPC), w.groupByHand("two", emulator.DefaultVPC)}
	w.emulator.ResetCounters()
	const changes = 20
	var changing sync.WaitGroup
	for i := range int32(changes) {
		changing.Go(func() {
			err := w.ChangeIngress(t.Context(), ids[i%2], func(rules []resource.Rule) []resource.Rule {
				return append(rules, rule("a", i+1, 80))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	changing.Wait()
	if one, two := w.read(ids[0]), w.read(ids[1]); len(one.Ingress)+len(two.Ingress) != changes {
		t.Errorf("%d and %d rules, want %d", len(one.Ingress), len(two.Ingress), changes)
	}
	if writes := w.emulator.Counters()[putGroup]; writes != changes {
		t.Errorf("%d writes, want %d: conflicts among ourselves", writes, changes)
	}
}

func TestChangeIngressOfNoGroup(t *testing.T) {
	w := newRig(t, emulator.Config{})
	for _, id := range []string{"sg-none", w.groupByHand("far", otherVPC)} {
		err := w.ChangeIngress(t.Context(), id, func(rules []resource.Rule) []resource.Rule {
			return append(rules,
				rule("a", 1, 80))
		})
		if !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), id) {
			t.Errorf("%s: error %v, want not found", id, err)
		}
	}
}

// TestWaitForATurnEnds: a caller that gives up does not wait for its turn.
func TestWaitForATurnEnds(t *testing.T) {
	w := newRig(t, emulator.Config{})
	w.ok(w.securityGroups.turn.Acquire(t.Context(), 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.ChangeIngress(ctx, "sg-1", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
