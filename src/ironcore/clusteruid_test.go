package ironcore

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// UIDs of two clusters with one name.
const (
	blueCluster  = "0a1b2c3d-0000-4000-8000-00000000b1e0"
	greenCluster = "0a1b2c3d-0000-4000-8000-0000000009ee"
)

// startAs is start for the cluster with the UID.
func (r *rig) startAs(uid string, former ...string) *Cloud {
	r.Helper()
	config := testConfig()
	config.FormerClusterUIDs = strings.Join(former, ",")
	c := r.startWith(config)
	if uid != "" {
		c.balancers.SetUID(types.UID(uid))
	}
	return c
}

// TestTwoClustersWithOneName: what another cluster with the same name has made is neither taken, changed, deleted nor
// listed as ours, even for a Service with the same UID. The Service is refused with one notice.
func TestTwoClustersWithOneName(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		blue := r.startAs(blueCluster)
		r.reconcile(blue, service(), "a")
		pass(time.Minute)
		made, _ := r.server.LoadBalancer(serviceName)
		routing, _ := r.server.LoadBalancerRouting(serviceName)
		want(r, "UID of the load balancer", made.Annotations[label.ClusterUID], blueCluster)
		want(r, "UID of the routing", routing.Annotations[label.ClusterUID], blueCluster)
		ours, err := blue.balancers.ListManaged(r.ctx)
		want(r, "error of ListManaged", err, nil)
		want(r, "proven", len(ours) == 1 && ours[0].Proven, true)
		targets, err := blue.balancers.RunningTargets(r.ctx, ours)
		want(r, "running targets", slices.Equal(targets, []string{"a"}) && err == nil, true)
		green := r.startAs(greenCluster)
		r.server.ForgetRequests()
		found := r.diff(green, service(), "a")
		want(r, "plan", found.Plan.String(), "")
		want(r, "exists", found.Exists, true)
		want(r, "notices", len(found.Notices), 1)
		wantText(r, "notice", found.Notices[0].Message, "formerClusterUIDs", blueCluster)
		for _, written := range []bool{false, true} {
			want(r, "plan to delete", r.planDelete(green, service(), written).Plan.String(), "")
		}
		ours, _ = green.balancers.ListManaged(r.ctx)
		want(r, "managed by the other cluster", len(ours), 0)
		foreign, err := green.balancers.ListForeign(r.ctx)
		want(r, "foreign", len(foreign) == 1 && string(foreign[0].ClusterUID) == blueCluster && err == nil, true)
		want(r, "writes", strings.Join(r.server.Writes(), ", "), "")
	})
}

// TestTakeoverOfAnotherCluster: with the UID of the former cluster in the configuration, or without a UID, the load
// balancer is taken over without a write. The next write contains the new UID.
func TestTakeoverOfAnotherCluster(t *testing.T) {
	for name, former := range map[string]string{"another cluster": blueCluster, "no UID": ""} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.addMachine("a")
				r.reconcile(r.startAs(former), service(), "a")
				pass(time.Minute)
				green := r.startAs(greenCluster, blueCluster)
				r.server.ForgetRequests()
				r.reconcile(green, service(), "a")
				want(r, "writes", strings.Join(r.server.Writes(), ", "), "")
				changed := service()
				changed.Spec.Ports[0].Port = 81
				r.reconcile(green, changed, "a")
				made, _ := r.server.LoadBalancer(serviceName)
				want(r, "UID after a change", made.Annotations[label.ClusterUID], greenCluster)
			})
		})
	}
}
