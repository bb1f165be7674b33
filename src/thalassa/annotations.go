package thalassa

import (
	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
)

// annotationPrefix is what all Service annotations of this cloud start with, as in the CCM this one replaces.
const annotationPrefix = "loadbalancer.k8s.thalassa.cloud/"

// nameType says where the load balancer is reachable from; typePublic is the only value that this version can serve.
const (
	nameType   = "type"
	typePublic = "public"
)

// Limits of what the API can store.
const (
	maxConnectionsLimit = 1 << 30
	maxIdleSeconds      = 86400
)

// annotations are the Service annotations of this cloud.
type annotations struct {
	registry       *annotation.Registry
	kind           annotation.Key[string]
	policy         annotation.Key[string]
	proxyProtocol  annotation.Key[bool]
	maxConnections annotation.Key[int]
	idleTimeout    annotation.Key[int]
}

// newAnnotations returns them with a registry that knows all of them. Names, values and defaults are those of the CCM this
// one replaces.
func newAnnotations() annotations {
	r := annotation.NewRegistry(annotationPrefix)
	r.Reserve(
		"subnet", "internal", "reserved-ip",
		"health-check-enabled", "health-check-port", "health-check-path", "health-check-protocol", "health-check-interval",
		"health-check-timeout", "health-check-up-threshold", "health-check-down-threshold",
		"acl-allowed-sources", "acl-port-",
		"security-groups", "create-security-group", "security-group-allow-icmp", "security-group-icmp-allowed-sources",
	)
	return annotations{
		registry: r,
		kind: annotation.Register(r, annotation.Definition{
			Name: nameType, Since: "0.1.0", Example: "public",
			Effect: "Where the load balancer is reachable from: public gives it an address on the internet.",
		}, annotation.Enum(typePublic), typePublic),
		policy: annotation.Register(r, annotation.Definition{
			Name: "loadbalancing-policy", Since: "0.1.0", Example: string(iaas.LoadbalancingPolicyMagLev),
			Effect: "How connections are spread over the nodes; MAGLEV keeps a client on the same node.",
		}, annotation.Enum(string(iaas.LoadbalancingPolicyRoundRobin), string(iaas.LoadbalancingPolicyRandom), string(iaas.LoadbalancingPolicyMagLev)),
			string(iaas.LoadbalancingPolicyRoundRobin)),
		proxyProtocol: annotation.Register(r, annotation.Definition{
			Name: "enable-proxy-protocol", Since: "0.1.0", Example: "true",
			Effect: "Sends the client's address to the pods in a PROXY protocol header, which they must understand.",
		}, annotation.Bool(), false),
		maxConnections: annotation.Register(r, annotation.Definition{
			Name: "max-connections", Since: "0.1.0", Example: "20000",
			Effect: "How many connections one port of the load balancer accepts at a time.",
		}, annotation.Int(1, maxConnectionsLimit, "connections"), 10000),
		idleTimeout: annotation.Register(r, annotation.Definition{
			Name: "idle-connection-timeout", Since: "0.1.0", Example: "600",
			Effect: "After how many seconds without traffic a connection is closed.",
		}, annotation.Int(1, maxIdleSeconds, "seconds"), 6000),
	}
}

// Annotations returns the registry of this cloud's Service annotations, for what is generated from it.
func Annotations() *annotation.Registry { return newAnnotations().registry }

// settings is what a Service asks for by annotation.
type settings struct {
	policy         annotation.Setting[string]
	proxyProtocol  annotation.Setting[bool]
	maxConnections annotation.Setting[uint32]
	idleTimeout    annotation.Setting[uint32]
}

// read returns the Service's settings, and what is wrong with its annotations.
func (a annotations) read(service map[string]string) (settings, []annotation.Problem) {
	values, problems := a.registry.Parse(service)
	return settings{
		policy:         a.policy.From(values),
		proxyProtocol:  a.proxyProtocol.From(values),
		maxConnections: unsigned(a.maxConnections.From(values)),
		idleTimeout:    unsigned(a.idleTimeout.From(values)),
	}, problems
}

// unsigned is how the API stores numbers whose annotation's range has been checked already.
func unsigned(s annotation.Setting[int]) annotation.Setting[uint32] {
	return annotation.Setting[uint32]{Value: uint32(s.Value), Invalid: s.Invalid}
}
