package ironcoretest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestDocumented(t *testing.T) {
	got, err := Documented("| Resources | Verbs | Where |\n|---|---|---|\n" +
		"| `machines`, `networks` | get, list | the namespace |\n| `machinepools` | watch | the cluster |\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Permissions{
		Namespace: []rbacv1.PolicyRule{
			{APIGroups: []string{"compute.ironcore.dev"}, Resources: []string{"machines"},
				Verbs: []string{"get", "list"}},
			{APIGroups: []string{"networking.ironcore.dev"}, Resources: []string{"networks"},
				Verbs: []string{"get", "list"}},
		},
		Cluster: []rbacv1.PolicyRule{{APIGroups: []string{"compute.ironcore.dev"}, Resources: []string{"machinepools"},
			Verbs: []string{"watch"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPageWithoutPermissions(t *testing.T) {
	_, err := Documented("| Resources | Verbs | Where |\n|---|---|---|\n| machines | get | the namespace |\n")
	if err == nil || !strings.Contains(err.Error(), "no row") {
		t.Errorf("got %v, want an error about rows", err)
	}
}
