// Package ironcoretest proves that the program works with the API of IronCore as a real API server has it: the program
// runs against two control planes, the one of its cluster and one on which tools/ironcorelab plays IronCore. Its user
// there may do what the table in docs/guides/ironcore.md permits, and the audit log proves that all of it is used.
package ironcoretest

import (
	"fmt"
	"regexp"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Permissions are what the user of the program needs in IronCore.
type Permissions struct {
	// Namespace has the rules for the namespace of the cluster's objects, Cluster those for objects without one.
	Namespace, Cluster []rbacv1.PolicyRule
}

// row is one of the table of permissions: resources, verbs, and where.
var row = regexp.MustCompile("(?m)^\\| ((?:`[a-z]+`(?:, )?)+) \\| ([a-z, ]+) \\| the (namespace|cluster) \\|$")

// Documented returns the permissions that a page has a table of.
func Documented(page string) (Permissions, error) {
	var documented Permissions
	rows := row.FindAllStringSubmatch(page, -1)
	if len(rows) == 0 {
		return documented, fmt.Errorf("the page has no row that matches %s: keep the table of permissions", row)
	}
	for _, columns := range rows {
		rules := &documented.Namespace
		if columns[3] == "cluster" {
			rules = &documented.Cluster
		}
		for resource := range strings.SplitSeq(strings.ReplaceAll(columns[1], "`", ""), ", ") {
			*rules = append(*rules, rbacv1.PolicyRule{APIGroups: []string{groupOf(resource)},
				Resources: []string{resource}, Verbs: strings.Split(columns[2], ", ")})
		}
	}
	return documented, nil
}

// groupOf returns the API group of one of IronCore's resources.
func groupOf(resource string) string {
	if strings.HasPrefix(resource, "machine") {
		return "compute.ironcore.dev"
	}
	return "networking.ironcore.dev"
}
