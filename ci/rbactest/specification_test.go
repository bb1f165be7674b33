package rbactest

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
)

const account = "system:serviceaccount:kube-system:thalassa-ccm"

// specified is what Kubernetes' documentation lists for a cloud controller manager with node and service controllers:
// https://kubernetes.io/docs/concepts/architecture/cloud-controller/#authorization
func specified(t *testing.T) []Permission {
	t.Helper()
	rule := func(resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
	}
	permissions, err := Expand(account, "", []rbacv1.PolicyRule{
		rule("nodes", "get", "list", "create", "update", "patch", "watch", "delete"),
		rule("services", "list", "get", "watch", "patch", "update"),
		rule("services/status", "patch", "update"),
		rule("endpoints", "create", "list", "get", "watch", "update"),
		rule("events", "create"),
		rule("serviceaccounts", "create"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return permissions
}

// permissions are those of the program's own account.
func permissions(t *testing.T, objects []runtime.Object) []Permission {
	t.Helper()
	granted, _, err := Grants(objects)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(granted, func(p Permission) bool { return p.User != account })
}

// TestSpecification wants mode spec to be the specification and what the program needs beyond it, and nothing twice.
func TestSpecification(t *testing.T) {
	c := &cluster{cloud: cloud.Cloud{URL: "https://cloud.example.com"}}
	for _, accounts := range []string{"false", "true"} {
		change := "useServiceAccountCredentials: {enabled: " + accounts + "}"
		minimal := permissions(t, render(t, c.values(t, change)))
		spec := permissions(t, render(t, c.values(t, change+"\nrbac: {mode: spec}")))
		if repeated := Repeated(spec); len(repeated) > 0 {
			t.Errorf("accounts %s: granted twice: %v", accounts, repeated)
		}
		if _, missing := Compare(spec, append(specified(t), minimal...)); len(missing) > 0 {
			t.Errorf("accounts %s: mode spec lacks %v", accounts, missing)
		}
		if _, more := Compare(append(specified(t), minimal...), spec); len(more) > 0 {
			t.Errorf("accounts %s: mode spec has more: %v", accounts, more)
		}
	}
}

// TestSpecificationFollowsControllers: a controller that is off needs nothing, whoever lists it.
func TestSpecificationFollowsControllers(t *testing.T) {
	c := &cluster{cloud: cloud.Cloud{URL: "https://cloud.example.com"}}
	for _, p := range permissions(t,
		render(t, c.values(t, "{rbac: {mode: spec}, cloudConfig: {loadBalancer: {enabled: false}}}"))) {
		if p.Resource == "services" || p.Resource == "services/status" || p.Resource == "endpoints" {
			t.Errorf("without the service controller, %s is granted", p)
		}
	}
}

// TestEveryRuleSaysItsSource: what the specification does not have says which code needs it, and every rule says who
// does.
func TestEveryRuleSaysItsSource(t *testing.T) {
	c := &cluster{cloud: cloud.Cloud{URL: "https://cloud.example.com"}}
	for _, change := range []string{"rbac: {mode: spec}", "rbac: {mode: minimal}",
		"{rbac: {mode: spec}, useServiceAccountCredentials: {enabled: true}}"} {
		count := 0
		for _, rule := range documented(t, manifest(t, c.values(t, change))) {
			count++
			expanded, err := Expand(account, "", []rbacv1.PolicyRule{rule.PolicyRule})
			if err != nil {
				t.Fatal(err)
			}
			if rule.comment == "" {
				t.Errorf("%s: rule %v has no comment", change, rule.PolicyRule)
			}
			if _, beyond := Compare(specified(t), expanded); len(beyond) > 0 && !rule.hasSource() {
				t.Errorf("%s: %v is not in the specification, and %q names no source", change, beyond, rule.comment)
			}
		}
		if count < 8 {
			t.Errorf("%s: only %d rules", change, count)
		}
	}
}
