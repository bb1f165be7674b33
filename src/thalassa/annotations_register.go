package thalassa

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

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

// registerReach adds the annotations about addresses.
func (a *annotations) registerReach() {
	r := a.registry
	a.kind = annotation.Register(r, annotation.Definition{
		Name: nameType, Topic: topicReach, Since: since, Example: typeInternal,
		Effect: "Where the load balancer can be reached from. public gives it an address on the internet; internal " +
			"gives it an address of its subnet only. " +
			"It cannot be changed after the load balancer is created.",
	}, annotation.Enum(typePublic, typeInternal), typePublic)
	a.internal = annotation.Register(r, annotation.Definition{
		Name: nameInternal, Topic: topicReach, Since: since, Example: "true",
		Effect: "true has the same effect as type: internal, and takes precedence over type.",
	}, annotation.Bool(), false)
	a.subnet = annotation.Register(r, annotation.Definition{
		Name: "subnet", Topic: topicReach, Since: since, Example: "subnet-0123456789",
		Effect:  "The subnet of the load balancer. Only a public load balancer can be moved to another subnet.",
		Without: "the subnet of the cloud-config",
	}, identityWord("the identity or slug of a subnet in the cluster's VPC"), "")
	a.reservedIP = annotation.Register(r, annotation.Definition{
		Name: "reserved-ip", Topic: topicReach, Since: since, Example: "rip-0123456789", OneService: true,
		Effect: "The reserved IP that is used as the load balancer's address. An empty value, or removal of the " +
			"annotation, detaches " +
			"the reserved IP if this annotation attached it.",
		Without: "an address that the cloud chooses",
	}, annotation.Word(`(?:[0-9A-Za-z][0-9A-Za-z._:-]*)?`, "the identity, slug or address of a reserved IP, or empty"),
		"")
	a.publish = annotation.Register(r, annotation.Definition{
		Name: "publish", Topic: topicReach, Since: since, Example: publishHostname,
		Effect: "What is written into the Service's status: the load balancer's IP addresses, its host name, or both.",
	}, annotation.Enum(publishIP, publishHostname, publishBoth), publishBoth)
}

// registerTraffic adds the annotations about traffic.
func (a *annotations) registerTraffic() {
	r := a.registry
	a.policy = annotation.Register(r, annotation.Definition{
		Name: "loadbalancing-policy", Topic: topicPorts, Since: since, Example: resource.PolicyMaglev,
		PerPort: true,
		Effect: "How connections are distributed over the nodes. MAGLEV sends connections of one client to the same " +
			"node.",
		Without: resource.PolicyRoundRobin +
			"; with spec.sessionAffinity: ClientIP, MAGLEV on load balancers that this program created",
	}, annotation.Enum(resource.PolicyRoundRobin, resource.PolicyRandom,
		resource.PolicyMaglev),
		resource.PolicyRoundRobin)
	a.proxyProtocol = annotation.Register(r, annotation.Definition{
		Name: "enable-proxy-protocol", Topic: topicPorts, Since: since, Example: "true", PerPort: true,
		Effect: "Sends the client's address to the pods in a PROXY protocol header. The pods must support PROXY " +
			"protocol.",
	}, annotation.Bool(), false)
	a.maxConnections = annotation.Register(r, annotation.Definition{
		Name: "max-connections", Topic: topicPorts, Since: since, Example: "20000", PerPort: true,
		Effect: "The maximum number of concurrent connections of one port of the load balancer.",
	}, annotation.Int(1, maxConnectionsLimit, "connections"), 10000)
	a.idleTimeout = annotation.Register(r, annotation.Definition{
		Name: "idle-connection-timeout", Topic: topicPorts, Since: since, Example: "600", PerPort: true,
		Effect: "The time, in seconds, after which a connection without traffic is closed.",
	}, annotation.Int(1, maxIdleSeconds, "seconds"), 6000)
	a.nodeSelector = annotation.Register(r, annotation.Definition{
		Name: nameNodeSelector, Topic: topicPorts, Since: since, OneService: true,
		Example: "node-role.example.com/edge=true",
		Effect: "A label selector for the nodes that receive traffic. An empty value selects every node. If no node " +
			"matches, the targets " +
			"do not change.",
		Without: "every node",
	}, annotation.Selector(), labels.Everything())
}

