package inventory

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
