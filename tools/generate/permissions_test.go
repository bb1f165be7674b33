package generate

import (
	"slices"
	"testing"

	"k8s.io/cloud-provider/names"

	"github.com/thalassa-cloud/thalassa-ccm/src/rbac"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// TestPermissions: each part needs what its rules in the chart permit, and no other part's.
func TestPermissions(t *testing.T) {
	made, err := permissions().Files(t.Context(), repotest.Root(t, "charts/thalassa-ccm"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := rbac.Parse(made[permissionFile])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []rbac.Permission{
		{Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Namespace: "kube-system",
			Name: "cloud-controller-manager"},
		{Part: names.CloudNodeController, Resource: "nodes/status", Verb: "patch"},
		{Part: names.CloudNodeLifecycleController, Resource: "nodes", Verb: "delete"},
		{Part: names.ServiceLBController, Group: "discovery.k8s.io", Resource: "endpointslices", Verb: "watch"},
		{Part: names.NodeRouteController, Resource: "nodes/status", Verb: "patch"},
		{Part: rbac.NodeIPAM, Accounts: true, Account: "node-controller", Resource: "nodes", Verb: "list"},
		{Part: rbac.RemoveOrphans, Accounts: true, Account: "service-controller", Resource: "services",
			Verb: "list"},
	} {
		if !slices.Contains(all, want) {
			t.Errorf("the list lacks %+v", want)
		}
	}
	for _, one := range all {
		if one.Part == rbac.NodeIPAM && one.Resource == "services" || one.Account == "cloud-provider-thalassa" {
			t.Errorf("the list contains %+v", one)
		}
	}
	ironcore, err := rbac.Parse(made[ironcorePermissionFile])
	if err != nil {
		t.Fatal(err)
	}
	want := rbac.Permission{Group: "networking.ironcore.dev", Resource: "loadbalancers", Verb: "create",
		Namespaced: true}
	if !slices.Contains(ironcore, want) {
		t.Errorf("the list of IronCore lacks %+v", want)
	}
}
