package rbactest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestCovers(t *testing.T) {
	done := Permission{"me", "get", "", "leases", "kube-system", "mine"}
	for name, tt := range map[string]struct {
		granted Permission
		want    bool
	}{
		"exactly":           {done, true},
		"any name":          {Permission{"me", "get", "", "leases", "kube-system", ""}, true},
		"anywhere":          {Permission{"me", "get", "", "leases", "", "mine"}, true},
		"everything":        {Permission{"me", "get", "", "leases", "", ""}, true},
		"another user":      {Permission{"you", "get", "", "leases", "", ""}, false},
		"another verb":      {Permission{"me", "list", "", "leases", "", ""}, false},
		"another group":     {Permission{"me", "get", "x", "leases", "", ""}, false},
		"subresource":       {Permission{"me", "get", "", "leases/status", "", ""}, false},
		"another namespace": {Permission{"me", "get", "", "leases", "default", ""}, false},
		"another name":      {Permission{"me", "get", "", "leases", "", "yours"}, false},
	} {
		if got := tt.granted.Covers(done); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// objects are a role of ours bound to two accounts, and a foreign one bound in a namespace.
func objects() []runtime.Object {
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "ns", Name: "one"}, {Kind: "User", Name: "two"}}
	return []runtime.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "ours"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"}, Verbs: []string{"get"}},
			{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
		}},
		&rbacv1.ClusterRoleBinding{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "ours"}, Subjects: subjects},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "named"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"g"}, Resources: []string{"leases"}, ResourceNames: []string{"a", "b"},
				Verbs: []string{"update"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "here"}, RoleRef: rbacv1.RoleRef{Kind: "Role",
			Name: "named"}, Subjects: subjects[1:]},
		&rbacv1.RoleBinding{RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "theirs"}, Subjects: subjects},
	}
}

func TestGrants(t *testing.T) {
	granted, foreign, err := Grants(objects())
	if err != nil {
		t.Fatal(err)
	}
	const one = "system:serviceaccount:ns:one"
	want := []Permission{
		{one, "get", "", "nodes", "", ""}, {one, "get", "", "nodes/status", "", ""},
		{"two", "get", "", "nodes", "", ""}, {"two", "get", "", "nodes/status", "", ""},
		{"two", "update", "g", "leases", "here", "a"}, {"two", "update", "g", "leases", "here", "b"},
	}
	if diff := cmp.Diff(want, granted); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]rbacv1.RoleRef{{Kind: "Role", Name: "theirs"}}, foreign); diff != "" {
		t.Errorf("roles of others (-want +got):\n%s", diff)
	}
}

func TestWildcardsAreErrors(t *testing.T) {
	for _, rule := range []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"nodes"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"nodes/*"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"*"}},
	} {
		if _, err := Expand("me", "", []rbacv1.PolicyRule{rule}); err == nil ||
			!strings.Contains(err.Error(), "wildcard") {
			t.Errorf("%v gives %v", rule, err)
		}
	}
}

func TestRepeated(t *testing.T) {
	wide, narrow, other := Permission{User: "me", Verb: "get", Resource: "a"}, Permission{User: "me", Verb: "get",
		Resource: "a", Name: "x"}, Permission{User: "me", Verb: "list", Resource: "a"}
	if got := Repeated([]Permission{wide, other, narrow}); !cmp.Equal(got, []Permission{narrow}) {
		t.Errorf("repeated %v, want %v", got, narrow)
	}
	if got := Repeated([]Permission{other, other}); len(got) != 2 {
		t.Errorf("repeated %v, want both", got)
	}
}

func TestCompare(t *testing.T) {
	permission := func(verb, name string) Permission {
		return Permission{User: "me", Verb: verb, Resource: "nodes", Name: name}
	}
	unused, missing := Compare(
		[]Permission{permission("get", ""), permission("list", "")},
		[]Permission{permission("get", "a"), permission("delete", "a"), permission("delete", "a")})
	if !cmp.Equal(unused, []Permission{permission("list", "")}) ||
		!cmp.Equal(missing, []Permission{permission("delete", "a")}) {
		t.Errorf("unused %v, missing %v; want list, and delete once", unused, missing)
	}
}

func TestPermissionString(t *testing.T) {
	if got, want := (Permission{"me", "get", "g", "leases", "ns", "x"}).String(),
		"me: get leases.g x in ns"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
