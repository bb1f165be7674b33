package service

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// fakeIdentity is what a cloud knows about other clusters with the same key.
type fakeIdentity struct {
	foreign []cloud.ManagedObject
	running []string
	err     error // of RunningTargets
	asked   int   // the objects that RunningTargets was asked for
}

func (f *fakeIdentity) SetUID(types.UID) {}

func (f *fakeIdentity) ListForeign(context.Context) ([]cloud.ManagedObject, error) {
	return f.foreign, nil
}

func (f *fakeIdentity) RunningTargets(_ context.Context, objects []cloud.ManagedObject) ([]string, error) {
	f.asked += len(objects)
	return f.running, f.err
}

// TestOrphanOfAnotherCluster: with removeOrphans, an orphan without the UID of this cluster stays while running
// machines that are no Nodes here are its targets, or may be.
func TestOrphanOfAnotherCluster(t *testing.T) {
	for name, tt := range map[string]struct {
		identity fakeIdentity
		proven   bool
		left     int
	}{
		"machines of others":          {fakeIdentity{running: []string{"vm-a", "vm-other"}}, false, 2},
		"machines are not known":      {fakeIdentity{err: errors.New("no answer")}, false, 2},
		"machines of this cluster":    {fakeIdentity{running: []string{"vm-a", "vm-b"}}, false, 1},
		"no machines":                 {fakeIdentity{}, false, 1},
		"it has the UID, of whatever": {fakeIdentity{running: []string{"vm-other"}}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.identity = &tt.identity
				r.startWithOrphan()
				r.cloud.set(func(p *fakeCloud) { p.balancers["uid-lost"].proven = tt.proven })
				<-time.After(4 * driftPeriod)
				want(r, "load balancers", len(r.cloud.contents()), tt.left)
				said := strings.Contains(strings.Join(r.fullEvents(), " "),
					"kubectl thalassa orphans delete uid-lost --force")
				want(r, "the event says how to delete it", said, tt.left == 2)
				r.stop()
				want(r, "asked", tt.identity.asked > 0, !tt.proven)
			})
		})
	}
}

// TestObjectsOfAnotherCluster: each other cluster with the same key is reported once, and its objects are counted.
// Those of Services that exist here are not reported: these Services have events of their own.
func TestObjectsOfAnotherCluster(t *testing.T) {
	inRig(t, func(r *rig) {
		web := r.addService("web")
		identity := &fakeIdentity{foreign: []cloud.ManagedObject{
			{UID: web.UID, Kind: "load balancer", Name: "web", ClusterUID: "third"},
			{UID: "uid-1", Kind: "load balancer", Name: "one", Identity: "lb-1", ClusterUID: "other"},
			{UID: "uid-1", Kind: "target group", Name: "one-http", Identity: "tg-1", ClusterUID: "other"},
		}}
		r.identity = identity
		r.start(1)
		<-time.After(4 * driftPeriod)
		var reported []string
		for _, event := range r.fullEvents() {
			if strings.Contains(event, reasonForeign) {
				reported = append(reported, event)
			}
		}
		if len(reported) != 1 ||
			!strings.Contains(reported[0], "whose UID is other: load balancer one (lb-1), target group") {
			t.Errorf("events %q", reported)
		}
		const expected = `
# HELP service_lb_foreign Number of objects in the cloud that have the key of this cluster and the UID of another one.
# TYPE service_lb_foreign gauge
service_lb_foreign{kind="load balancer"} 2
service_lb_foreign{kind="target group"} 1
`
		for _, collector := range r.controller.Collectors() {
			if testutil.CollectAndCount(collector, "service_lb_foreign") > 0 {
				if err := testutil.CollectAndCompare(collector, strings.NewReader(expected)); err != nil {
					t.Error(err)
				}
				return
			}
		}
		t.Error("no metric")
	})
}
