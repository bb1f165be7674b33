// Package optout reads the annotations and labels by which the owner of a Node excludes it from a part of the work on
// Nodes.
package optout

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The names, after the domain, of the annotations or labels.
const (
	// Keep excludes a Node from removal and from the shutdown taint.
	Keep = "keep-node"
	// Routes excludes a Node from routes and from a network for its pods: another program provides both.
	Routes = "exclude-from-routes"
)

// Kept says whether the Node is excluded from removal.
func Kept(node *corev1.Node, domain string) bool { return excluded(node, domain, Keep) }

// FromRoutes says whether the Node is excluded from routes and from a network for its pods. Without a domain no Node
// is.
func FromRoutes(node *corev1.Node, domain string) bool {
	return domain != "" && excluded(node, domain, Routes)
}

// excluded says whether a Node has an annotation or label of that name. A value that is neither true nor false counts
// as true: to leave a Node as it is does no harm.
func excluded(node *corev1.Node, domain, name string) bool {
	key := domain + "/" + name
	for _, values := range []map[string]string{node.Annotations, node.Labels} {
		if value, given := values[key]; given && !strings.EqualFold(value, "false") {
			return true
		}
	}
	return false
}
