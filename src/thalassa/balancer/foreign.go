package balancer

import (
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// replaceOthers declares what Services need in place of annotations of other products. In the sentences, ^ stands for
// the prefix of this cloud's annotations.
func replaceOthers(r *annotation.Registry) {
	connect := []string{nameAllowedSources, "acl-port-"}
	const sources = "spec.loadBalancerSourceRanges or ^acl-allowed-sources"
	for concept, own := range map[annotation.Concept]annotation.Own{
		annotation.AboutInternal: {Names: []string{nameType, nameInternal},
			Defaults: map[string]any{nameType: typeInternal, nameInternal: true},
			Instead:  "set ^type to internal, or to public if everybody may connect"},
		annotation.AboutSources: {Names: connect, Defaults: map[string]any{nameAllowedSources: nil},
			Instead: "name the networks in " + sources},
		annotation.AboutDeniedSources: {Names: connect,
			Instead: "load balancers of Thalassa Cloud cannot deny networks: name those that may connect in " +
				sources},
		annotation.AboutRangesPolicy: {Names: connect,
			Instead: "this load balancer would admit the networks of spec.loadBalancerSourceRanges, which Cilium " +
				"denies. Write the permitted networks there, and remove this annotation"},
		annotation.AboutSecurityGroups: {Names: append([]string{nameSecurityGroups, nameCreateGroup}, connect...),
			Defaults: map[string]any{nameSecurityGroups: nil, nameAllowedSources: nil},
			Instead: "name security groups of the VPC in ^security-groups, or the networks that may connect in " +
				sources},
		annotation.AboutAddress: {Names: []string{"reserved-ip"},
			Instead: "name a reserved IP of Thalassa Cloud in ^reserved-ip"},
		annotation.AboutSubnet: {Names: []string{"subnet"},
			Instead: "name a subnet of the VPC in ^subnet"},
		annotation.AboutHealthChecks: {Names: []string{"health-check-"},
			Instead: "use the annotations ^health-check-…"},
		annotation.AboutProxyProtocol: {Names: []string{"enable-proxy-protocol"},
			Instead: "set ^enable-proxy-protocol to true"},
		annotation.AboutIdleTimeout: {Names: []string{"idle-connection-timeout"},
			Instead: "set ^idle-connection-timeout, in seconds"},
		annotation.AboutConnections: {Names: []string{"max-connections"},
			Instead: "set ^max-connections"},
		annotation.AboutDistribution: {Names: []string{"loadbalancing-policy"},
			Instead: "set ^loadbalancing-policy"},
		annotation.AboutAffinity: {Names: []string{"loadbalancing-policy"},
			Instead: "set spec.sessionAffinity to ClientIP, which sends connections of one client to the same node"},
		annotation.AboutNodes: {Names: []string{nameNodeSelector},
			Instead: "set ^node-selector"},
		annotation.AboutName: {Names: []string{nameName},
			Instead: "set ^name"},
		annotation.AboutLabels: {Names: []string{"labels"},
			Instead: "set ^labels"},
		annotation.AboutSize: {Names: []string{"instance-size"},
			Instead: "set ^instance-size"},
		annotation.AboutTLS: {Instead: "load balancers of Thalassa Cloud do not terminate TLS: terminate it in an " +
			"ingress controller or in the pods"},
		annotation.AboutProtocol:  {Instead: "load balancers of Thalassa Cloud forward TCP and UDP without changes"},
		annotation.AboutAccessLog: {Instead: "load balancers of Thalassa Cloud have no access log that can be read"},
	} {
		own.Instead = strings.ReplaceAll(own.Instead, "^", label.AnnotationPrefix)
		r.Replace(concept, own)
	}
}

// foreignNotice describes an annotation of another product, and its effect.
func foreignNotice(problem annotation.Problem) cloud.Notice {
	if problem.Meant == "" {
		return settingNotice(reasonUnsupported, "%s", problem.String()+".")
	}
	return settingNotice(reasonAnnotation, "%s", problem.String()+adviceForeign)
}
