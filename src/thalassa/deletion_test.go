package thalassa

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestEndOfDeletionIsConfirmed: a look that does not know of the last write, as one after an error, does not conclude
// from older lists that nothing is left.
func TestEndOfDeletionIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		var confirmed bool
		for range 10 {
			found, err := l.cloud.balancers.PlanDelete(t.Context(), web, false)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case !found.Exists && !confirmed:
				t.Fatal("nothing is left at once after the last write")
			case !found.Exists:
				return
			case found.Wait != nil && found.Wait.Within == deletionWindow:
				confirmed = true
				<-time.After(deletionWindow)
			case len(found.Plan) == 0:
				<-time.After(time.Minute)
			}
			if _, err := l.cloud.balancers.Apply(t.Context(), web, found.Plan); err != nil {
				t.Fatal(err)
			}
		}
		t.Error("the deletion does not end")
	})
}

// TestKeepIsRemembered by the load balancer: whoever finds it without its Service knows that it is not to be removed.
func TestKeepIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a"), serviceWith(nil)
		for i, value := range []string{"", onDeleteKeep, "neither", onDeleteDelete, onDeleteKeep, ""} {
			web.Annotations[label.AnnotationPrefix+"on-delete"] = value
			if value == "" {
				delete(web.Annotations, label.AnnotationPrefix+"on-delete")
			}
			l.settle(web, nodes)
			owned, err := l.cloud.balancers.ListManaged(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			kept := slices.ContainsFunc(owned, func(one cloud.ManagedObject) bool { return one.Retained })
			if want := value == onDeleteKeep || value == "neither"; kept != want {
				t.Errorf("change %d, to %q: kept %v, want %v", i, value, kept, want)
			}
			if l.emulator.ResetCounters(); i > 0 {
				l.settle(web, nodes)
			}
			if writes := l.writes(); len(writes) > 0 {
				t.Errorf("change %d: written again: %v", i, writes)
			}
		}
	})
}

// TestBusyTargetGroupsAreDeleted: the existing CCM does not delete target groups that still show listeners, and says
// that nothing is left.
func TestBusyTargetGroupsAreDeleted(t *testing.T) {
	clouds := map[string]emulator.Config{
		"listeners go at once":    slowCloud,
		"listeners go at the end": {Delays: slowCloud.Delays, Switches: emulator.Switches{LateRelease: true}},
		"the load balancer stays shown": {Delays: emulator.Delays{LoadbalancerDelete: 10 * time.Second,
			LoadbalancerLinger: time.Hour}},
	}
	for name, cloud := range clouds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, cloud)
				web := service("web", 80, 443)
				l.settle(web, l.nodes("a"))
				tap := l.tap()
				tap.refuse = refusing("DELETE /v1/loadbalancer-target-groups/", http.StatusConflict, 3)
				removed := func() error { return l.library.EnsureLoadBalancerDeleted(t.Context(), "", web) }
				for attempt := 0; removed() != nil; attempt++ {
					if attempt == 20 {
						t.Fatal("the deletion does not end")
					}
					<-time.After(5 * time.Second)
				}
				groups, err := l.api().ListTargetGroups(t.Context(), nil)
				if err != nil || len(groups) > 0 {
					t.Errorf("the deletion was a success with %d target groups left, error %v", len(groups), err)
				}
			})
		})
	}
}