// register adds the annotations about health checks.
func (h *healthKeys) register(r *annotation.Registry) {
	define := func(name, example, effect, without string) annotation.Definition {
		return annotation.Definition{
			Name: "health-check-" + name, Topic: topicHealth, Since: since, Example: example, Effect: effect,
			Without: without, PerPort: true,
		}
	}
	h.enabled = annotation.Register(r, define("enabled", "false",
		"Enables health checks. Traffic is sent only to nodes that pass the check. A UDP port is checked only if "+
			"health-check-port is set.", ""), annotation.Bool(), true)
	h.port = annotation.Register(r, define("port", "30080",
		"The port of the nodes that is checked. It takes precedence for Services with externalTrafficPolicy: Local, "+
			"too.",
		"the node port of the Service's port; with externalTrafficPolicy: Local, spec.healthCheckNodePort"),
		annotation.Int(1, 65535, ""), 0)
	h.protocol = annotation.Register(r, define("protocol", "tcp",
		"How a node is checked. tcp opens a connection; http and https send a request for the path and expect a "+
			"successful response; "+
			"udp sends a datagram.",
		"http if health-check-port is set, or with externalTrafficPolicy: Local; otherwise tcp"),
		annotation.Enum("http", "https", "tcp", "udp"), "")
	h.path = annotation.Register(r, define("path", "/ready",
		"The path that http and https checks request.", ""),
		annotation.Word(`/[!-~]{0,254}`,
			"a path that begins with a slash, of at most 255 characters and without blanks"), "/healthz")
	h.interval = annotation.Register(r, define("interval", "15",
		"The time, in seconds, between two checks of a node.", ""), annotation.Int(5, 300, "seconds"), 5)
	h.timeout = annotation.Register(r, define("timeout", "3",
		"The time, in seconds, after which a check without a response fails.", ""), annotation.Int(1, 300, "seconds"),
		3)
	h.up = annotation.Register(r, define("up-threshold", "1",
		"The number of successful checks in a row after which a node receives traffic.", ""), annotation.Int(1, 10,
		"checks"), 1)
	h.down = annotation.Register(r, define("down-threshold", "2",
		"The number of failed checks in a row after which a node receives no traffic.", ""), annotation.Int(1, 10,
		"checks"), 3)
}

// registerAccess adds the annotations about allowed sources and security groups.
func (a *annotations) registerAccess() {
	r := a.registry
	a.allowedSources = annotation.Register(r, annotation.Definition{
		Name: nameAllowedSources, Topic: topicAccess, Since: since, Example: "203.0.113.0/24,2001:db8::/32",
		Effect: "Networks that may connect to every port, in addition to spec.loadBalancerSourceRanges. An empty " +
			"value adds none.",
		Without: "all networks, unless spec.loadBalancerSourceRanges or the port's acl-port- annotation is set",
	}, annotation.Sources(), nil)
	a.portSources = annotation.RegisterFamily(r, annotation.Definition{
		Name: "acl-port-", Topic: topicAccess, Since: since, Example: "198.51.100.7",
		Effect: "Networks that may connect to this port, in addition to acl-allowed-sources and " +
			"spec.loadBalancerSourceRanges. If neither " +
			"of these is set, only the networks of this annotation may connect.",
		Without: "the networks of acl-allowed-sources",
	}, annotation.Sources())
	a.securityGroups = annotation.Register(r, annotation.Definition{
		Name: "security-groups", Topic: topicAccess, Since: since, Example: "sg-0123456789",
		Effect: "Security groups of the VPC that are attached to the load balancer. Groups that were attached by " +
			"other means stay attached. " +
			"An empty value, or removal of the annotation, detaches the groups that this annotation attached.",
		Without: "none",
	}, annotation.Names(maxGroups), nil)
	a.createSecurityGroup = annotation.Register(r, annotation.Definition{
		Name: nameCreateGroup, Topic: topicAccess, Since: since, Example: "true",
		Effect: "Creates a security group for the load balancer that permits the Service's ports and allowed " +
			"sources, and keeps it up to date. " +
			"If it is false or not set, the group is deleted.",
	}, annotation.Bool(), false)
	a.allowICMP = annotation.Register(r, annotation.Definition{
		Name: "security-group-allow-icmp", Topic: topicAccess, Since: since, Example: "true",
		Effect: "Permits ICMP (ping) in the security group that create-security-group creates.",
	}, annotation.Bool(), false)
	a.icmpSources = annotation.Register(r, annotation.Definition{
		Name: "security-group-icmp-allowed-sources", Topic: topicAccess, Since: since, Example: "10.0.0.0/8",
		Effect: "Networks that may send ICMP (ping). It requires security-group-allow-icmp. An empty value permits " +
			"none.",
		Without: "the networks of acl-allowed-sources",
	}, annotation.Sources(), nil)
	a.openNodePorts = annotation.Register(r, annotation.Definition{
		Name: "open-node-ports", Topic: topicAccess, Since: since, Example: "true",
		Effect: "Adds rules for the Service's node ports to the nodes' security group " +
			"(loadBalancer.nodeSecurityGroup of the cloud-config), " +
			"and deletes them when they are not needed.",
	}, annotation.Bool(), false)
}

