package thalassa

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestSecurityGroupOfAnUnfinishedLoadBalancer is removed when the Service does not ask for one any more before its load
// balancer could be created: the load balancer is what says otherwise that the group was made. Lives 70000284 and
// 70000295 found it.
func TestSecurityGroupOfAnUnfinishedLoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		nodes := l.nodes("a")
		web := service("web", 80)
		web.Annotations[label.AnnotationPrefix+nameCreateGroup] = "true"
		limit := func(most int) {
			t.Helper()
			if err := l.emulator.SetQuota(emulator.DefaultOrganisation, "loadbalancers", most); err != nil {
				t.Fatal(err)
			}
		}
		limit(0)
		if _, err := l.ensure(web, nodes); err == nil {
			t.Fatal("a load balancer was created beyond the quota")
		}
		if !slices.Contains(l.holdings(), "a security group for web") {
			t.Fatalf("the cloud has %q, want a security group", l.holdings())
		}
		delete(web.Annotations, label.AnnotationPrefix+nameCreateGroup)
		limit(1)
		l.settle(web, nodes)
		if want := []string{"80/tcp to 30080 on a"}; !slices.Equal(l.holdings(), want) {
			t.Errorf("the cloud has %q, want %q", l.holdings(), want)
		}
	})
}
