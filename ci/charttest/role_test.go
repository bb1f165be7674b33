package charttest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// grants writes rules as "group/resource:name" -> sorted verbs.
func grants(rules []rbacv1.PolicyRule) map[string][]string {
	granted := map[string][]string{}
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					key := strings.Trim(group+"/"+resource+":"+name, "/:")
					granted[key] = append(granted[key], rule.Verbs...)
				}
			}
		}
	}
	for _, verbs := range granted {
		slices.Sort(verbs)
	}
	return granted
}

// TestGrants spells out everything the ServiceAccount may do, so that one more
// verb is one more line in a review.
func TestGrants(t *testing.T) {
	rendered := objects(t, minimal(t))
	cluster := map[string][]string{
		"nodes":                              {"delete", "get", "list", "patch", "watch"},
		"nodes/status":                       {"patch"},
		"services":                           {"list", "watch"},
		"discovery.k8s.io/endpointslices":    {"list", "watch"},
		"services/status":                    {"patch"},
		"events":                             {"create", "patch"},
		"authentication.k8s.io/tokenreviews": {"create"},
		"authorization.k8s.io/subjectaccessreviews": {"create"},
	}
	if diff := cmp.Diff(cluster, grants(find[*rbacv1.ClusterRole](t, rendered, "thalassa-ccm").Rules)); diff != "" {
		t.Errorf("in the whole cluster (-want +got):\n%s", diff)
	}
	namespace := map[string][]string{
		"coordination.k8s.io/leases":                          {"create"},
		"coordination.k8s.io/leases:cloud-controller-manager": {"get", "update"},
		"namespaces:kube-system":                              {"get"},
	}
	if diff := cmp.Diff(namespace, grants(find[*rbacv1.Role](t, rendered, "thalassa-ccm").Rules)); diff != "" {
		t.Errorf("in kube-system (-want +got):\n%s", diff)
	}
}

func TestRolesHaveNoWildcardsAndNoSecrets(t *testing.T) {
	checked := 0
	for name, path := range valuesFiles(t) {
		for _, object := range objects(t, readValues(t, path)) {
			for _, rule := range rules(object) {
				checked++
				for _, word := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs) {
					if strings.Contains(word, "*") || strings.HasPrefix(word, "secrets") || word == "escalate" ||
						word == "bind" || word == "impersonate" {
						t.Errorf("%s: rule %v grants %q", name, rule, word)
					}
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no rule was checked")
	}
}

func rules(object runtime.Object) []rbacv1.PolicyRule {
	switch role := object.(type) {
	case *rbacv1.ClusterRole:
		return role.Rules
	case *rbacv1.Role:
		return role.Rules
	}
	return nil
}

// TestEveryRuleSaysWhoNeedsIt wants a comment above each rule.
func TestEveryRuleSaysWhoNeedsIt(t *testing.T) {
	for _, name := range []string{"_rbac.tpl", "role.yaml", "metricsreader.yaml", "ironcorepermissions.yaml"} {
		previous, count := "", 0
		for line := range strings.Lines(readFile(t, filepath.Join(chartDir(t), "templates", name))) {
			if strings.Contains(line, "- apiGroups:") || strings.Contains(line, "- nonResourceURLs:") {
				count++
				if !strings.HasPrefix(strings.TrimSpace(previous), "# ") {
					t.Errorf("%s: rule %d has no comment", name, count)
				}
			}
			previous = line
		}
		if count == 0 {
			t.Errorf("%s has no rules", name)
		}
	}
}

func TestBindings(t *testing.T) {
	rendered := objects(t, minimal(t))
	account := rbacv1.Subject{Kind: "ServiceAccount", Name: "thalassa-ccm", Namespace: "kube-system"}
	find[*corev1.ServiceAccount](t, rendered, account.Name)
	clusterBinding := find[*rbacv1.ClusterRoleBinding](t, rendered, "thalassa-ccm")
	leaseBinding := find[*rbacv1.RoleBinding](t, rendered, "thalassa-ccm")
	authBinding := find[*rbacv1.RoleBinding](t, rendered, "thalassa-ccm-authentication-reader")
	for name, test := range map[string]struct {
		role     rbacv1.RoleRef
		subjects []rbacv1.Subject
		want     string
	}{
		"cluster":        {clusterBinding.RoleRef, clusterBinding.Subjects, "ClusterRole thalassa-ccm"},
		"lease":          {leaseBinding.RoleRef, leaseBinding.Subjects, "Role thalassa-ccm"},
		"authentication": {authBinding.RoleRef, authBinding.Subjects, "Role extension-apiserver-authentication-reader"},
	} {
		if got := test.role.Kind + " " + test.role.Name; got != test.want {
			t.Errorf("%s: bound to %s, want %s", name, got, test.want)
		}
		if diff := cmp.Diff([]rbacv1.Subject{account}, test.subjects); diff != "" {
			t.Errorf("%s: subjects (-want +got):\n%s", name, diff)
		}
	}
}

func TestServiceAccountName(t *testing.T) {
	for name, test := range map[string]struct {
		sets    []string
		want    string
		created bool
	}{
		"default":  {nil, "thalassa-ccm", true},
		"named":    {[]string{"serviceAccount.name=mine"}, "mine", true},
		"existing": {[]string{"serviceAccount.name=mine", "serviceAccount.create=false"}, "mine", false},
	} {
		t.Run(name, func(t *testing.T) {
			rendered := objects(t, minimal(t, test.sets...))
			if got := find[*appsv1.DaemonSet](t, rendered,
				"thalassa-ccm").Spec.Template.Spec.ServiceAccountName; got != test.want {
				t.Errorf("the pods run as %q, want %q", got, test.want)
			}
			if got := find[*rbacv1.ClusterRoleBinding](t, rendered, "thalassa-ccm").Subjects[0].Name; got != test.want {
				t.Errorf("the roles are bound to %q, want %q", got, test.want)
			}
			created := slices.ContainsFunc(rendered, func(o runtime.Object) bool {
				_, isAccount := o.(*corev1.ServiceAccount)
				return isAccount
			})
			if created != test.created {
				t.Errorf("ServiceAccount created: %v, want %v", created, test.created)
			}
		})
	}
}

func TestRolesCanBeLeftOut(t *testing.T) {
	for _, object := range objects(t, minimal(t, "rbac.create=false")) {
		if object.GetObjectKind().GroupVersionKind().Group == rbacv1.GroupName {
			t.Errorf("%T is rendered", object)
		}
	}
}