// registerObject adds the annotations about the load balancer as an object in the cloud.
func (a *annotations) registerObject() {
	r := a.registry
	a.name = annotation.Register(r, annotation.Definition{
		Name: nameName, Topic: topicObject, Since: since, Example: "shop", OneService: true,
		Effect: "The name of the load balancer. It is informational: the controller finds a load balancer by its " +
			"labels.",
		Without: "a name made from the Service's UID",
	}, annotation.Word(`[!-~](?:[ -~]{0,60}[!-~])?`, "a name of 1 to 62 printable ASCII characters"), "")
	a.labels = annotation.Register(r, annotation.Definition{
		Name: "labels", Topic: topicObject, Since: since, Example: "team=shop,stage=production",
		Effect: "Labels of the load balancer, in addition to those of the cloud-config and those that the controller " +
			"sets. A label that this annotation added " +
			"is deleted when the annotation no longer contains it.",
		Without: "none",
	}, annotation.Pairs(label.Reserved), nil)
	a.instanceSize = annotation.Register(r, annotation.Definition{
		Name: "instance-size", Topic: topicObject, Since: since, Example: "lb-gp-large",
		Effect: "The size of the load balancer, as the cloud names it. When the annotation is removed, the load " +
			"balancer keeps its size, because the API cannot restore the default.",
		Without: "the cloud's default size",
	}, identityWord("a size of load balancers"), "")
	a.deleteProtection = annotation.Register(r, annotation.Definition{
		Name: "delete-protection", Topic: topicObject, Since: since, Example: "true",
		Effect: "Makes the cloud refuse every deletion of the load balancer. A Service that is deleted waits until " +
			"the protection is removed.",
	}, annotation.Bool(), false)
	a.onDelete = annotation.Register(r, annotation.Definition{
		Name: "on-delete", Topic: topicObject, Since: since, Example: onDeleteKeep,
		Effect: "What happens to the load balancer when the Service is deleted, or is no longer of type " +
			"LoadBalancer. delete deletes it and " +
			"everything that was created for it. keep leaves it unchanged, with its address, so that it can be " +
			"adopted.",
	}, annotation.Enum(onDeleteDelete, onDeleteKeep), onDeleteDelete)
	a.adopt = annotation.Register(r, annotation.Definition{
		Name: "adopt", Topic: topicObject, Since: since, Example: "lb-0123456789", OneService: true,
		Effect: "Takes over an existing load balancer instead of creating one. The load balancer must permit it with " +
			"the annotation " +
			annotationAdoptable + "=<cluster>/<namespace>/<name> in the cloud.",
		Without: "a load balancer is created",
	}, identityWord("the identity of a load balancer in the cluster's VPC"), "")
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
