package adapter

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	fakecloud "k8s.io/cloud-provider/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestNew: the adapter offers what the provided cloud has, with defaults.
func TestNew(t *testing.T) {
	all := New(&fakecloud.Cloud{Provider: "Plain", EnableInstancesV2: true}, "k1")
	if all.Name != "Plain" || all.Untagged || all.LoadBalancers == nil || all.Machines == nil || all.Routes == nil {
		t.Errorf("the adapter offers %+v", all)
	}
	balancers := cloud.LoadBalancerBehaviour{PollInterval: 5 * time.Second, SlowAfter: 5 * time.Minute,
		Drift: cloud.Repair}
	machines := cloud.MachineBehaviour{
		Domain: "plain.cloud-provider", GracePeriod: time.Minute, MaxRemovals: 20, RemovalWindow: 10 * time.Minute,
	}
	if diff := cmp.Diff(balancers, all.LoadBalancerBehaviour) + cmp.Diff(machines, all.MachineBehaviour); diff != "" {
		t.Errorf("behaviour (-want +got):\n%s", diff)
	}
	none := New(&fakecloud.Cloud{DisableInstances: true, DisableLoadBalancers: true, DisableRoutes: true}, "k1")
	if none.LoadBalancers != nil || none.Machines != nil || none.Routes != nil {
		t.Errorf("the adapter offers %+v of a cloud that has nothing", none)
	}
}
