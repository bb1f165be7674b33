package balancer

import (
	"errors"
	"testing"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// TestOwnerOfAnotherCluster: two clusters that were restored from one backup have Services with the same UID. The load
// balancer of the other cluster is neither changed nor deleted.
func TestOwnerOfAnotherCluster(t *testing.T) {
	o := observed(owned(name, "green"), "a b", "b")
	_, err := Compare(config(), Request{Service: service(), Targets: nodes("a"), Observed: o})
	if !errors.Is(err, ErrOtherOwner) {
		t.Fatalf("got %v, want %v", err, ErrOtherOwner)
	}
	wantText(t, "error", err.Error(), name, "green", "shop/web")
	deletion := PlanDelete(config(), service(), o)
	want(t, "exists", deletion.Exists, false)
	want(t, "plan to delete", deletion.Plan.String(), "")
}

// TestOwnerIsTakenOver: the former program has written the value of --cluster-name, which may be its default. The
// annotation becomes the name of the cluster.
func TestOwnerIsTakenOver(t *testing.T) {
	for _, cluster := range []string{label.DefaultCluster, ""} {
		t.Run(cluster, func(t *testing.T) {
			o := observed(owned(name, cluster), "a", "a")
			if cluster == "" {
				delete(o.LoadBalancers[0].Annotations, label.ClusterName)
			}
			found := compare(t, config(), Request{Service: service(), Targets: nodes("a"), Observed: o})
			want(t, "exists", found.Exists, true)
			want(t, "operations", len(found.Plan), 1)
			apply, _ := found.Plan[0].Object.(ApplyLoadBalancer)
			want(t, "annotation", apply.Annotations[label.ClusterName], "blue")
			want(t, "version", apply.ResourceVersion, "7")
			deletion := PlanDelete(config(), service(), o)
			want(t, "deletion", deletion.Plan.String(), "delete LoadBalancer "+name)
		})
	}
}

// TestLegacyNameOfAnother: an object with the legacy name that belongs to another Service or cluster is skipped: the
// Service gets its own load balancer.
func TestLegacyNameOfAnother(t *testing.T) {
	otherService := owned(legacyName, "blue")
	otherService.Annotations[label.ServiceUID] = "0a1b-9999"
	for title, foreign := range map[string]*networkingv1alpha1.LoadBalancer{
		"cluster": owned(legacyName, "green"), "Service": otherService,
	} {
		t.Run(title, func(t *testing.T) {
			o := observed(foreign, "a", "")
			found := compare(t, config(), Request{Service: service(), Targets: nodes("a"), Observed: o})
			want(t, "exists", found.Exists, false)
			want(t, "plan", found.Plan.String(), "create LoadBalancer "+name+"\ncreate LoadBalancerRouting "+name)
			deletion := PlanDelete(config(), service(), o)
			want(t, "plan to delete", deletion.Plan.String(), "")
		})
	}
}

// TestNames: load balancers of the former program have the UID of the Service as their name, or the legacy name with
// the value of --cluster-name, which may be its default.
func TestNames(t *testing.T) {
	o := Names(config(), service())
	want(t, "names", len(o), 3)
	for i, one := range []string{name, legacyName, "kubernetes-web-0a1b"} {
		want(t, "name", o[i], one)
	}
	standard := config()
	standard.Cluster = label.DefaultCluster
	want(t, "names with the default", len(Names(standard, service())), 2)
}
