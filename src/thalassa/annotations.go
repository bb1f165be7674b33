package thalassa

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
)

// annotationPrefix is what all Service annotations of this cloud start with, as in the CCM this one replaces.
const annotationPrefix = "loadbalancer.k8s.thalassa.cloud/"

// nameType says where the load balancer is reachable from.
const nameType = "type"

// Values of the annotations that are words.
const (
	typePublic   = "public"
	typeInternal = "internal"

	onDeleteDelete = "delete"
	onDeleteKeep   = "keep"

	publishIP       = "ip"
	publishHostname = "hostname"
	publishBoth     = "both"
)

// Limits of what the API can store.
const (
	maxConnectionsLimit = 1 << 30
	maxIdleSeconds      = 86400
	maxGroups           = 64
)

// annotations are the Service annotations of this cloud. Those for one port are read with For, the others with From.
type annotations struct {
	registry *annotation.Registry

	kind    annotation.Key[string] // typePublic or typeInternal
	subnet  annotation.Key[string] // identity or slug; "" for the configured one
	publish annotation.Key[string] // publishIP, publishHostname or publishBoth
	// internal is the existing CCM's way to say typeInternal.
	internal annotation.Key[bool]
	// reservedIP is an identity, slug or address; "" for none.
	reservedIP annotation.Key[string]

	policy         annotation.Key[string] // per port
	proxyProtocol  annotation.Key[bool]   // per port
	maxConnections annotation.Key[int]    // per port
	idleTimeout    annotation.Key[int]    // per port, seconds
	healthCheck    healthKeys

	allowedSources      annotation.Key[[]netip.Prefix] // none: everybody
	portSources         annotation.Family[[]netip.Prefix]
	securityGroups      annotation.Key[[]string] // identities or slugs
	createSecurityGroup annotation.Key[bool]
	allowICMP           annotation.Key[bool]
	icmpSources         annotation.Key[[]netip.Prefix] // not given: allowedSources; given and empty: nobody
	openNodePorts       annotation.Key[bool]
	nodeSelector        annotation.Key[labels.Selector]

	name             annotation.Key[string] // "" for the existing CCM's name
	labels           annotation.Key[map[string]string]
	instanceSize     annotation.Key[string] // "" for the cloud's own choice
	deleteProtection annotation.Key[bool]
	onDelete         annotation.Key[string] // onDeleteDelete or onDeleteKeep
	adopt            annotation.Key[string] // identity; "" for none
}

// healthKeys are those about health checks, all per port.
type healthKeys struct {
	enabled  annotation.Key[bool]
	port     annotation.Key[int]    // 0: the port's own node port
	protocol annotation.Key[string] // "http", "https", "tcp", "udp"; "" for what the port decides
	path     annotation.Key[string]
	interval annotation.Key[int] // seconds
	timeout  annotation.Key[int] // seconds
	up, down annotation.Key[int] // checks in a row
}

// newAnnotations returns them with a registry that knows all of them. Names, values and defaults are those of the CCM this
// one replaces, where it has them.
func newAnnotations() annotations {
	a := annotations{registry: annotation.NewRegistry(annotationPrefix)}
	a.registerReach()
	a.registerTraffic()
	a.healthCheck.register(a.registry)
	a.registerAccess()
	a.registerObject()
	declineOthers(a.registry)
	return a
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
func (a annotations) read(service *corev1.Service) (settings, []annotation.Problem) {
	values, problems := a.registry.Parse(service.Annotations, annotationPorts(service))
	return settings{
		policy:         a.policy.From(values),
		proxyProtocol:  a.proxyProtocol.From(values),
		maxConnections: unsigned(a.maxConnections.From(values)),
		idleTimeout:    unsigned(a.idleTimeout.From(values)),
	}, append(problems, unapplied(service, problems)...)
}

// unapplied tells about the annotations that are right and have no effect yet.
func unapplied(service *corev1.Service, problems []annotation.Problem) []annotation.Problem {
	applied := []string{nameType, "loadbalancing-policy", "enable-proxy-protocol", "max-connections", "idle-connection-timeout"}
	var found []annotation.Problem
	for _, full := range slices.Sorted(maps.Keys(service.Annotations)) {
		name, ours := strings.CutPrefix(full, annotationPrefix)
		known := slices.ContainsFunc(problems, func(p annotation.Problem) bool { return p.Annotation == full })
		if ours && !known && !slices.Contains(applied, name) {
			found = append(found, annotation.Problem{Annotation: full, Value: service.Annotations[full], Name: true,
				Want: "is not applied by this version yet; what the load balancer already has in this respect stays as it is"})
		}
	}
	return found
}

// annotationPorts are the ports that the Service's annotations may be about.
func annotationPorts(service *corev1.Service) []annotation.Port {
	ports := make([]annotation.Port, 0, len(service.Spec.Ports))
	for _, port := range service.Spec.Ports {
		ports = append(ports, annotation.Port{Name: port.Name, Number: port.Port})
	}
	return ports
}

// unsigned is how the API stores numbers whose annotation's range has been checked already.
func unsigned(s annotation.Setting[int]) annotation.Setting[uint32] {
	return annotation.Setting[uint32]{Value: uint32(s.Value), Given: s.Given, Invalid: s.Invalid}
}
