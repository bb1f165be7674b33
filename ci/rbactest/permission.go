package rbactest

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Permission is one thing that one user may do, or did.
type Permission struct {
	User  string // as the API server calls it: "system:serviceaccount:kube-system:thalassa-ccm"
	Verb  string
	Group string // empty for the core API
	// Resource has the subresource behind a slash: "nodes/status".
	Resource string
	// Namespace and Name narrow a permission down; empty means any. Of what was done they say where.
	Namespace, Name string
}

// String is a line for people.
func (p Permission) String() string {
	line := p.User + ": " + p.Verb + " " + p.Resource
	if p.Group != "" {
		line += "." + p.Group
	}
	if p.Name != "" {
		line += " " + p.Name
	}
	if p.Namespace != "" {
		line += " in " + p.Namespace
	}
	return line
}

// Covers reports whether the permission allows what was done.
func (p Permission) Covers(done Permission) bool {
	if p.Namespace == "" {
		done.Namespace = ""
	}
	if p.Name == "" {
		done.Name = ""
	}
	return p == done
}

// Grants returns what the bindings among the objects permit whom, by the roles among the objects. Roles that are not
// among them are returned by reference: the chart did not make them. A wildcard is an error, because nothing can prove
// that it is used.
func Grants(objects []runtime.Object) (granted []Permission, foreign []rbacv1.RoleRef, err error) {
	rules := map[string][]rbacv1.PolicyRule{}
	for _, object := range objects {
		switch role := object.(type) {
		case *rbacv1.ClusterRole:
			rules["ClusterRole "+role.Name] = role.Rules
		case *rbacv1.Role:
			rules["Role "+role.Name] = role.Rules
		}
	}
	for _, object := range objects {
		reference, subjects, namespace := binding(object)
		role, ours := rules[reference.Kind+" "+reference.Name]
		if !ours && len(subjects) > 0 {
			foreign = append(foreign, reference)
		}
		for _, subject := range subjects {
			expanded, err := Expand(username(subject), namespace, role)
			if err != nil {
				return nil, nil, fmt.Errorf("reading the rules of %s %s: %w", reference.Kind, reference.Name, err)
			}
			granted = append(granted, expanded...)
		}
	}
	return granted, foreign, nil
}

// binding returns nothing for what is no binding.
func binding(object runtime.Object) (role rbacv1.RoleRef, subjects []rbacv1.Subject, namespace string) {
	switch binding := object.(type) {
	case *rbacv1.ClusterRoleBinding:
		return binding.RoleRef, binding.Subjects, ""
	case *rbacv1.RoleBinding:
		return binding.RoleRef, binding.Subjects, binding.Namespace
	}
	return rbacv1.RoleRef{}, nil, ""
}

func username(subject rbacv1.Subject) string {
	if subject.Kind == rbacv1.ServiceAccountKind {
		return "system:serviceaccount:" + subject.Namespace + ":" + subject.Name
	}
	return subject.Name
}

// Expand returns each permission that rules give a user, in one namespace or, when it is empty, in all. Paths that are
// no resources are left out.
func Expand(user, namespace string, rules []rbacv1.PolicyRule) ([]Permission, error) {
	var expanded []Permission
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, word := range slices.Concat(rule.Verbs, rule.APIGroups, rule.Resources) {
			if strings.Contains(word, "*") {
				return nil, fmt.Errorf("rule %v has a wildcard; name what it is about", rule)
			}
		}
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						expanded = append(expanded, Permission{user, verb, group, resource, namespace, name})
					}
				}
			}
		}
	}
	return expanded, nil
}

// Repeated returns permissions that are granted more than once, or that a wider one covers: one of the two is not
// needed.
func Repeated(granted []Permission) []Permission {
	var repeated []Permission
	for i, p := range granted {
		for j, wider := range granted {
			if i != j && wider.Covers(p) {
				repeated = append(repeated, p)
				break
			}
		}
	}
	return repeated
}

// Compare returns the permissions that nothing done needed, and what was done without a permission, each once.
func Compare(granted, done []Permission) (unused, missing []Permission) {
	for _, p := range granted {
		if !slices.ContainsFunc(done, p.Covers) {
			unused = append(unused, p)
		}
	}
	for _, d := range done {
		covered := slices.ContainsFunc(granted, func(p Permission) bool { return p.Covers(d) })
		if !covered && !slices.Contains(missing, d) {
			missing = append(missing, d)
		}
	}
	return unused, missing
}
