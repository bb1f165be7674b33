package balancer

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// Names of annotations that are used before the annotations are parsed.
const (
	nameType           = "type"
	nameInternal       = "internal"
	nameName           = "name"
	nameCreateGroup    = "create-security-group"
	nameNodeSelector   = "node-selector"
	nameAllowedSources = "acl-allowed-sources"
	nameSecurityGroups = "security-groups"
)

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
	// internal is the existing CCM's equivalent of typeInternal.
	internal annotation.Key[bool]
	// reservedIP is an identity, slug or address; "" for none.
	reservedIP annotation.Key[string]

	policy        annotation.Key[string] // per port
	proxyProtocol annotation.Key[bool]   // per port
	listener      []listenerSetting      // per port
	healthCheck   healthKeys

	allowedSources      annotation.Key[[]netip.Prefix] // none: everybody
	portSources         annotation.Family[[]netip.Prefix]
	securityGroups      annotation.Key[[]string] // identities or slugs
	createSecurityGroup annotation.Key[bool]
	allowICMP           annotation.Key[bool]
	icmpSources         annotation.Key[[]netip.Prefix] // not given: allowedSources; given and empty: nobody
	nodeSelector        annotation.Key[labels.Selector]
	maxTargets          annotation.Key[int] // nodes; 0: no limit; not given: that of the cloud-config

	name             annotation.Key[string] // "" for the existing CCM's name
	labels           annotation.Key[map[string]string]
	instanceSize     annotation.Key[string] // "" for the cloud's own choice
	deleteProtection annotation.Key[bool]
	onDelete         annotation.Key[string] // onDeleteDelete or onDeleteKeep
	adopt            annotation.Key[string] // identity; "" for none
}

// healthKeys are the annotations of health checks, all per port.
type healthKeys struct {
	enabled  annotation.Key[bool]
	port     annotation.Key[int]    // 0: the port's own node port
	protocol annotation.Key[string] // "http", "https", "tcp", "udp"; "" for what the port decides
	path     annotation.Key[string]
	interval annotation.Key[int] // seconds
	timeout  annotation.Key[int] // seconds
	up, down annotation.Key[int] // checks in a row
}

// newAnnotations returns the annotations and a registry that contains all of them. Names, values and defaults are those
// of the CCM that this program replaces, where it has them.
func newAnnotations() annotations {
	a := annotations{registry: annotation.NewRegistry(label.AnnotationPrefix)}
	a.registerReach()
	a.registerTraffic()
	a.healthCheck.register(a.registry)
	a.registerAccess()
	a.registerObject()
	declineOthers(a.registry)
	replaceOthers(a.registry)
	a.registry.Suspect(nameAllowedSources, "acl", "source", "allow", "cidr", "whitelist", "firewall", "restrict",
		"deny")
	a.registry.Suspect(nameInternal, "internal", "private", "scheme")
	return a
}

// Registry returns the registry of this cloud's Service annotations, for what is generated from it.
func Registry() *annotation.Registry { return newAnnotations().registry }

// NodeSelector returns the selector for the Service's nodes; nil selects all.
func (c Config) NodeSelector(service *corev1.Service) (labels.Selector, error) {
	if !c.annotations.registry.Concerns(service.Annotations, nameNodeSelector) {
		return nil, nil // the usual case
	}
	values, _ := c.annotations.registry.Parse(service.Annotations, annotation.PortsOf(service))
	switch selector := c.annotations.nodeSelector.From(values); {
	case selector.Invalid:
		return nil, fmt.Errorf("annotation %s%s cannot be read", label.AnnotationPrefix, nameNodeSelector)
	case selector.Value == nil || selector.Value.Empty():
		return nil, nil
	default:
		return selector.Value, nil
	}
}

// Headings of the reference page.
const (
	topicReach  = "Addresses"
	topicPorts  = "Traffic"
	topicHealth = "Health checks"
	topicAccess = "Access"
	topicObject = "The load balancer"
)

// since is the first version that supports the annotations.
const since = "0.1.0"

// identityWord is an annotation whose value is the name of one object in the cloud.
func identityWord(what string) annotation.Kind[string] {
	return annotation.Word(cloudconfig.IdentityPattern, what+cloudconfig.IdentityLetters)
}

// declineOthers registers annotations of other products that have no effect here, and what to use instead.
func declineOthers(r *annotation.Registry) {
	const noTLS = "is not supported: load balancers of Thalassa Cloud do not terminate TLS; terminate it in an " +
		"ingress controller or in the pods"
	const noAffinity = "is not supported; use spec.sessionAffinity: ClientIP or loadbalancing-policy: MAGLEV, which " +
		"send connections of one client to the same node"
	for _, declined := range []annotation.Declined{
		{Name: "target-type", Why: "is not supported: the targets are nodes; use externalTrafficPolicy: Local to " +
			"send traffic only to nodes that have a pod"},
		{Name: "certificate", Why: noTLS}, {Name: "certificates", Why: noTLS}, {Name: "certificate-", Why: noTLS},
		{Name: "tls-", Why: noTLS}, {Name: "ssl-", Why: noTLS},
		{Name: "session-affinity", Why: noAffinity}, {Name: "sticky-sessions", Why: noAffinity},
		{Name: "sticky-sessions-", Why: noAffinity},
		{Name: "backend-protocol",
			Why: "is not supported: load balancers of Thalassa Cloud forward TCP and UDP without changes"},
		{Name: "access-log-",
			Why: "is not supported: load balancers of Thalassa Cloud have no access log that can be read"},
		{Name: "source-ranges", Why: "has no effect; use spec.loadBalancerSourceRanges or acl-allowed-sources",
			Meant: nameAllowedSources},
		{Name: "ip", Why: "has no effect; use reserved-ip"},
	} {
		r.Decline(declined)
	}
}
