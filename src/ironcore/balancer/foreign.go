package balancer

import (
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// replaceOthers declares what Services need in place of annotations of other products. Like
// spec.loadBalancerSourceRanges, annotations about allowed sources are reported and have no effect.
func replaceOthers(r *annotation.Registry) {
	const sources = "load balancers of IronCore cannot limit the source addresses, and accept all clients: use a " +
		"NetworkPolicy"
	const unchanged = "load balancers of IronCore pass packets on without changes"
	r.Replace(annotation.AboutInternal, annotation.Own{Names: []string{strings.TrimPrefix(label.Internal,
		label.ServicePrefix)}, Instead: "set " + label.Internal + " to true, or to false if everybody may connect"})
	for concept, instead := range map[annotation.Concept]string{
		annotation.AboutSources: sources, annotation.AboutDeniedSources: sources, annotation.AboutRangesPolicy: sources,
		annotation.AboutSecurityGroups: sources,
		annotation.AboutAddress: "IronCore chooses the address of a public load balancer; set spec.loadBalancerIP " +
			"for an internal one",
		annotation.AboutSubnet: "an internal load balancer gets an address of the Prefix that the cloud-config file " +
			"names",
		annotation.AboutHealthChecks: "load balancers of IronCore have no health checks: with externalTrafficPolicy " +
			"Local, only Nodes with a ready endpoint get traffic",
		annotation.AboutProxyProtocol: unchanged + ", and the pods see the address of the client",
		annotation.AboutIdleTimeout:   unchanged, annotation.AboutProtocol: unchanged,
		annotation.AboutTLS:          unchanged + ": terminate TLS in an ingress controller or in the pods",
		annotation.AboutConnections:  "load balancers of IronCore cannot limit the number of connections",
		annotation.AboutDistribution: "load balancers of IronCore have one way to distribute connections",
		annotation.AboutAffinity:     "load balancers of IronCore have no session affinity",
		annotation.AboutNodes: "exclude Nodes with the label " +
			"node.kubernetes.io/exclude-from-external-load-balancers",
		annotation.AboutName:      "the name of a load balancer of IronCore cannot be set",
		annotation.AboutLabels:    "labels of a load balancer of IronCore cannot be set",
		annotation.AboutSize:      "load balancers of IronCore have no size",
		annotation.AboutAccessLog: "load balancers of IronCore have no access log",
	} {
		r.Replace(concept, annotation.Own{Instead: instead})
	}
}
