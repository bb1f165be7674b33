package node

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// keepName is the name, after the domain, of the annotation or label by which a Node is left alone.
const keepName = "keep-node"

// ExcludeFromRoutes is the name, after the domain, of the annotation or label by which a Node gets neither routes nor a network for its pods
// from this program: somebody else sees to both.
const ExcludeFromRoutes = "exclude-from-routes"

// isKept says that the Node's owner asked that it be left alone.
func isKept(node *corev1.Node, domain string) bool { return asks(node, domain, keepName) }

// ExcludedFromRoutes says that the Node's owner asked that its pods be given neither routes nor a network. Without a domain nobody can.
func ExcludedFromRoutes(node *corev1.Node, domain string) bool {
	return domain != "" && asks(node, domain, ExcludeFromRoutes)
}

// asks says whether a Node has an annotation or label of that name. What is neither true nor false counts as true: leaving alone is the
// harmless mistake.
func asks(node *corev1.Node, domain, name string) bool {
	key := domain + "/" + name
	for _, values := range []map[string]string{node.Annotations, node.Labels} {
		if value, given := values[key]; given && !strings.EqualFold(value, "false") {
			return true
		}
	}
	return false
}
