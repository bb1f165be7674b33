package cloud

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The names, after the domain, of the annotations or labels by which the owner of a Node excludes it from a part of the
// work on Nodes.
const (
	// KeepNode excludes a Node from removal and from the shutdown taint.
	KeepNode = "keep-node"
	// ExcludeFromRoutes excludes a Node from routes and from a network for its pods: another program provides both.
	ExcludeFromRoutes = "exclude-from-routes"
)

// Kept reports whether the Node is excluded from removal.
func Kept(node *corev1.Node, domain string) bool { return hasOptOut(node, domain, KeepNode) }

// ExcludedFromRoutes reports whether the Node is excluded from routes and from a network for its pods. Without a domain
// no Node is.
func ExcludedFromRoutes(node *corev1.Node, domain string) bool {
	return domain != "" && hasOptOut(node, domain, ExcludeFromRoutes)
}

// hasOptOut reports whether a Node has an annotation or label of that name. A value that is neither true nor false
// counts as true: to leave a Node as it is does no harm.
func hasOptOut(node *corev1.Node, domain, name string) bool {
	key := domain + "/" + name
	for _, values := range []map[string]string{node.Annotations, node.Labels} {
		if value, given := values[key]; given && !strings.EqualFold(value, "false") {
			return true
		}
	}
	return false
}
